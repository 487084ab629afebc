// The drop reasons at the edge of a port (dataplane/core/drop_reason.hpp has them all): those of
// its queues, which are counted for each class.
#pragma once

#include "dataplane/core/drop_reason.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tributary::egress {

using core::DropReason;

inline constexpr std::array queue_drop_reasons = {
    DropReason::queue_full,      DropReason::trimmed_full, DropReason::headroom_full,
    DropReason::paused_too_long, DropReason::port_down,
};

/// Its index among them. Requires one of them.
constexpr std::size_t queue_drop_index(DropReason r) {
  return static_cast<std::size_t>(
      std::find(queue_drop_reasons.begin(), queue_drop_reasons.end(), r) -
      queue_drop_reasons.begin());
}

} // namespace tributary::egress
