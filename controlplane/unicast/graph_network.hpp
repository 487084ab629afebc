// The fabric manager's graph for routes: switches and ports keep their numbers.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "controlplane/unicast/network.hpp"

#include <cstdint>
#include <vector>

namespace tributary::unicast {

/// All links that are plugged in, up or down.
[[nodiscard]] Network network_of(const topology::Graph& graph);

/// The ports that can be used.
[[nodiscard]] PortStates port_states(const topology::Graph& graph, const Network& network);

/// Switches that are up and have a host that is plugged in, ascending.
[[nodiscard]] std::vector<std::uint32_t> endpoints_of(const topology::Graph& graph);

} // namespace tributary::unicast
