// The published algorithms for multicast trees, with which PRISM is compared.
//
//   const auto rows = comparison.run("4x4", expand("all"), settings, progress);
#pragma once

#include "controlplane/multicast/comparison/comparison.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::multicast::published {

/// All rows of a comparison: the published algorithms and PRISM.
///
/// | row                                    | is                                                 |
/// |----------------------------------------|----------------------------------------------------|
/// | minihop, sssp                          | the first root                                     |
/// | minihop_new, sssp_new, fulb_rooted     | the root with the fewest trees rooted there        |
/// | minihop_new_through, sssp_new_through, | the root with the fewest trees through it: the     |
/// | fulb_through                           | other reading of a switch's load                   |
/// | sssp_new_layered, ..._layered_through  | searched layer by layer                            |
/// | fulb_rooted_simd                       | fulb_rooted with the vectorised root scan          |
/// | prism, prism_repaired                  | `comparison::prism_rows`                           |
///
/// minihop, sssp_new, fulb_rooted and fulb_through search their root as published, the others with
/// the vectorised scan, which finds the same.
[[nodiscard]] std::span<const comparison::Compared> all_rows();
/// By the name of a row, "fulb" for both readings, or "all". Empty for an unknown name.
[[nodiscard]] std::vector<comparison::Compared> expand(std::string_view name);

/// A line for each topology and pattern: loads and times of the published algorithms as multiples
/// of PRISM's, where both were measured.
[[nodiscard]] std::string to_ratios(std::span<const comparison::Row> rows);

} // namespace tributary::multicast::published
