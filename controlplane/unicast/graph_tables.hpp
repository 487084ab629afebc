// Tables in the numbers of the fabric manager's graph: switches and destinations by SwitchId, ports
// as they are. So tables of different algorithms, and of before and after, can be walked together.
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

/// Tables of a fat tree, where its switches stand. Switches that are not in it have empty tables.
[[nodiscard]] TableSet on_graph(const TableSet& tables, const Placement& placed,
                                const topology::Graph& graph);

/// Knows no route.
[[nodiscard]] forwarding_table::SwitchTable
empty_table(std::uint32_t self, std::uint32_t destinations, std::uint32_t ports, std::uint8_t vcs);

/// A table in the numbers of a graph, made when that had other switches, ports or virtual channels:
/// what it does not know has no route there, and what is on a virtual channel that it does not have
/// is Outcome::no_vc. Where virtual channels are added it may rise to them: more than the table
/// itself does, never less.
[[nodiscard]] forwarding_table::SwitchTable fitted(const forwarding_table::SwitchTable& table,
                                                   std::uint32_t destinations, std::uint32_t ports,
                                                   std::uint8_t vcs);

/// Frames keep to a spanning tree, up and down: no two such paths wait for each other. A frame that
/// comes in by another link has no route: what other tables have begun is not gone on with, so that
/// fewer waits can arise between these and those. Throws RouteError like EscapeTree.
[[nodiscard]] TableSet escape_tables(const Network& network, const PortStates& up,
                                     std::span<const std::uint32_t> endpoints, std::uint8_t vcs,
                                     std::optional<std::uint32_t> root = std::nullopt);

/// Endpoints that reach each other over ports that are up; the largest part first, each ascending.
[[nodiscard]] std::vector<std::vector<std::uint32_t>>
parts_of(const Network& network, const PortStates& up, std::span<const std::uint32_t> endpoints);

/// Destinations that some switch treats otherwise, ascending. Requires as many switches in both.
[[nodiscard]] std::vector<std::uint32_t> changed_destinations(const TableSet& before,
                                                              const TableSet& after);

} // namespace tributary::unicast
