// From the counters of the workers that run a switch to the Statistics message: every port whole,
// and those trees on which something happened since the message before.
//
// Pure; belongs to one Agent.
#pragma once

#include "dataplane/core/counters.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::agent {

/// What the queues of one port, added up, know of pauses.
struct PortPauses {
  std::uint64_t received = 0; ///< that the neighbour asked for
  std::uint64_t sent = 0;     ///< that the neighbour was asked for
  std::uint64_t paused_ns = 0;
};

class SwitchStatistics {
public:
  /// The figures of all workers are summed up; they count since the switch started. There are as
  /// many ports as `pauses`.
  [[nodiscard]] control::Statistics message(std::span<const core::Counters* const> counters,
                                            std::span<const PortPauses> pauses,
                                            std::uint32_t descriptors_in_use);
  /// The next message has all trees on which anything ever happened: for a manager that has heard
  /// nothing yet.
  void start_over() { told_.assign(max_trees, {}); }

private:
  using TreeFigures = std::array<std::uint64_t, 5>; ///< in the order of TreeCounters
  std::vector<TreeFigures> told_ = std::vector<TreeFigures>(max_trees);
};

} // namespace tributary::agent
