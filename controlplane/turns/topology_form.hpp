// Converts between the graph and its stored records. Pure.
#pragma once

#include "controlplane/records/records.hpp"
#include "controlplane/topology/graph.hpp"

#include <vector>

namespace tributary::turns {

/// The stored graph, also from format version 1. Throws std::runtime_error when the records are
/// invalid.
[[nodiscard]] topology::Graph stored_graph(const records::Snapshot& past);

/// The records of the parts that were changed.
[[nodiscard]] std::vector<records::Change> changes_of(const topology::Graph& graph,
                                                      const topology::Touched& touched);

} // namespace tributary::turns
