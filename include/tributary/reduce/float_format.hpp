// The four floating-point formats of wide frames, by their bits.
//
//   format    bytes  exponent  fraction  canonical NaN        sums are made in
//   binary64      8        11        52  0x7FF8000000000000   binary64
//   binary32      4         8        23  0x7FC00000           binary32
//   binary16      2         5        10  0x7E00               binary32
//   bfloat16      2         8         7  0x7FC0               binary32
//
// A NaN has all exponent bits set and a fraction other than zero; it is signalling if the
// fraction's highest bit is clear.
//
// All of this is for single elements. Loops over it become vector instructions, so nothing here
// branches.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tributary::reduce {

template <typename BitsType, typename RealType, int fraction_bits> struct FloatFormat {
  using Bits = BitsType; ///< unsigned
  using Order = std::make_signed_t<Bits>;
  using Real = RealType; ///< type in which sums are made; has this format if it has its size

  static constexpr int width = std::numeric_limits<Bits>::digits;
  static constexpr Bits sign = static_cast<Bits>(Bits{1} << (width - 1));
  static constexpr Bits magnitude = static_cast<Bits>(~sign);
  static constexpr Bits least_normal = static_cast<Bits>(Bits{1} << fraction_bits);
  static constexpr Bits infinity = static_cast<Bits>(magnitude & ~(least_normal - 1));
  static constexpr Bits quiet_bit = static_cast<Bits>(least_normal >> 1);
  static constexpr Bits canonical_nan = static_cast<Bits>(infinity | quiet_bit);

  [[gnu::always_inline]] static constexpr bool is_nan(Bits v) {
    // Signed comparison, which saves an instruction on processors that have no other.
    return static_cast<Order>(v & magnitude) > static_cast<Order>(infinity);
  }
  [[gnu::always_inline]] static constexpr bool is_signalling(Bits v) {
    return is_nan(v) & (static_cast<Bits>(v & quiet_bit) == 0);
  }
  [[gnu::always_inline]] static constexpr Bits canonical(Bits v) {
    return is_nan(v) ? canonical_nan : v;
  }
  [[gnu::always_inline]] static constexpr bool is_subnormal(Bits v) {
    return static_cast<Bits>(static_cast<Bits>(v & magnitude) - 1) < least_normal - 1;
  }
  /// Key for comparing two numbers: total, -0 before +0 (floating.hpp).
  [[gnu::always_inline]] static constexpr Order order_of(Bits v) {
    const Bits negative = static_cast<Order>(v) < 0 ? magnitude : Bits{0};
    return static_cast<Order>(v ^ negative);
  }
};

using Binary64 = FloatFormat<std::uint64_t, double, 52>;
using Binary32 = FloatFormat<std::uint32_t, float, 23>;
using Binary16 = FloatFormat<std::uint16_t, float, 10>;
using Bfloat16 = FloatFormat<std::uint16_t, float, 7>;

static_assert(Binary64::canonical_nan == 0x7FF8'0000'0000'0000);
static_assert(Binary32::canonical_nan == 0x7FC0'0000);
static_assert(Binary16::canonical_nan == 0x7E00);
static_assert(Bfloat16::canonical_nan == 0x7FC0);

} // namespace tributary::reduce
