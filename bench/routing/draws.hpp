// Random dead leaves in a two-dimension fat tree, very many sets of them: how many strand a pair of
// live leaves, by the rules from which tables are computed.
#pragma once

#include "controlplane/unicast/shape.hpp"

#include <cstdint>

namespace tributary::bench {

/// Sets that strand a pair.
struct Stranding {
  std::uint64_t clean_column = 0; ///< vtftr with the lists of rows' roots only
  std::uint64_t vtftr = 0;        ///< the paper's
  std::uint64_t vtftr_plus = 0;
};

[[nodiscard]] Stranding draw_sets(const unicast::Shape& shape, std::uint32_t dead_leaves,
                                  std::uint64_t draws, std::uint64_t seed);

} // namespace tributary::bench
