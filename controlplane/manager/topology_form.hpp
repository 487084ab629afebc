// Between the graph and the records that are stored of it. Pure.
#pragma once

#include "controlplane/records/records.hpp"
#include "controlplane/topology/graph.hpp"

#include <vector>

namespace tributary::manager {

/// The graph that was stored, also when format version 1 wrote it. Throws std::runtime_error when
/// the records make no sense.
[[nodiscard]] topology::Graph stored_graph(const records::Snapshot& past);

/// What is to be stored of the things that were touched.
[[nodiscard]] std::vector<records::Change> changes_of(const topology::Graph& graph,
                                                      const topology::Touched& touched);

} // namespace tributary::manager
