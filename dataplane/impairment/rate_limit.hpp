// A token bucket that computes when a frame may leave, instead of being polled. Before it is a
// queue of `queue_bytes`, in order of arrival.
//
// The bucket is one point in time: when it will be full again. A frame takes the time its bits need
// at the rate; it leaves when the bucket, `burst` deep, has that. (The virtual scheduling form of
// the generic cell rate algorithm, ITU-T I.371.)
#pragma once

#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tributary::impairment {

class RateLimit {
public:
  /// `kbps` 0: unlimited.
  RateLimit(std::uint64_t kbps, std::uint64_t burst_bytes, std::uint64_t queue_bytes)
      : kbps_(kbps), burst_ns_(ns_of(burst_bytes)), queue_ns_(ns_of(queue_bytes)) {}

  /// Departure time of a frame of `bytes` bytes that arrives now; nothing: the queue is full. Times
  /// must not run backward.
  std::optional<TimeNs> departure(TimeNs now, std::uint64_t bytes) {
    if (kbps_ == 0) {
      return now;
    }
    const std::uint64_t frame_ns = ns_of(bytes);
    const TimeNs full = std::max(full_at_, now) + frame_ns;
    const std::uint64_t wait_ns = elapsed_ns(full, now + burst_ns_);
    if (wait_ns > queue_ns_) {
      return std::nullopt;
    }
    full_at_ = full;
    return now + wait_ns;
  }

private:
  static constexpr std::uint64_t bit_ns_at_one_kbps = 1'000'000;
  [[nodiscard]] std::uint64_t ns_of(std::uint64_t bytes) const {
    return kbps_ == 0 ? 0 : (8 * bytes * bit_ns_at_one_kbps + kbps_ - 1) / kbps_;
  }

  std::uint64_t kbps_;
  std::uint64_t burst_ns_;
  std::uint64_t queue_ns_;
  TimeNs full_at_;
};

} // namespace tributary::impairment
