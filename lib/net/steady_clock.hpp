// The machine's clocks, as TimeNs for pure code, which is passed the time.
#pragma once

#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace tributary::net {

/// Nanoseconds since an arbitrary origin, the same for all threads and processes of a machine.
inline TimeNs steady_now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return {static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count())};
}

/// The same, but it also runs while the machine sleeps: for leases that others hold to be over.
inline TimeNs boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return {static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
          static_cast<std::uint64_t>(now.tv_nsec)};
}

/// The time of `steady_now`, for timers and condition variables. Not for `never`.
inline std::chrono::steady_clock::time_point time_point_of(TimeNs time) {
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(static_cast<std::int64_t>(time.value)));
}

/// Processor time of this thread in nanoseconds.
inline std::uint64_t thread_processor_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

} // namespace tributary::net
