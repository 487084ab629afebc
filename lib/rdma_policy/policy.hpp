// How transfers of a VNI behave: everything that the control plane may set. The last one given
// holds.
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
  /// W of sinks here, a power of two. At least (round trip + reordering) / time of a frame.
  std::uint32_t window = 1024;

  // Timers. A time-out is the smoothed round trip, four deviations and the reordering window,
  // within these bounds; before the first round trip it is the initial one. It doubles with every
  // repetition, three times.
  std::uint64_t initial_timeout_ns = 1'000'000;
  std::uint64_t least_timeout_ns = 200'000;
  std::uint64_t most_timeout_ns = 100'000'000;
  /// Begins and ends at a quarter of the round trip, and adapts in between.
  std::uint64_t initial_reordering_ns = 100'000;
  std::uint64_t most_reordering_ns = 10'000'000;

  // How often something is tried again, by cause; then the transfer ends with an error.
  std::uint32_t sink_timeouts = 12;    ///< without a frame, at a sink
  std::uint32_t request_retries = 12;  ///< requests that nobody answers
  std::uint32_t query_retries = 12;    ///< queries that nobody answers
  std::uint32_t busy_retries = 10'000; ///< requests answered by "busy"
  std::uint32_t restarts = 8;          ///< the peer has forgotten the transfer

  /// A busy peer is asked again after what it says and up to 2^k of these, k at most 8.
  std::uint64_t busy_unit_ns = 20'000;

  /// From this time-out on the sink asks for all that was sent behind the last frame that came.
  std::uint32_t range_threshold = 2;
  /// How long finished transfers are remembered: longer than any frame is on its way, and than the
  /// source asks.
  std::uint64_t finished_ns = 5 * ns_per_second;

  /// Sources tell the sink when they know that a transfer is done, so that it forgets it at once: a
  /// frame more for each transfer.
  bool forget_early = false;

  /// Of one source, payload only; 0: as fast as credit allows.
  std::uint64_t rate_bytes_per_second = 0;
  /// Frames that all sources together may have on their way to this host; shared among the
  /// transfers. 0: no limit but each one's window.
  std::uint32_t sink_credit = 4096;
  /// Less than this is not worth a grant: further transfers wait for one that ends.
  std::uint32_t least_credit = 16;

  // What the control plane is told of (exceptions.hpp).
  std::uint32_t exception_timeouts = 4; ///< in a row, of one transfer
  std::uint32_t busy_storm = 64;        ///< busy answers in a row, of one peer

  /// Frames may take different paths; otherwise those of two hosts take one.
  bool spraying = false;
  std::uint8_t dscp_sprayed = 10; ///< what the routes spray
  std::uint8_t dscp_hashed = 8;
  std::uint8_t dscp_control = 8; ///< of all frames that bear no data

  friend bool operator==(const Policy&, const Policy&) = default;
};

/// What is wrong with a policy, for a person; empty if nothing is.
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
