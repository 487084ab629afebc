// What is known of the paths to a peer: how long an answer takes, and how much later than others a
// frame may arrive. Time-outs follow from it, and when a missing frame counts as lost.
#pragma once

#include "lib/rdma_policy/policy.hpp"

#include <algorithm>
#include <cstdint>

namespace tributary::rdma {

struct PathEstimate {
  const rdma_policy::Policy* policy = nullptr; ///< policy of the peer's VNI
  std::uint64_t round_trip_ns = 0;             ///< smoothed; 0: unknown
  std::uint64_t deviation_ns = 0;
  std::uint64_t reordering_ns = 0; ///< how long a hole may be a late frame

  /// Weights as in RFC 6298: an eighth, a quarter.
  void sample_round_trip(std::uint64_t ns) {
    if (round_trip_ns == 0) {
      round_trip_ns = std::max<std::uint64_t>(ns, 1);
      deviation_ns = ns / 2;
      return;
    }
    const std::uint64_t off = ns > round_trip_ns ? ns - round_trip_ns : round_trip_ns - ns;
    deviation_ns = (3 * deviation_ns + off) / 4;
    round_trip_ns = std::max<std::uint64_t>((7 * round_trip_ns + ns) / 8, 1);
  }
  [[nodiscard]] std::uint64_t least_reordering() const {
    return (round_trip_ns == 0 ? policy->initial_reordering_ns : round_trip_ns) / 4;
  }
  /// The missing frame was lost: holes can be asked for earlier.
  void was_lost() {
    reordering_ns = std::max(reordering_ns - reordering_ns * 3 / 100, least_reordering());
  }
  /// What was asked for was on its way: the question was too early.
  void was_late() {
    reordering_ns = std::min(reordering_ns + reordering_ns / 2, policy->most_reordering_ns);
  }
  [[nodiscard]] std::uint64_t timeout_ns() const {
    if (round_trip_ns == 0) {
      return policy->initial_timeout_ns;
    }
    return std::clamp(round_trip_ns + 4 * deviation_ns + reordering_ns, policy->least_timeout_ns,
                      policy->most_timeout_ns);
  }
  /// How long a frame that was asked for is not asked for again.
  [[nodiscard]] std::uint64_t guard_ns() const {
    return (round_trip_ns == 0 ? policy->initial_timeout_ns : round_trip_ns) + reordering_ns;
  }
};

} // namespace tributary::rdma
