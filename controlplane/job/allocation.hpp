// What a job's ranks are to know before any of them starts: which interface of each node is its
// place in the fabric, and how far nodes are from one another. Pure.
#pragma once

#include "controlplane/job/node_inventory.hpp"
#include "controlplane/topology/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace tributary::job {

struct FabricAddress {
  Nid nid;
  bool made_for_it = false; ///< 02:00:00:0H:HH:HH
};
/// Of a MAC address, whose low 20 bits are the NID; nothing when it is none, or no host's.
[[nodiscard]] std::optional<FabricAddress> fabric_address(std::string_view mac);

/// The one called `wanted`; without a name the one whose NID is known, or the first whose address
/// is made for the fabric. Null: there is none.
[[nodiscard]] const Interface* fabric_interface(const std::vector<Interface>& interfaces,
                                                std::string_view wanted,
                                                const std::function<bool(Nid)>& is_known);

/// Links on the way from node to node, relative to the least of all that are not 0: 1 for
/// neighbours at one switch, 2 for twice as many links. Row after row; 0 from a node to itself.
/// Empty when the place of one is not known, or there is no way between two. O(switches with nodes
/// x (switches + links) + nodes squared).
[[nodiscard]] std::vector<double>
relative_route_times(const topology::Graph& graph,
                     const std::vector<std::optional<topology::SwitchId>>& nodes);

/// The same for many nodes: they are put into classes, and times stand between classes.
struct RouteClasses {
  std::vector<std::uint32_t> of_node{}; ///< by node: its class, from 0 on without a gap
  std::uint32_t count = 0;              ///< of classes
  /// From class to class, row after row, relative as above. From a class to itself: between two
  /// nodes at one switch.
  std::vector<double> times{};
  /// By how much a time may be wrong, in the same unit; 0: all are exact.
  double error = 0;
};

/// Each switch is a class as long as there are no more than `most`, which is not 0; beyond that,
/// switches within the least radius that does are one class, and times are those between their
/// middles. So the answer has at most nodes + most squared numbers. Empty as above. O(most x
/// (switches + links) x radius).
[[nodiscard]] RouteClasses
route_classes(const topology::Graph& graph,
              const std::vector<std::optional<topology::SwitchId>>& nodes, std::uint32_t most);

} // namespace tributary::job
