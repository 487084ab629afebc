// A set of chunks of one window: the bitmap that acknowledgements carry.
#pragma once

#include "endpoint/reliable_multicast/parameters.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::reliable_multicast {

class ChunkSet {
public:
  static constexpr std::size_t words = most_window_chunks / 64;
  using Words = std::array<std::uint64_t, words>;

  constexpr ChunkSet() = default;
  constexpr explicit ChunkSet(const Words& bits) : bits_(bits) {}
  /// Chunks 0 to `count` - 1.
  static constexpr ChunkSet first(std::uint32_t count) {
    ChunkSet set;
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint32_t begin = static_cast<std::uint32_t>(i) * 64;
      const std::uint32_t here = count > begin ? count - begin : 0;
      set.bits_[i] = here >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
    }
    return set;
  }

  constexpr void insert(std::uint32_t chunk) { bits_[chunk / 64] |= bit(chunk); }
  constexpr void erase(std::uint32_t chunk) { bits_[chunk / 64] &= ~bit(chunk); }
  [[nodiscard]] constexpr bool contains(std::uint32_t chunk) const {
    return (bits_[chunk / 64] & bit(chunk)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const { return bits_ == Words{}; }
  [[nodiscard]] constexpr std::uint32_t size() const {
    int count = 0;
    for (const std::uint64_t word : bits_) {
      count += std::popcount(word);
    }
    return static_cast<std::uint32_t>(count);
  }
  /// The lowest one. Requires a set that is not empty.
  [[nodiscard]] constexpr std::uint32_t lowest() const {
    std::uint32_t at = 0;
    for (const std::uint64_t word : bits_) {
      if (word != 0) {
        return at + static_cast<std::uint32_t>(std::countr_zero(word));
      }
      at += 64;
    }
    return at;
  }
  [[nodiscard]] constexpr const Words& bits() const { return bits_; }

  friend constexpr bool operator==(const ChunkSet&, const ChunkSet&) = default;
  friend constexpr ChunkSet operator&(ChunkSet a, const ChunkSet& b) {
    for (std::size_t i = 0; i < words; ++i) {
      a.bits_[i] &= b.bits_[i];
    }
    return a;
  }
  friend constexpr ChunkSet operator|(ChunkSet a, const ChunkSet& b) {
    for (std::size_t i = 0; i < words; ++i) {
      a.bits_[i] |= b.bits_[i];
    }
    return a;
  }
  /// The members of `a` that are not in `b`.
  friend constexpr ChunkSet operator-(ChunkSet a, const ChunkSet& b) {
    for (std::size_t i = 0; i < words; ++i) {
      a.bits_[i] &= ~b.bits_[i];
    }
    return a;
  }

  /// Calls `f(chunk)` for each member, lowest first.
  template <typename F> constexpr void for_each(F&& f) const {
    for (std::size_t i = 0; i < words; ++i) {
      for (std::uint64_t rest = bits_[i]; rest != 0; rest &= rest - 1) {
        f(static_cast<std::uint32_t>(i) * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
      }
    }
  }

private:
  static constexpr std::uint64_t bit(std::uint32_t chunk) {
    return std::uint64_t{1} << (chunk & 63U);
  }
  Words bits_{};
};

} // namespace tributary::reliable_multicast
