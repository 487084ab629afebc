// Delayed frames: handles, by the time they are due, followed by those that wait for later ones to
// pass. Frames due at the same time keep their order. Does not own the frames.
#pragma once

#include "dataplane/impairment/held_behind.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::impairment {

template <typename Handle> class HeldFrames {
public:
  using Released = typename HeldBehind<Handle>::Released;

  /// `behind_ns`: upper limit of a frame's wait for later ones.
  explicit HeldFrames(std::size_t capacity, std::uint64_t behind_ns = 0)
      : capacity_(capacity), behind_ns_(behind_ns), behind_(capacity) {
    frames_.reserve(capacity);
  }

  /// Number of further frames that fit.
  [[nodiscard]] std::size_t room() const { return capacity_ - size(); }
  [[nodiscard]] std::size_t size() const { return frames_.size() + behind_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Requires room. `distance`: number of later frames that pass it once it is due.
  void push(TimeNs due, Handle frame, std::uint32_t distance = 0) {
    frames_.push_back({due, pushed_++, frame, distance});
    std::push_heap(frames_.begin(), frames_.end(), later);
  }
  /// The latest time at which the next frame can be taken; `never` if none is held.
  [[nodiscard]] TimeNs next_due() const {
    return std::min(frames_.empty() ? never : frames_.front().due, behind_.next_deadline());
  }
  /// Whether a frame can be taken; `out` receives it.
  bool take(TimeNs now, Released& out) {
    for (;;) {
      if (behind_.ready(now)) {
        out = behind_.take();
        return true;
      }
      if (frames_.empty() || frames_.front().due > now) {
        return false;
      }
      std::pop_heap(frames_.begin(), frames_.end(), later);
      const Held held = frames_.back();
      frames_.pop_back();
      if (held.distance == 0) {
        behind_.passed();
        out = {held.frame, false};
        return true;
      }
      behind_.hold(held.frame, held.distance, held.due + behind_ns_);
    }
  }

private:
  struct Held {
    TimeNs due;
    std::uint64_t order;
    Handle frame;
    std::uint32_t distance;
  };
  static bool later(const Held& a, const Held& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }

  std::size_t capacity_;
  std::uint64_t behind_ns_;
  std::vector<Held> frames_; ///< a heap
  HeldBehind<Handle> behind_;
  std::uint64_t pushed_ = 0;
};

} // namespace tributary::impairment
