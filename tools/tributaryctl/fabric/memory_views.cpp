#include "tools/tributaryctl/fabric/memory_views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace tributary::cli {
namespace {

constexpr std::size_t largest_named = 3;

/// "176 KiB", "64 MiB"
std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kib = 1024;
  constexpr std::uint64_t mib = kib * kib;
  if (bytes < kib) {
    return fmt::format("{} B", bytes);
  }
  const bool in_mib = bytes >= mib;
  const std::uint64_t unit = in_mib ? mib : kib;
  const char* const name = in_mib ? "MiB" : "KiB";
  return bytes % unit == 0
             ? fmt::format("{} {}", bytes / unit, name)
             : fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit),
                           name);
}

/// "j1/demo", "the switch's file", or "" for another job's.
std::string holder_name(const Entry& holder) {
  return holder.flag("from_file")       ? "the switch's file"
         : holder.text("group").empty() ? ""
                                        : holder.text("job") + "/" + holder.text("group");
}

std::string largest(const Entry& one) {
  std::string text;
  std::size_t named = 0;
  for (const Entry& holder : one.entries("holders")) {
    if (named++ == largest_named) {
      break;
    }
    const std::string name = holder_name(holder);
    text += fmt::format("{}tree {}{} {}", text.empty() ? "" : ", ", holder.text("tree"),
                        name.empty() ? "" : fmt::format(" ({})", name),
                        bytes_text(holder.number("bytes")));
  }
  return text;
}

} // namespace

std::string memory(const std::vector<Entry>& list, const terminal::Display& display) {
  Table table({{"SWITCH"},
               {"SIZE", right},
               {"USED", right},
               {"FREE", right},
               {"TREES", right},
               {"LARGEST HOLDERS", left, 0, 20}});
  for (const Entry& one : list) {
    const bool has_any = one.number("size") != 0;
    table.add({{one.text("switch")},
               {has_any ? bytes_text(one.number("size")) : "none"},
               {has_any ? bytes_text(one.number("used")) : ""},
               {has_any ? bytes_text(one.number("free")) : ""},
               {one.text("trees")},
               {largest(one)}});
  }
  return table.empty() ? "No switch has connected yet.\n" : table.text(display);
}

std::string memory_view(const Entry& one, const terminal::Display& display) {
  Table table({{"TREE", right},
               {"HOLDER", left, 0, 16},
               {"BYTES", right},
               {"FRAMES", right},
               {"FLOAT16", left, 1}});
  for (const Entry& holder : one.entries("holders")) {
    table.add({{holder.text("tree")},
               {holder_name(holder)},
               {holder.text("bytes")},
               {frames_text(holder)},
               {holder.flag("float16") ? "yes" : "no"}});
  }
  const std::string head =
      fmt::format("{}: {} for wide frames, {} used by {}, {} free\n", one.text("switch"),
                  bytes_text(one.number("size")), bytes_text(one.number("used")),
                  counted(one.number("trees"), "tree"), bytes_text(one.number("free")));
  return table.empty() ? head : head + '\n' + table.text(display);
}

} // namespace tributary::cli
