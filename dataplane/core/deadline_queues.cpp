#include "dataplane/core/deadline_queues.hpp"

#include <algorithm>

namespace tributary::core {

DeadlineQueues::DeadlineQueues() : links_(all_reduction_keys + EngineTimers::count) {
  for (std::uint32_t end = first_end; end < first_end + EngineTimers::count; ++end) {
    links_[end] = {TimeNs{0}, end, end};
  }
}

/// Place after all entries that end no later. Time seldom jumps back.
std::uint32_t DeadlineQueues::place_from(std::uint32_t after, std::uint32_t end,
                                         TimeNs deadline) const {
  while (after != end && links_[after].deadline > deadline) {
    after = links_[after].previous;
  }
  return after;
}

void DeadlineQueues::tighten() {
  earliest_ = never;
  for (std::uint32_t end = first_end; end < first_end + EngineTimers::count; ++end) {
    const std::uint32_t first = links_[end].next;
    if (first != end) {
      earliest_ = std::min(earliest_, links_[first].deadline);
    }
  }
}

} // namespace tributary::core
