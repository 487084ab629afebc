// Converts the manager's view of the fabric from JSON to a graph, which can be written in every
// format of topology files. Pure.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>
#include <string_view>

namespace tributary::cli {

/// The graph in an answer of /api/v1/topology. A link or host that is down and whose port another
/// one has by now is left out. Throws topology::GraphError when it is not a fabric.
[[nodiscard]] topology::Graph graph_of(const Entry& topology);

/// "toml", "netlist" (of InfiniBand's tools) or "dot" (a picture, for Graphviz).
[[nodiscard]] std::string topology_text(const topology::Graph& graph, std::string_view format);

} // namespace tributary::cli
