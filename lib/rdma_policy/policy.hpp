// The behaviour of a VNI's transfers: everything that the control plane may set. The last policy
// received applies.
#pragma once

#include "tributary/types.hpp"

#include <bit>
#include <cstdint>
#include <string_view>

namespace tributary::rdma_policy {

inline constexpr std::uint32_t least_window = 128;
inline constexpr std::uint32_t most_window = 1024;
/// Powers of two only: the ring is indexed by masking.
constexpr bool is_window(std::uint32_t width) {
  return width >= least_window && width <= most_window && std::has_single_bit(width);
}

struct Policy {
  /// W of sinks on this host, a power of two. At least (round trip + reordering) / time of a frame.
  std::uint32_t window = 1024;

  // Timers. A time-out is the smoothed round trip, plus four deviations and the reordering window,
  // within these bounds; before the first round trip it is the initial one. It doubles with every
  // repetition, three times.
  std::uint64_t initial_timeout_ns = 1'000'000;
  std::uint64_t least_timeout_ns = 200'000;
  std::uint64_t most_timeout_ns = 100'000'000;
  /// Initial reordering window; it adapts, and is at least a quarter of the round trip.
  std::uint64_t initial_reordering_ns = 100'000;
  std::uint64_t most_reordering_ns = 10'000'000;

  // Retry limits by cause; beyond them the transfer ends with an error.
  std::uint32_t sink_timeouts = 12;    ///< without a frame, at a sink
  std::uint32_t request_retries = 12;  ///< unanswered requests
  std::uint32_t query_retries = 12;    ///< unanswered queries
  std::uint32_t busy_retries = 10'000; ///< requests answered by "busy"
  std::uint32_t restarts = 8;          ///< the peer has forgotten the transfer

  /// Retry delay after "busy": the peer's value plus up to 2^k of these, k at most 8.
  std::uint64_t busy_unit_ns = 20'000;

  /// From this time-out on the sink requests everything sent after the last received frame.
  std::uint32_t range_threshold = 2;
  /// How long finished transfers are remembered: longer than a frame's time in the network, and
  /// than the source's retries.
  std::uint64_t finished_ns = 5 * ns_per_second;

  /// Sources notify the sink when they know that a transfer is done, so that it forgets it
  /// immediately: one more frame per transfer.
  bool forget_early = false;

  /// Per source, payload only; 0: limited by credit only.
  std::uint64_t rate_bytes_per_second = 0;
  /// Limit of frames in flight from all sources to this host; shared among the transfers. 0:
  /// limited only by each one's window.
  std::uint32_t sink_credit = 4096;
  /// The smallest grant in frames: further transfers wait until one ends.
  std::uint32_t least_credit = 16;

  // Thresholds for reports to the control plane (exceptions.hpp).
  std::uint32_t exception_timeouts = 4; ///< consecutive ones of one transfer
  std::uint32_t busy_storm = 64;        ///< consecutive busy answers of one peer

  /// Frames may take different paths; otherwise those of two hosts take one path.
  bool spraying = false;
  std::uint8_t dscp_sprayed = 10; ///< sprayed by the routes
  std::uint8_t dscp_hashed = 8;
  std::uint8_t dscp_control = 8; ///< for all frames without data

  friend bool operator==(const Policy&, const Policy&) = default;
};

/// The problem with a policy, for a message; empty if there is none.
constexpr std::string_view problem_of(const Policy& p) {
  if (!is_window(p.window)) {
    return "window: not 128, 256, 512 or 1024 frames";
  }
  if (p.least_timeout_ns == 0 || p.least_timeout_ns > p.most_timeout_ns) {
    return "timers: the least time-out is 0, or more than the most";
  }
  if (p.initial_timeout_ns < p.least_timeout_ns || p.initial_timeout_ns > p.most_timeout_ns) {
    return "timers: the initial time-out is outside of least and most";
  }
  if (p.most_reordering_ns < p.initial_reordering_ns) {
    return "reordering: the initial window is more than the most";
  }
  if (p.sink_timeouts == 0 || p.request_retries == 0 || p.query_retries == 0) {
    return "retries: there must be one at least";
  }
  if (p.least_credit == 0) {
    return "least_credit: 0 frames are no grant";
  }
  if (p.dscp_sprayed > 63 || p.dscp_hashed > 63 || p.dscp_control > 63) {
    return "DSCP: more than 63";
  }
  return {};
}

} // namespace tributary::rdma_policy
