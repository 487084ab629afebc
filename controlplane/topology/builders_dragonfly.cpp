// Groups of switches, all joined with each other inside a group, every two groups joined once.
//
// Group i's global ports are numbered g = 0 ... A*H-1, H on each switch in order; `GlobalLinks`
// says which group each leads to. The same rule, applied there, gives the port where the link ends.
// Ports after the hosts': the group's other switches in ascending order, then the global links.

#include "controlplane/topology/builders_parts.hpp"

#include <fmt/format.h>

namespace tributary::topology {
namespace {

/// The group behind global port `g` of group `i`.
std::uint32_t group_behind(GlobalLinks how, std::uint32_t i, std::uint32_t g,
                           std::uint32_t groups) {
  switch (how) {
  case GlobalLinks::palmtree: return (i + groups - g - 1) % groups;
  case GlobalLinks::absolute: return g < i ? g : g + 1;
  case GlobalLinks::relative: return (i + g + 1) % groups;
  }
  throw ModelError("no such arrangement of global links");
}

/// The global port of group `i` that leads to group `to`.
std::uint32_t port_towards(GlobalLinks how, std::uint32_t i, std::uint32_t to,
                           std::uint32_t groups) {
  switch (how) {
  case GlobalLinks::palmtree: return (i + groups - to - 1) % groups;
  case GlobalLinks::absolute: return to < i ? to : to - 1;
  case GlobalLinks::relative: return (to + groups - i - 1) % groups;
  }
  throw ModelError("no such arrangement of global links");
}

} // namespace

Model build_dragonfly(const Dragonfly& shape) {
  const std::uint32_t switches = shape.switches;
  const std::uint32_t hosts = shape.hosts;
  const std::uint32_t globals = shape.globals;
  const GlobalLinks how = shape.how;
  const std::uint32_t groups = switches * globals + 1;
  Model model;
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t i = 0; i < switches; ++i) {
      const SwitchId s = model.graph.add_switch({.name = fmt::format("s{}.{}", group, i),
                                                 .ports = as_port(hosts + switches - 1 + globals)});
      model.regions.push_back(group);
      add_hosts(model.graph, s, hosts);
    }
    for (std::uint32_t a = 0; a < switches; ++a) {
      for (std::uint32_t b = a + 1; b < switches; ++b) {
        model.graph.connect({SwitchId{group * switches + a}, as_port(hosts + b - 1)},
                            {SwitchId{group * switches + b}, as_port(hosts + a)});
      }
    }
  }
  const auto global_end = [&](std::uint32_t group, std::uint32_t g) {
    return Attachment{SwitchId{group * switches + g / globals},
                      as_port(hosts + switches - 1 + g % globals)};
  };
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t g = 0; g + 1 < groups; ++g) {
      const std::uint32_t other = group_behind(how, group, g, groups);
      if (group < other) {
        model.graph.connect(global_end(group, g),
                            global_end(other, port_towards(how, other, group, groups)));
      }
    }
  }
  return model;
}

} // namespace tributary::topology
