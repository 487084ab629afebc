// The frames a member wants sent, oldest first, until its shell takes them. Fixed room; a frame
// that finds none is dropped and counted by the member, and recovered like one the network lost.
//
//   while (!outbox.empty()) { send(outbox.front()); outbox.pop(); }
//   for (i = 0; i < outbox.size(); ++i) ... outbox[i] ...; outbox.pop(sent);      in batches
#pragma once

#include "tributary/wire/reduction.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace tributary::collective {

class Outbox {
public:
  static constexpr std::size_t capacity = 64;
  using Frame = std::array<std::byte, wire::reduction_frame_bytes>;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == capacity; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The `index`-th frame from the oldest; `index < size()`.
  [[nodiscard]] const Frame& operator[](std::size_t index) const {
    return frames_[(first_ + index) % capacity];
  }
  [[nodiscard]] const Frame& front() const { return frames_[first_]; }
  /// Forgets the `count` oldest frames; `count <= size()`.
  void pop(std::size_t count = 1) {
    first_ = (first_ + count) % capacity;
    size_ -= count;
  }
  /// Encodes a frame behind the last one; false when there is no room.
  [[nodiscard]] bool push(const wire::ReductionFrame& frame) {
    if (full()) {
      return false;
    }
    wire::encode(frame, frames_[(first_ + size_) % capacity]);
    ++size_;
    return true;
  }

private:
  std::array<Frame, capacity> frames_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace tributary::collective
