// The fabric as the manager found it, from its JSON to a graph, which can be written in every
// format of topology files. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>
#include <string_view>

namespace tributary::cli {

/// What /api/v1/topology answered. A link or host that is down and whose port another one has by
/// now is left out. Throws topology::GraphError when it is no fabric.
[[nodiscard]] topology::Graph graph_of(const Entry& topology);

/// "toml", "netlist" (of InfiniBand's tools) or "dot" (a picture, for Graphviz).
[[nodiscard]] std::string topology_text(const topology::Graph& graph, std::string_view format);

} // namespace tributary::cli
