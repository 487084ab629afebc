// Random faults in a two-dimension fat tree, again and again: which share of the live pairs a plain
// xy route loses, phase search strands with two and with three virtual channels, and no routing
// could serve.
#pragma once

#include "controlplane/unicast/faults.hpp"

#include <cstdint>

namespace tributary::bench {

struct Campaign {
  double lost_without = 0; ///< of pairs: the xy route is dead
  double stranded_2 = 0;   ///< no legal route with 2 virtual channels, and not cut
  double stranded_3 = 0;
  double cut = 0; ///< no path at all
};

[[nodiscard]] Campaign run_campaign(const unicast::Shape& shape, const unicast::FaultCounts& counts,
                                    std::uint32_t trials, std::uint64_t seed);

} // namespace tributary::bench
