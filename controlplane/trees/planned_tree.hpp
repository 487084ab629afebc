// Converts between trees of the running graph, which use its numbers, and the stored form, which
// names switches and ports. Pure.
#pragma once

#include "controlplane/multicast/tree.hpp"
#include "controlplane/records/records.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tributary::trees {

/// A tree in use: the links it crosses and what each switch holds of it.
struct PlannedTree {
  multicast::Tree tree;
  std::vector<multicast::TreePart> parts; ///< by ascending depth
};

[[nodiscard]] records::TreeForm form_of(const topology::Graph& graph, const PlannedTree& planned);

/// Nothing when the graph lacks a switch or a link of the tree.
[[nodiscard]] std::optional<PlannedTree> planned_tree(const topology::Graph& graph,
                                                      const records::TreeForm& form);

} // namespace tributary::trees
