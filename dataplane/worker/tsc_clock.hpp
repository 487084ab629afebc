// Time for the data path: the CPU's time stamp counter as nanoseconds since this clock was made.
// One per group of workers, so that their times are comparable. Immutable: any thread.
#pragma once

#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>

#include <rte_cycles.h>

namespace tributary::worker {

/// For products of two 64-bit numbers.
__extension__ typedef unsigned __int128 Wide;

class TscClock {
public:
  /// DPDK must have been started: it measures the counter's frequency.
  TscClock()
      : origin_cycles_(rte_rdtsc()), origin_(std::chrono::system_clock::now()),
        ns_per_cycle_(static_cast<std::uint64_t>(
            (static_cast<Wide>(1'000'000'000) << fraction_bits) / rte_get_tsc_hz())) {}

  [[nodiscard]] static std::uint64_t cycles() { return rte_rdtsc(); }
  /// Since the clock was made.
  [[nodiscard]] std::uint64_t age_cycles() const { return cycles() - origin_cycles_; }
  [[nodiscard]] TimeNs at(std::uint64_t cycles) const {
    const auto wide = static_cast<Wide>(cycles - origin_cycles_) * ns_per_cycle_;
    return {static_cast<std::uint64_t>(wide >> fraction_bits)};
  }
  [[nodiscard]] TimeNs now() const { return at(cycles()); }
  /// Wall-clock time, for captures and operators.
  [[nodiscard]] std::chrono::system_clock::time_point calendar(TimeNs t) const {
    return origin_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                         std::chrono::nanoseconds(t.value));
  }

private:
  static constexpr int fraction_bits = 40;
  std::uint64_t origin_cycles_;
  std::chrono::system_clock::time_point origin_;
  std::uint64_t ns_per_cycle_; ///< fixed point
};

} // namespace tributary::worker
