// A fabric as a picture: the language of Graphviz. `dot -Tsvg`, or `neato`, draws it.
//
// Switches are boxes, hosts ellipses. A link has its port numbers at both ends; elements that are
// down are dashed. Unplugged elements are left out.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <string>

namespace tributary::topology {

struct DotOptions {
  bool hosts = true; ///< large fabrics are easier to read without
};

[[nodiscard]] std::string write_dot(const Graph& graph, const DotOptions& options = {});

} // namespace tributary::topology
