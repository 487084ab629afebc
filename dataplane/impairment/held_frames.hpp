// Frames that are delayed: handles, by the time they are due. Frames due at the same time keep
// their order. Does not own what the handles stand for.
#pragma once

#include "tributary/types.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::impairment {

template <typename Handle> class HeldFrames {
public:
  explicit HeldFrames(std::size_t capacity) : capacity_(capacity) { frames_.reserve(capacity); }

  /// For how many more there is room.
  [[nodiscard]] std::size_t room() const { return capacity_ - frames_.size(); }
  /// Requires room.
  void push(TimeNs due, Handle frame) {
    frames_.push_back({due, pushed_++, frame});
    std::push_heap(frames_.begin(), frames_.end(), later);
  }
  /// When the next frame is due; `never` when none is held.
  [[nodiscard]] TimeNs next_due() const { return frames_.empty() ? never : frames_.front().due; }
  /// Requires a frame; the one that is due first.
  [[nodiscard]] Handle pop() {
    std::pop_heap(frames_.begin(), frames_.end(), later);
    const Handle frame = frames_.back().frame;
    frames_.pop_back();
    return frame;
  }
  [[nodiscard]] bool empty() const { return frames_.empty(); }

private:
  struct Held {
    TimeNs due;
    std::uint64_t order;
    Handle frame;
  };
  static bool later(const Held& a, const Held& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }

  std::size_t capacity_;
  std::vector<Held> frames_; ///< a heap
  std::uint64_t pushed_ = 0;
};

} // namespace tributary::impairment
