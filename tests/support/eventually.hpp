// Waits for a condition itself, never for a time after which it should hold.
#pragma once

#include <chrono>
#include <thread>

namespace tributary::test {

/// Far longer than any operation, on the busiest machine and under any sanitizer; it only ends a
/// hang.
inline constexpr std::chrono::seconds eventually_timeout{30};

/// Whether `condition()` holds, polled until it does.
template <typename F> bool eventually(F condition) {
  const auto end = std::chrono::steady_clock::now() + eventually_timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

} // namespace tributary::test
