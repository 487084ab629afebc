// Output of a comparison: JSON for programs, a table for people.
#pragma once

#include "controlplane/multicast/comparison/comparison.hpp"

#include <span>
#include <string>
#include <vector>

namespace tributary::multicast::comparison {

/// An array with an object for each row. Keys: topology, pattern, algorithm, groups, max_efi,
/// mean_efi, lower_bound, root_seconds, tree_seconds (repair included), repair_seconds,
/// repair_steps ([{"max_efi", "seconds"}]), dead_percent, seed, valid, fault (when not valid).
[[nodiscard]] std::string to_json(std::span<const Row> rows);

/// A block for each topology and pattern, a line for each row.
[[nodiscard]] std::string to_table(std::span<const Row> rows);

/// Runs of rows of the same topology and pattern.
[[nodiscard]] std::vector<std::span<const Row>> blocks(std::span<const Row> rows);
/// " (5 % dead)"; "" without dead links.
[[nodiscard]] std::string dead_links(const Row& row);

} // namespace tributary::multicast::comparison
