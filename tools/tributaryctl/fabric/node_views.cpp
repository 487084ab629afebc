#include "tools/tributaryctl/fabric/node_views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace tributary::cli {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

std::string memory_text(const Entry& node) {
  const std::uint64_t bytes = node.number("memory_bytes");
  return bytes == 0 ? "" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / gib);
}

std::string up_text(const Entry& node) {
  std::size_t up = 0;
  const std::vector<Entry> interfaces = node.entries("interfaces");
  for (const Entry& each : interfaces) {
    up += each.flag("up") ? 1 : 0;
  }
  return fmt::format("{} of {}", up, interfaces.size());
}

} // namespace

std::string nodes(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"NODE"},
               {"HOST"},
               {"PROCESSORS", right, 3},
               {"MEMORY", right},
               {"INTERFACES UP", right, 2},
               {"JOB"},
               {"REPORTED", right, 1}});
  for (const Entry& one : list) {
    table.add({{one.text("node")},
               {one.text("host")},
               {one.text("processors")},
               {memory_text(one)},
               {up_text(one)},
               {one.text("job")},
               {seconds_text(one, "reported_seconds")}});
  }
  return table.empty() ? "No node has been reported; tributary-run reports those of its jobs.\n"
                       : table.text(display);
}

std::string node_view(const Entry& one, const terminal::Display& display) {
  Table table(
      {{"INTERFACE"}, {"ADDRESS"}, {"STATE"}, {"MTU", right}, {"SPEED", right}, {"DRIVER"}});
  for (const Entry& each : one.entries("interfaces")) {
    table.add({{each.text("name")},
               {each.text("address")},
               up_cell(each.flag("up")),
               {each.text("mtu")},
               {speed_text(each.number("speed_mbps"))},
               {each.text("driver")}});
  }
  std::string head = nodes({one}, display);
  if (!one.text("processor").empty()) {
    head += fmt::format("\n{} packages, {} cores: {}\n", one.text("packages"), one.text("cores"),
                        one.text("processor"));
  }
  if (const std::string devices = one.joined("devices"); !devices.empty()) {
    head += fmt::format("\nDevices: {}\n", devices);
  }
  return table.empty() ? head : head + '\n' + table.text(display);
}

} // namespace tributary::cli
