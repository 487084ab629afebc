// A value that goes up and down, with one writer and any number of readers. As core::Counter.
#pragma once

#include <atomic>
#include <cstdint>

namespace tributary::egress {

class Gauge {
public:
  Gauge() = default;
  /// By the owner only.
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void raise_to(std::uint64_t value) {
    if (value > read()) {
      set(value);
    }
  }
  /// By any thread.
  [[nodiscard]] std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

} // namespace tributary::egress
