#include "dataplane/core/deadline_queues.hpp"

#include <algorithm>

namespace tributary::core {

DeadlineQueues::DeadlineQueues() : links_(all_reduction_keys + EngineTimers::count) {
  for (std::uint32_t end = first_end; end < first_end + EngineTimers::count; ++end) {
    links_[end] = {TimeNs{0}, end, end};
  }
}

void DeadlineQueues::start(ReductionKey key, std::uint8_t timer, TimeNs deadline) {
  const std::uint32_t end = first_end + timer % EngineTimers::count;
  std::uint32_t after = links_[end].previous;
  while (after != end && links_[after].deadline > deadline) {
    after = links_[after].previous;
  }
  const std::uint32_t before = links_[after].next;
  links_[key.index()] = {deadline, after, before};
  links_[after].next = key.index();
  links_[before].previous = key.index();
  earliest_ = size_ == 0 ? deadline : std::min(earliest_, deadline);
  ++size_;
}

void DeadlineQueues::stop(ReductionKey key) {
  const Link link = links_[key.index()];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
  --size_;
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
