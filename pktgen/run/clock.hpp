// The generator's clock: the processor's time stamp counter as nanoseconds since the clock was
// made, calibrated against the kernel's raw monotonic clock.
//
// Calibration takes pairs of readings some time apart; each reading is the tightest of several, so
// that an interruption between the two clocks does not count. Where the processor has no invariant
// counter the kernel's clock is read instead, and `cycles` are its nanoseconds.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::pktgen::run {

class Clock {
public:
  /// Takes about 20 ms: it calibrates.
  Clock();

  [[nodiscard]] std::uint64_t cycles() const {
#if defined(__x86_64__)
    if (has_counter_) {
      return __builtin_ia32_rdtsc();
    }
#endif
    return kernel_ns();
  }
  [[nodiscard]] TimeNs at(std::uint64_t cycles) const {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(cycles - origin_) * ns_per_cycle_;
    return {static_cast<std::uint64_t>(product >> fraction_bits)};
  }
  [[nodiscard]] TimeNs now() const { return at(cycles()); }
  /// Frequency of the counter.
  [[nodiscard]] double hz() const { return hz_; }
  /// The calendar's time in nanoseconds, for captures.
  [[nodiscard]] std::uint64_t calendar_ns(TimeNs t) const { return calendar_origin_ + t.value; }

private:
  static constexpr int fraction_bits = 40;
  [[nodiscard]] static std::uint64_t kernel_ns();

  bool has_counter_;
  double hz_ = 1e9;
  std::uint64_t ns_per_cycle_ = std::uint64_t{1} << fraction_bits; ///< fixed point
  std::uint64_t origin_ = 0;
  std::uint64_t calendar_origin_ = 0;
};

} // namespace tributary::pktgen::run
