// The clocks of the machine, in the terms of the pure rooms, which are told the time and never ask.
#pragma once

#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace tributary::net {

/// Nanoseconds since an arbitrary moment, the same for all threads and processes of a machine.
inline TimeNs steady_now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return {static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count())};
}

/// The same moment, for timers and condition variables. Not for `never`.
inline std::chrono::steady_clock::time_point time_point_of(TimeNs time) {
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(static_cast<std::int64_t>(time.value)));
}

/// Nanoseconds for which this thread has had a processor.
inline std::uint64_t thread_processor_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

} // namespace tributary::net
