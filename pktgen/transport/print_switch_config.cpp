#include "dataplane/config/schema.hpp"
#include "lib/configuration/reference.hpp"
#include "pktgen/transport/switch_for.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace tributary::pktgen::transport {
namespace {

bool is_placeholder(const config::Port& port) {
  return port.device().starts_with(interface_placeholder);
}

/// Keys and their values, for `config::short_section`.
class Values {
public:
  template <typename T> Values& set(std::string_view key, const T& value) {
    texts_[key] = fmt::format("{}", value);
    return *this;
  }
  [[nodiscard]] configuration::Overrides overrides() const {
    return {texts_.begin(), texts_.end()};
  }

private:
  std::map<std::string_view, std::string> texts_;
};

std::string section(config::Section which, const Values& values) {
  return configuration::short_section(config::spec_of(which), values.overrides());
}

std::string text_of(const config::Port& port) {
  Values values;
  values.set("name", in_quotes(port.name)).set("kind", in_quotes(config::name_of(port.kind)));
  if (port.kind == config::PortKind::memif) {
    values.set("socket", in_quotes(port.socket))
        .set("role", in_quotes(port.role))
        .set("memif_id", port.memif_id);
  } else {
    values.set(port.kind == config::PortKind::pci ? "pci" : "interface", in_quotes(port.device()));
  }
  return section(config::Section::port, values);
}

std::string text_of(const config::Tree& tree, const std::vector<config::Port>& ports) {
  std::vector<std::string> children;
  tree.children.for_each(
      [&](PortNumber child) { children.push_back(in_quotes(ports[child.value].name)); });
  Values values;
  values.set("tree", tree.number.value)
      .set("wait_count", tree.wait_count)
      .set("parent", in_quotes(ports[tree.parent.value].name))
      .set("children", fmt::format("[{}]", fmt::join(children, ", ")));
  if (tree.slots.any()) {
    values.set("slots", tree.slots.slots).set("payload", tree.slots.payload_bytes);
  }
  if (tree.slots.half_floats) {
    values.set("float16", true);
  }
  return section(config::Section::tree, values);
}

} // namespace

std::string print_switch_config(const scenario::Scenario& scenario,
                                const std::vector<std::string>& interfaces,
                                config::MemoryOrder order) {
  scenario::Scenario apart = scenario;
  if (apart.hosted) {
    // The same switch as a process of its own.
    apart.ports.assign(apart.hosted->ports, {});
    apart.hosted.reset();
  }
  config::Switch sw = switch_for(apart, order);
  for (std::size_t port = 0; port < std::min(interfaces.size(), sw.ports.size()); ++port) {
    sw.ports[port].device() = interfaces[port];
  }
  std::string out = fmt::format(
      "# The switch that scenario \"{}\" of tributary-pktgen needs. Port pN leads to port N of "
      "the\n"
      "# generator{}. `tributary-switch --print-config` explains all keys.\n\n",
      scenario.name,
      sw.ports.size() > generator_ports(apart) ? ", port \"far\" to the side that is elsewhere"
                                               : "");
  Values process;
  process.set("lldp", false); // the generator counts every frame that reaches it
  if (const std::uint32_t longest = longest_frame_of(apart);
      longest > config::default_longest_frame) {
    process.set("longest_frame", longest);
  }
  if (!scenario.switch_socket.empty()) {
    process.set("control_socket", in_quotes(scenario.switch_socket));
  }
  out += section(config::Section::process, process);
  Values switches;
  switches.set("name", in_quotes(sw.name))
      .set("ethertype", fmt::format("{:#06x}", sw.ethertype))
      .set("descriptors_per_engine", sw.settings.descriptors_per_engine);
  if (sw.settings.wide_memory > core::default_wide_memory) {
    switches.set("wide_memory_mib", sw.settings.wide_memory >> 20);
  }
  out += section(config::Section::switches, switches);
  if (const auto port = std::ranges::find_if(sw.ports, is_placeholder); port != sw.ports.end()) {
    out += fmt::format("# IFACE0 and so on stand for the {} of the switch: put their {} there.\n",
                       port->kind == config::PortKind::pci ? "NICs" : "interfaces",
                       port->kind == config::PortKind::pci ? "PCI addresses" : "names");
  }
  for (const config::Port& port : sw.ports) {
    out += text_of(port);
  }
  for (const config::Tree& tree : sw.trees) {
    out += text_of(tree, sw.ports);
  }
  for (const config::Route& route : sw.routes) {
    out += section(config::Section::route,
                   Values()
                       .set("nid", fmt::format("{:#07x}", route.nid.value))
                       .set("port", in_quotes(sw.ports[route.port.value].name)));
  }
  out.pop_back();
  return out;
}

} // namespace tributary::pktgen::transport
