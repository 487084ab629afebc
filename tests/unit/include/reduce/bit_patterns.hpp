// Operands that are likely to hit a special case: limits, zeros, NaNs, neighbours, ties.
#pragma once

#include "tests/unit/include/wire/seed.hpp"
#include "tributary/reduce/accumulator.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::test {

inline constexpr std::uint64_t negative = 0x8000000000000000;

/// Bit patterns that mean something special as doubles, as integers, or as both. Most also matter
/// with the sign bit set.
inline constexpr std::array<std::uint64_t, 30> special_patterns{
    0x0000000000000000, // zero
    0x0000000000000001, // smallest subnormal; 1
    0x0000000000000002,
    0x000FFFFFFFFFFFFF, // largest subnormal
    0x0010000000000000, // smallest normal
    0x0010000000000001,
    0x0020000000000000, // twice that
    0x3C90000000000000, // half a unit in the last place of 1
    0x3C90000000000001,
    0x3CA0000000000000, // a unit in the last place below 1
    0x3CB0000000000000, // and above
    0x3FEFFFFFFFFFFFFF, // just below 1
    0x3FF0000000000000, // 1
    0x3FF0000000000001, // just above 1
    0x4330000000000000, // 2^52
    0x4340000000000000, // 2^53
    0x4341C37937E08000, // 1e16
    0x7C80000000000000, // 2^969, half a unit in the last place of the largest
    0x7C90000000000000, // 2^970, that unit
    0x7C8FFFFFFFFFFFFF,
    0x7FDFFFFFFFFFFFFF, // just below 2^1023
    0x7FE0000000000000, // 2^1023
    0x7FEFFFFFFFFFFFFE,
    0x7FEFFFFFFFFFFFFF, // largest finite
    0x7FF0000000000000, // infinity
    0x7FF0000000000001, // signalling NaNs
    0x7FF7FFFFFFFFFFFF,
    0x7FF8000000000000, // quiet NaNs
    0x7FFC000000000123,
    0x7FFFFFFFFFFFFFFF, // a quiet NaN; INT64_MAX
};

inline std::uint64_t special_pattern(Random& random) {
  return special_patterns[random() % special_patterns.size()] | (random() & negative);
}

/// A word for the second operand of a pair whose first one was `other`.
inline std::uint64_t random_word(Random& random, std::uint64_t other) {
  constexpr std::uint64_t fraction = 0x000FFFFFFFFFFFFF;
  const auto with_exponent = [&random](std::uint64_t exponent) {
    return (random() & (negative | fraction)) | (exponent & 0x7FF) << 52;
  };
  switch (random() % 16) {
  case 0:
  case 1:
  case 2: return special_pattern(random);
  case 3: return other;
  case 4: return other ^ negative;
  case 5: return other + random() % 5 - 2;
  case 6: return (other ^ negative) + random() % 5 - 2;
  case 7: return random() % 9 - 4;                                    // small integers
  case 8: return with_exponent(random() % 4);                         // about the subnormals
  case 9: return with_exponent(2043 + random() % 5);                  // about the largest
  case 10: return with_exponent((other >> 52) + random() % 121 - 60); // overlapping fractions
  case 11: return with_exponent(1023 + random() % 7 - 3) & ~std::uint64_t{0xFFFFFFFFFFF};
  default: return random();
  }
}

/// A contribution of `op` with any content that a frame may carry, code 8 included but rare.
inline reduce::Contribution random_contribution(Random& random, wire::Opcode op,
                                                const reduce::Contribution* other = nullptr) {
  reduce::Contribution c;
  c.op = op;
  c.source.value = static_cast<std::uint32_t>(random());
  for (std::size_t i = 0; i < 4; ++i) {
    c.payload[i] = random_word(random, other != nullptr ? other->payload[i] : random());
  }
  if (wire::is_minmaxloc(op)) {
    for (const std::size_t i : {1U, 3U}) {
      const std::uint64_t kinds[] = {random() % 3, ~(random() % 2), random()};
      c.payload[i] = kinds[random() % 3];
    }
  }
  if (op == wire::Opcode::flt_repsum) {
    const std::uint64_t kinds[] = {random() % 7 - 3, random() % 7 - 3, random() % 53 - 26,
                                   125 + random() % 3, random()};
    c.m = static_cast<std::int8_t>(kinds[random() % 16 < 12 ? random() % 2 : 2 + random() % 3]);
    c.overflow_id = static_cast<std::uint8_t>(random() % 4);
  }
  if (random() % 8 == 0) {
    c.rc = static_cast<wire::ResultCode>(random() % 64 == 0 ? 8 : random() % 8);
  }
  return c;
}

} // namespace tributary::test
