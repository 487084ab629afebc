#include "controlplane/install/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tributary::install {
namespace {

std::optional<std::string> object_to_port(topology::Port port, const Inventory::Switch& s) {
  const std::uint32_t ports = std::min<std::uint32_t>(s.ports, max_ports);
  if (port < ports) {
    return std::nullopt;
  }
  return ports == 0
             ? fmt::format("port {} does not exist; the switch has none", port)
             : fmt::format("port {} does not exist; the switch has ports 0 to {}", port, ports - 1);
}

std::optional<std::string> object_to_part(const multicast::TreePart& part, TreeNumber number,
                                          const Inventory::Switch& s) {
  if (number.value >= s.trees) {
    return fmt::format("its table holds {} trees; there is no number {}", s.trees, number.value);
  }
  if (s.from_file.contains(number)) {
    return fmt::format("the switch's own file has tree {}; it is not the manager's to change",
                       number.value);
  }
  if (auto objection = object_to_port(part.parent, s)) {
    return objection;
  }
  for (const topology::Port port : part.children) {
    if (auto objection = object_to_port(port, s)) {
      return objection;
    }
    if (port == part.parent) {
      return fmt::format("port {} is the parent and a child", port);
    }
  }
  if (part.wait_count > max_contributions) {
    return fmt::format("it would wait for {} contributions; a frame can count {}", part.wait_count,
                       max_contributions);
  }
  return std::nullopt;
}

} // namespace

std::optional<Objection> object_to(const TreeTarget& target, const Inventory& inventory,
                                   const topology::Graph& graph) {
  if (target.number.value >= max_trees) {
    return Objection{std::nullopt, fmt::format("tree numbers end at {}", max_trees - 1)};
  }
  if (target.parts.empty()) {
    return Objection{std::nullopt, "it has no switch"};
  }
  // What a switch cannot say because it is away.
  const auto away = [&](SwitchId id) -> std::optional<std::string> {
    if (id.value >= graph.switches().size()) {
      return fmt::format("the graph has no switch {}", id.value);
    }
    const Inventory::Switch* s = inventory.find(id);
    return s != nullptr && s->heard ? std::nullopt : std::optional("it is not connected");
  };

  std::set<SwitchId> seen;
  for (const multicast::TreePart& part : target.parts) {
    if (auto why = away(part.at)) {
      return Objection{part.at, *why};
    }
    if (!seen.insert(part.at).second) {
      return Objection{part.at, "it stands in the tree twice"};
    }
    const Inventory::Switch& s = *inventory.find(part.at);
    if (auto why = object_to_part(part, target.number, s)) {
      return Objection{part.at, *why};
    }
    if (!s.session && !inventory.holds(part, target.number)) {
      return Objection{part.at, "it is not connected"};
    }
  }
  for (const Edge& edge : target.edges) {
    const SwitchId at = edge.at.at;
    if (auto why = away(at)) {
      return Objection{at, *why};
    }
    const Inventory::Switch& s = *inventory.find(at);
    if (auto why = object_to_port(edge.at.port, s)) {
      return Objection{at, *why};
    }
    if (const auto other = inventory.guarded_for_another(edge, target.number)) {
      return Objection{at, fmt::format("port {} is for NID {}, a member of another group, and "
                                       "takes no frames of NID {} before that group has ended",
                                       edge.at.port, other->value, edge.nid->value)};
    }
    if (!s.session && !Inventory::permits(s, {permission_at(edge.at, target.vni), edge.nid})) {
      return Objection{at, "it is not connected"};
    }
  }
  return std::nullopt;
}

} // namespace tributary::install
