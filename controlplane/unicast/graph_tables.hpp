// Tables in the numbers of the fabric manager's graph: switches and destinations by SwitchId, and
// real ports. So tables of different algorithms, and old and new ones, can be walked together.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/network.hpp"
#include "controlplane/unicast/placement.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::unicast {

/// Tables of a fat tree, by its placement. Switches outside of it have empty tables.
[[nodiscard]] TableSet on_graph(const TableSet& tables, const Placement& placed,
                                const topology::Graph& graph);

/// A table without routes.
[[nodiscard]] forwarding_table::SwitchTable
empty_table(std::uint32_t self, std::uint32_t destinations, std::uint32_t ports, std::uint8_t vcs);

/// Adapts a table that was made when the graph had other switches, ports or virtual channels:
/// unknown destinations and ports have no route, and a missing virtual channel is Outcome::no_vc.
/// Where virtual channels are added, frames may rise to them: a superset of what the table itself
/// does.
[[nodiscard]] forwarding_table::SwitchTable fitted(const forwarding_table::SwitchTable& table,
                                                   std::uint32_t destinations, std::uint32_t ports,
                                                   std::uint8_t vcs);

/// Frames keep to a spanning tree, up and down: no two such paths wait for each other. A frame that
/// arrives by another link has no route: paths begun by other tables are not continued, so that
/// fewer waits can arise between the two sets. Throws RouteError like EscapeTree.
[[nodiscard]] TableSet escape_tables(const Network& network, const PortStates& up,
                                     std::span<const std::uint32_t> endpoints, std::uint8_t vcs,
                                     std::optional<std::uint32_t> root = std::nullopt);

/// Endpoints that reach each other over ports that are up; the largest part first, each ascending.
[[nodiscard]] std::vector<std::vector<std::uint32_t>>
parts_of(const Network& network, const PortStates& up, std::span<const std::uint32_t> endpoints);

/// Destinations that some switch forwards differently, ascending. Requires the same switches in
/// both.
[[nodiscard]] std::vector<std::uint32_t> changed_destinations(const TableSet& before,
                                                              const TableSet& after);

} // namespace tributary::unicast
