// A fabric as a picture: the language of Graphviz. `dot -Tsvg`, or `neato`, draws it.
//
// Switches are boxes, hosts ellipses. A link carries its port numbers at both ends; what is down
// is dashed. What is unplugged is left out.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>

namespace tributary::topology {

struct DotOptions {
  bool hosts = true; ///< large fabrics are drawn better without
};

[[nodiscard]] std::string write_dot(const Graph& graph, const DotOptions& options = {});

} // namespace tributary::topology
