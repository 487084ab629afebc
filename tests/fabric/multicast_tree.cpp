#include "tests/fabric/multicast_tree.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

namespace tributary::fabric {

namespace {

/// The tree of all switches around a root host: in breadth-first order, each with its path up.
struct PathsUp {
  std::vector<SwitchIndex> order;
  std::vector<std::optional<PortNumber>> parent_port; ///< by switch
  std::vector<std::optional<LinkEnd>> port_of_parent; ///< by switch: its port at the parent
};

PathsUp paths_up(const Topology& topology, HostIndex root, Random* random,
                 std::span<const SwitchIndex> without = {}) {
  PathsUp paths;
  paths.parent_port.resize(topology.switch_count());
  paths.port_of_parent.resize(topology.switch_count());
  const LinkEnd& edge = topology.edge_port(root);
  paths.order.push_back(edge.node);
  paths.parent_port[edge.node] = edge.port;
  for (std::size_t i = 0; i < paths.order.size(); ++i) {
    const SwitchIndex here = paths.order[i];
    std::vector<PortNumber> ports;
    for (std::size_t p = 0; p < topology.ports(here).size(); ++p) {
      ports.push_back(PortNumber{static_cast<std::uint8_t>(p)});
    }
    if (random != nullptr) {
      random->shuffle(ports);
    }
    for (const PortNumber port : ports) {
      const LinkEnd& there = topology.neighbour(here, port);
      if (there.kind == LinkEnd::Kind::in_switch && !paths.parent_port[there.node] &&
          std::ranges::find(without, there.node) == without.end()) {
        paths.parent_port[there.node] = there.port;
        paths.port_of_parent[there.node] = LinkEnd{LinkEnd::Kind::in_switch, here, port};
        paths.order.push_back(there.node);
      }
    }
  }
  return paths;
}

} // namespace

std::vector<TreePart> multicast_tree(const Topology& topology, HostIndex root,
                                     std::span<const HostIndex> members, Random& random,
                                     std::span<const SwitchIndex> without) {
  const PathsUp paths = paths_up(topology, root, &random, without);
  std::vector<TreePart> parts(topology.switch_count());
  for (SwitchIndex s = 0; s < parts.size(); ++s) {
    parts[s].at = s;
    parts[s].parent = paths.parent_port[s].value_or(no_port);
  }
  for (const HostIndex member : members) {
    if (member == root) {
      continue;
    }
    const LinkEnd* below = &topology.edge_port(member);
    for (;;) {
      TreePart& part = parts[below->node];
      part.children.insert(below->port);
      ++part.wait_count;
      if (!paths.port_of_parent[below->node]) {
        break;
      }
      below = &*paths.port_of_parent[below->node];
    }
  }
  std::vector<TreePart> on_tree;
  for (const SwitchIndex s : paths.order) {
    if (parts[s].wait_count > 0) {
      on_tree.push_back(parts[s]);
    }
  }
  return on_tree;
}

std::vector<PortNumber> ports_toward(const Topology& topology, HostIndex host) {
  const PathsUp paths = paths_up(topology, host, nullptr);
  std::vector<PortNumber> ports;
  for (const auto& port : paths.parent_port) {
    ports.push_back(port.value_or(no_port));
  }
  return ports;
}

} // namespace tributary::fabric
