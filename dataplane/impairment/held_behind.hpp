// Frames that wait until a number of others have passed them, or until a deadline: reordering by
// distance. A ring of a fixed size; does not own the frames.
//
//   behind.hold(frame, 3, deadline)      instead of passing it now
//   behind.passed()                      for each frame that passes; held ones do not count
//   while (behind.ready(now)) { ... behind.take() ... }
//
// Frames leave in the order in which they were held, so a frame waits for those before it, too;
// with one distance and one duration for all, that is never longer.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::impairment {

template <typename Handle> class HeldBehind {
public:
  struct Released {
    Handle frame{};
    bool expired = false; ///< by the deadline, before the distance was reached
  };

  explicit HeldBehind(std::size_t capacity) : ring_(capacity) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == ring_.size(); }
  /// Requires that it is not full.
  void hold(Handle frame, std::uint32_t distance, TimeNs deadline) {
    ring_[(first_ + size_++) % ring_.size()] = {frame, passed_ + distance, deadline};
  }
  void passed() { ++passed_; }
  [[nodiscard]] bool ready(TimeNs now) const {
    return size_ != 0 && (ring_[first_].target <= passed_ || ring_[first_].deadline <= now);
  }
  /// Requires a frame; the one held first.
  Released take() {
    const Held& held = ring_[first_];
    first_ = (first_ + 1) % ring_.size();
    --size_;
    return {held.frame, held.target > passed_};
  }
  /// When the first is ready even if none passes; `never` if none is held.
  [[nodiscard]] TimeNs next_deadline() const { return size_ == 0 ? never : ring_[first_].deadline; }

private:
  struct Held {
    Handle frame{};
    std::uint64_t target = 0; ///< value of `passed_`
    TimeNs deadline;
  };
  std::vector<Held> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::uint64_t passed_ = 0;
};

} // namespace tributary::impairment
