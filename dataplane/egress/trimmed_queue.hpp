// The frames of one class that were trimmed to their headers and wait to leave by one port, ahead
// of the class's other frames: a ring of handles.
//
// Ahead, but not exclusively: when many senders meet, the trimmed headers can exceed the link, and
// would starve all whole frames. So while whole frames wait, too, headers get half of the class's
// bytes: `debt` is their lead.
//
// All memory is allocated at construction. Belongs to PortQueues.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

namespace tributary::egress {

template <typename Handle> class TrimmedQueue {
public:
  /// Headers go ahead of whole frames until they lead by this many bytes.
  static constexpr std::uint64_t most_debt = 2048;

  /// 0: no frame is ever trimmed.
  void allocate(std::uint32_t limit) {
    limit_ = limit;
    if (limit != 0) {
      mask_ = std::bit_ceil(limit) - 1;
      handles_ = std::make_unique_for_overwrite<Handle[]>(std::size_t{mask_} + 1);
    }
  }

  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] bool full() const { return size() == limit_; }
  /// Requires room.
  void push(Handle handle) { handles_[tail_++ & mask_] = handle; }

  /// The first frames, up to the end of the contiguous run.
  [[nodiscard]] Handle* front() { return handles_.get() + (head_ & mask_); }
  [[nodiscard]] std::uint32_t run() const { return std::min(size(), mask_ + 1 - (head_ & mask_)); }
  void remove_front(std::uint32_t count) {
    head_ += count;
    if (head_ == tail_) {
      head_ = tail_ = 0;
      debt_ = 0;
    }
  }

  /// Whether its first frame leaves before the class's first whole one.
  [[nodiscard]] bool goes_first() const { return !empty() && debt_ < most_debt; }
  /// Bytes of the current turn, exceeded by less than a frame, before the other queue's turn.
  [[nodiscard]] std::uint64_t turn_bytes() const {
    return debt_ < most_debt ? most_debt - debt_ : debt_ - most_debt + 1;
  }
  /// Adds bytes that went ahead of whole frames ...
  void went_ahead(std::uint64_t bytes) { debt_ += bytes; }
  /// ... and subtracts whole frames' bytes that left while it was not empty.
  void stood_back(std::uint64_t bytes) { debt_ -= std::min(debt_, bytes); }
  /// No whole frame waits.
  void forgive() { debt_ = 0; }

private:
  std::unique_ptr<Handle[]> handles_;
  std::uint32_t limit_ = 0;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0; ///< these two only grow; their low bits are places in the ring
  std::uint32_t tail_ = 0;
  std::uint64_t debt_ = 0;
};

} // namespace tributary::egress
