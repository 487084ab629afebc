// From the counters of the workers that run a switch to the Statistics message: every port in full,
// and the trees whose counters changed since the previous message.
//
// Pure; belongs to one Agent.
#pragma once

#include "dataplane/core/counters.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::agent {

/// Pause counters of one port, summed over its queues.
struct PortPauses {
  std::uint64_t received = 0; ///< requested by the neighbour
  std::uint64_t sent = 0;     ///< requested from the neighbour
  std::uint64_t paused_ns = 0;
};

class SwitchStatistics {
public:
  /// Sums the figures of all workers, which count from the start of the switch. `pauses` has one
  /// element per port.
  [[nodiscard]] control::Statistics message(std::span<const core::Counters* const> counters,
                                            std::span<const PortPauses> pauses,
                                            std::uint32_t descriptors_in_use);
  /// The next message contains all trees with any activity so far: for a newly connected manager.
  void start_over() { reported_.assign(max_trees, {}); }

private:
  std::vector<core::TreeCounts> reported_ = std::vector<core::TreeCounts>(max_trees);
};

} // namespace tributary::agent
