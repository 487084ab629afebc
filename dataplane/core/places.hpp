// A set of places in a burst, in one word.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::core {

/// Holds the first 64 places; of longer bursts the other places are unknown.
class Places {
public:
  static constexpr std::size_t limit = 64;

  constexpr Places() = default;
  static constexpr Places all() { return Places(~std::uint64_t{0}); }

  constexpr void insert(std::size_t place) {
    if (place < limit) {
      bits_ |= std::uint64_t{1} << place;
    }
  }
  /// Inserts those of a part of the burst that begins at `first`.
  constexpr void insert(std::size_t first, Places of_part) {
    if (first < limit) {
      bits_ |= of_part.bits_ << first;
    }
  }
  /// The first `count` places.
  static constexpr Places first(std::size_t count) {
    return Places(count < limit ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0});
  }

  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr bool contains(std::size_t place) const {
    return place < limit && (bits_ >> place & 1) != 0;
  }
  /// The first place at or after `from` that is in the set or unknown; `end` if there is none
  /// before.
  [[nodiscard]] constexpr std::size_t next(std::size_t from, std::size_t end) const {
    if (from >= limit) {
      return std::min(from, end);
    }
    const std::uint64_t rest = bits_ >> from;
    return std::min(rest != 0 ? from + static_cast<unsigned>(std::countr_zero(rest)) : limit, end);
  }
  /// In order.
  template <typename F> constexpr void for_each(F&& f) const {
    for (std::uint64_t bits = bits_; bits != 0; bits &= bits - 1) {
      f(static_cast<unsigned>(std::countr_zero(bits)));
    }
  }

private:
  constexpr explicit Places(std::uint64_t bits) : bits_(bits) {}

  std::uint64_t bits_ = 0;
};

} // namespace tributary::core
