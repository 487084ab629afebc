// The frames of one class that are to leave by one port: a ring of handles.
//
//      head           admitted         tail
//       v               v               v
//   ... | what waits    | just collected | ...        at most `burst` collected
//
// Pushed frames are collected; `admit_collected` makes them wait, within the bounds. An empty queue
// restarts at the first element, so that a queue that is never long uses the same few cache lines
// over and over. Lossless classes also store the ingress of each frame.
//
// All memory is allocated at construction. Belongs to PortQueues.
#pragma once

#include "dataplane/egress/ingress_accounts.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

namespace tributary::egress {

template <typename Handle, std::uint32_t burst> class ClassQueue {
public:
  void allocate(const ClassSettings& settings) {
    limit_ = settings.limit;
    mask_ = std::bit_ceil(limit_.frames + burst) - 1;
    // Uninitialised, so that unused places cost no memory.
    handles_ = std::make_unique_for_overwrite<Handle[]>(std::size_t{mask_} + 1);
    if (settings.lossless()) {
      ingress_ = std::make_unique_for_overwrite<Ingress[]>(std::size_t{mask_} + 1);
    }
  }

  /// Requires room: `collected()` plus `count` is at most a burst.
  void collect(const Handle* handles, std::uint32_t count, Ingress ingress) {
    for (std::uint32_t i = 0; i < count; ++i, ++tail_) {
      handles_[tail_ & mask_] = handles[i];
      if (lossless()) {
        ingress_[tail_ & mask_] = ingress;
      }
    }
  }

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  [[nodiscard]] std::uint32_t collected() const { return tail_ - admitted_; }
  [[nodiscard]] Depth waiting() const { return {admitted_ - head_, bytes_}; }
  [[nodiscard]] bool lossless() const { return ingress_ != nullptr; }

  /// The first frames, up to the end of the contiguous run.
  [[nodiscard]] Handle* front() { return handles_.get() + (head_ & mask_); }
  [[nodiscard]] std::uint32_t run() const { return std::min(size(), mask_ + 1 - (head_ & mask_)); }

  /// Removes the first `count` frames, of these lengths; calls `waited(ingress, bytes)` for those
  /// that waited.
  template <typename Waited>
  void remove_front(const std::uint32_t* lengths, std::uint32_t count, Waited&& waited) {
    const std::uint32_t end = head_ + count;
    for (; head_ != end && head_ != admitted_; ++head_, ++lengths) {
      bytes_ -= *lengths;
      waited(ingress_of(head_), *lengths);
    }
    if (head_ != end) {
      head_ = admitted_ = end;
    }
    begin_again_if_empty();
  }

  /// Makes the collected frames wait, oldest first, as far as `admit(handle, ingress, depth)`
  /// agrees; `depth` is what waits before the frame. It returns the frame's length, or nothing if
  /// the frame must not wait: the caller then owns it.
  template <typename Admit> void admit_collected(Admit&& admit) {
    std::uint32_t to = admitted_;
    for (std::uint32_t from = admitted_; from != tail_; ++from) {
      const Handle handle = handles_[from & mask_];
      const Ingress ingress = ingress_of(from);
      const std::optional<std::uint32_t> bytes = admit(handle, ingress, Depth{to - head_, bytes_});
      if (bytes) {
        bytes_ += *bytes;
        handles_[to & mask_] = handle;
        if (lossless()) {
          ingress_[to & mask_] = ingress;
        }
        ++to;
      }
    }
    admitted_ = tail_ = to;
    begin_again_if_empty();
  }
  [[nodiscard]] Depth limit() const { return limit_; }

private:
  [[nodiscard]] Ingress ingress_of(std::uint32_t at) const {
    return lossless() ? ingress_[at & mask_] : Ingress{};
  }
  void begin_again_if_empty() {
    if (head_ == tail_) {
      head_ = admitted_ = tail_ = 0;
    }
  }

  std::unique_ptr<Handle[]> handles_;
  std::unique_ptr<Ingress[]> ingress_; ///< null for lossy classes
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0; ///< these three only grow; their low bits are places in the ring
  std::uint32_t admitted_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t bytes_ = 0; ///< of the waiting frames
  Depth limit_;
};

} // namespace tributary::egress
