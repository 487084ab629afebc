// A fuzzer's byte string, read one little-endian value at a time, followed by zeros.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tributary::fuzz {

class Input {
public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  template <std::unsigned_integral T> T take() {
    const auto taken = rest_.first(std::min(sizeof(T), rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return std::accumulate(taken.rbegin(), taken.rend(), T{0}, [](T value, std::uint8_t byte) {
      return static_cast<T>(std::uint64_t{value} << 8 | byte);
    });
  }
  /// Below `limit`, from one byte.
  std::uint8_t below(std::uint8_t limit) {
    return static_cast<std::uint8_t>(take<std::uint8_t>() % limit);
  }
  /// At most `most` bytes; fewer at the end.
  std::vector<std::byte> bytes(std::size_t most) {
    const auto taken = std::as_bytes(rest_.first(std::min(most, rest_.size())));
    rest_ = rest_.subspan(taken.size());
    return {taken.begin(), taken.end()};
  }

private:
  std::span<const std::uint8_t> rest_;
};

} // namespace tributary::fuzz
