// Finds the leaves and roots of a k-dimension fat tree in a fabric graph by its links.
//
//   const Placement placed = place(graph);                    or place(graph, declared_shape)
//   algorithm->tables(placed.faults(graph));                  tables by leaves, lines, planes
//   placed.port({leaf, 3});                                   the real port for its port 3
//
// Switches with hosts are leaves, all others roots. Names and port numbers do not matter.
//
//   1. Roots of the first leaf that share another leaf are planes of one line; each line is a
//      dimension. The leaves there, by the roots' ports, are coordinates 0, 1, 2 ...
//   2. From leaf to leaf: a line of a leaf p runs along the same dimension as that line of p's
//      known neighbour q in which each leaf has a neighbour on it. That places the line's leaves.
//   3. Every link is checked against the places: most links of a root determine its line, and a
//      contradicting link is reported.
//
// Links that are down count as wired; missing links count as dead. Two exchanged cables that form
// another fat tree of the same shape are not detected here: topology/cabling.hpp compares by names.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "controlplane/unicast/faults.hpp"
#include "controlplane/unicast/network.hpp"
#include "controlplane/unicast/shape.hpp"
#include "tributary/optional_number.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::unicast {

struct Placement {
  Shape shape;
  Network network; ///< of the shape
  /// By number in the shape; none for missing roots.
  std::vector<OptionalNumber<topology::SwitchId>> switches;
  std::vector<OptionalNumber<forwarding_table::Port>>
      ports; ///< by link of the network; none: missing

  [[nodiscard]] OptionalNumber<forwarding_table::Port> port(Network::End end) const {
    return ports[network.link(end)];
  }
  /// Elements that are down in the graph, or missing. Dead switches' links are not counted
  /// separately.
  [[nodiscard]] Faults faults(const topology::Graph& graph) const;
};

/// Throws RouteError, with the link, where the graph is not a fat tree, or not of the declared
/// shape.
[[nodiscard]] Placement place(const topology::Graph& graph,
                              const std::optional<Shape>& declared = std::nullopt);

} // namespace tributary::unicast
