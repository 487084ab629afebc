// A counter with one writer and any number of readers: a plain addition for the worker that owns
// it, and a value that is never torn for the management thread that reads it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tributary::core {

class Counter {
public:
  Counter() = default;
  /// By the owner only.
  [[gnu::always_inline]] void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  /// By any thread.
  [[nodiscard]] std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

} // namespace tributary::core
