// The one place where the host library reads a clock.
#pragma once

#include "tributary/types.hpp"

#include <chrono>

namespace tributary::transport {

/// The monotonic clock, in the terms of the pure rooms.
inline TimeNs now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return TimeNs{static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count())};
}

} // namespace tributary::transport
