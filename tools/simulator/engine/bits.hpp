// Sets of small numbers in a row of words, for ports and buffers of a switch.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::simulator::engine {

inline constexpr std::uint32_t nothing = 0xFFFFFFFF;

[[nodiscard]] constexpr std::size_t words_for(std::size_t count) { return (count + 63) / 64; }
inline void set_bit(std::uint64_t* words, std::size_t i) {
  words[i / 64] |= std::uint64_t{1} << (i % 64);
}
inline void clear_bit(std::uint64_t* words, std::size_t i) {
  words[i / 64] &= ~(std::uint64_t{1} << (i % 64));
}
/// `count` bits from `i` on, at most 64: they may continue in the next word.
inline void set_bits(std::uint64_t* words, std::size_t i, std::size_t count) {
  const std::uint64_t bits = ~std::uint64_t{0} >> (64 - count);
  words[i / 64] |= bits << (i % 64);
  if (i % 64 + count > 64) {
    words[i / 64 + 1] |= bits >> (64 - i % 64);
  }
}
inline void clear_bits(std::uint64_t* words, std::size_t i, std::size_t count) {
  const std::uint64_t bits = ~std::uint64_t{0} >> (64 - count);
  words[i / 64] &= ~(bits << (i % 64));
  if (i % 64 + count > 64) {
    words[i / 64 + 1] &= ~(bits >> (64 - i % 64));
  }
}
[[nodiscard]] inline bool has_bit(const std::uint64_t* words, std::size_t i) {
  return (words[i / 64] >> (i % 64) & 1U) != 0;
}

/// The n-th of the bits that are set, lowest first. Requires more than n.
[[nodiscard]] inline unsigned nth_bit(std::uint64_t word, unsigned n) {
  for (; n != 0; --n) {
    word &= word - 1;
  }
  return static_cast<unsigned>(std::countr_zero(word));
}

/// The first member from `from` on, cyclically; `word(i)` gives the i-th of `count` words.
/// `nothing`: the set is empty. Requires from < 64 * count.
template <typename Word>
[[nodiscard]] std::uint32_t first_from(std::size_t from, std::size_t count, Word&& word) {
  const std::size_t start = from / 64;
  const std::uint64_t ahead = ~std::uint64_t{0} << (from % 64);
  if (const std::uint64_t w = word(start) & ahead; w != 0) {
    return static_cast<std::uint32_t>(start * 64) + static_cast<std::uint32_t>(std::countr_zero(w));
  }
  for (std::size_t k = 1; k < count; ++k) {
    const std::size_t i = start + k < count ? start + k : start + k - count;
    if (const std::uint64_t w = word(i); w != 0) {
      return static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(w));
    }
  }
  if (const std::uint64_t w = word(start) & ~ahead; w != 0) {
    return static_cast<std::uint32_t>(start * 64) + static_cast<std::uint32_t>(std::countr_zero(w));
  }
  return nothing;
}

} // namespace tributary::simulator::engine
