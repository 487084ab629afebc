// The frames of one class that were cut to their headers and wait to leave by one port, ahead of
// the class's other frames: a ring of handles.
//
// Ahead, but not instead: when many senders meet, the headers of what finds no room can be more
// than the link carries, and nobody would be helped if only they got through. So while whole frames
// wait, too, headers have half of the class's bytes: `debt` is what they are ahead by.
//
// All memory is made at construction. Belongs to PortQueues.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

namespace tributary::egress {

template <typename Handle> class TrimmedQueue {
public:
  /// Headers go ahead of whole frames until they are ahead by so many bytes.
  static constexpr std::uint64_t most_debt = 2048;

  /// 0: no frame is ever cut.
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

  /// The first frames, as many as lie in one run.
  [[nodiscard]] Handle* front() { return handles_.get() + (head_ & mask_); }
  [[nodiscard]] std::uint32_t run() const { return std::min(size(), mask_ + 1 - (head_ & mask_)); }
  void remove_front(std::uint32_t count) {
    head_ += count;
    if (head_ == tail_) {
      head_ = tail_ = 0;
      debt_ = 0;
    }
  }

  /// Whether its first frame is to leave before the class's first whole one.
  [[nodiscard]] bool goes_first() const { return !empty() && debt_ < most_debt; }
  /// After so many bytes of those whose turn it is, or less than a frame more, it is the others'.
  [[nodiscard]] std::uint64_t turn_bytes() const {
    return debt_ < most_debt ? most_debt - debt_ : debt_ - most_debt + 1;
  }
  /// So many bytes went ahead of whole frames ...
  void went_ahead(std::uint64_t bytes) { debt_ += bytes; }
  /// ... and so many of those left while it was not empty.
  void stood_back(std::uint64_t bytes) { debt_ -= std::min(debt_, bytes); }
  /// No whole frame waits.
  void forgive() { debt_ = 0; }

private:
  std::unique_ptr<Handle[]> handles_;
  std::uint32_t limit_ = 0;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0; ///< these two count on; their low bits are places in the ring
  std::uint32_t tail_ = 0;
  std::uint64_t debt_ = 0;
};

} // namespace tributary::egress
