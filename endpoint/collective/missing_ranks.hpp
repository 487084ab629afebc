// Which ranks a group misses: how many, and the first few by number.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tributary::collective {

struct MissingRanks {
  /// As many as one frame can name (notice.hpp).
  static constexpr std::size_t most_named = 8;

  std::uint32_t count = 0;
  std::array<std::uint32_t, most_named> first{}; ///< ascending

  void add(std::uint32_t rank) {
    if (count < most_named) {
      first[count] = rank;
    }
    ++count;
  }
  [[nodiscard]] bool empty() const { return count == 0; }
  [[nodiscard]] std::span<const std::uint32_t> named() const {
    return {first.data(), count < most_named ? count : most_named};
  }
  friend bool operator==(const MissingRanks&, const MissingRanks&) = default;
};

} // namespace tributary::collective
