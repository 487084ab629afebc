// Output of a comparison: JSON for programs, a table for people, and ratios of the algorithms.
#pragma once

#include "controlplane/multicast/comparison/comparison.hpp"

#include <span>
#include <string>

namespace tributary::multicast::comparison {

/// An array with an object for each row. Keys: topology, pattern, algorithm, groups, max_efi,
/// mean_efi, lower_bound, root_seconds, tree_seconds (repair included), repair_seconds,
/// repair_steps ([{"max_efi", "seconds"}]), dead_percent, seed, valid, fault (when not valid).
[[nodiscard]] std::string to_json(std::span<const Row> rows);

/// A block for each topology and pattern, a line for each row.
[[nodiscard]] std::string to_table(std::span<const Row> rows);

/// A line for each topology and pattern: loads and times of the published algorithms as multiples
/// of PRISM's, where both were measured.
[[nodiscard]] std::string to_ratios(std::span<const Row> rows);

} // namespace tributary::multicast::comparison
