// What a job's ranks need before any of them starts: the fabric interface of each node, and the
// distances between nodes. Pure.
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
  bool made_for_it = false; ///< address 02:00:00:0H:HH:HH
};
/// Parses a MAC address, whose low 20 bits are the NID; nothing if it is malformed or not a host's.
[[nodiscard]] std::optional<FabricAddress> fabric_address(std::string_view mac);

/// The interface named `wanted`; without a name the first one of these: its address is made for the
/// fabric and its NID is known; its address is made for the fabric; its NID is known as a host with
/// this node's name. Null if none matches. `host_of`: a host's name by its NID; "" if unknown.
[[nodiscard]] const Interface* fabric_interface(const std::vector<Interface>& interfaces,
                                                std::string_view wanted,
                                                const std::function<std::string_view(Nid)>& host_of,
                                                std::string_view node);

/// Links on the path from node to node, relative to the smallest non-zero number: 1 for neighbours
/// at one switch, 2 for twice as many links. Row-major; 0 from a node to itself. Empty when the
/// place of a node is unknown, or two nodes are not connected. O(switches with nodes x (switches +
/// links) + nodes squared).
[[nodiscard]] std::vector<double>
relative_route_times(const topology::Graph& graph,
                     const std::vector<std::optional<topology::SwitchId>>& nodes);

/// The same for many nodes: nodes are grouped into classes, with times between classes.
struct RouteClasses {
  std::vector<std::uint32_t> of_node{}; ///< by node: its class, numbered from 0 without gaps
  std::uint32_t count = 0;              ///< number of classes
  /// From class to class, row-major, relative as above. From a class to itself: between two nodes
  /// at one switch.
  std::vector<double> times{};
  /// Maximum error of a time, in the same unit; 0: all are exact.
  double error = 0;
};

/// Each switch is a class as long as there are no more than `most`, which is not 0; beyond that,
/// switches within the smallest sufficient radius form one class, and times are those between the
/// middles. So the answer has at most nodes + most squared numbers. Empty as above. O(most x
/// (switches + links) x radius).
[[nodiscard]] RouteClasses
route_classes(const topology::Graph& graph,
              const std::vector<std::optional<topology::SwitchId>>& nodes, std::uint32_t most);

} // namespace tributary::job
