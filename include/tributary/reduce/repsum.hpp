// FLT_REPSUM, the reproducible sum: a sum of doubles whose bits do not depend on the order of the
// additions (wire-format.md, 4.7).
//
// Represented value. Four signed 64-bit limbs T[0..3], T[0] least significant, and a signed 8-bit
// exponent M:
//
//     sum over i of  T[i] x 2^(40 x (M - 3 + i))
//
// Limbs are 40 bits apart and 64 bits wide, so 24 bits of each are room for carries: nothing is
// normalised during a reduction, limbs are simply added. M is the bin of the most significant limb.
// A double's digits reach up to 2^40 - 1, so no sum of up to 2^23 operands overflows.
//
//   M           meaning
//   -26..25     numbers; both zeros are M = -26 with all limbs 0
//   125         -Inf, all limbs 0
//   126         +Inf, all limbs 0
//   127         NaN, all limbs 0
//
// Combining. Let a be the operand with the larger M, and d the difference:
//
//     b:   T[3] T[2] T[1] T[0]            moves down d limbs; those below the end are lost,
//              \    \    \    \           and the sum is inexact if a lost one was not zero
//     a:  T[3] T[2] T[1] T[0]             limbs are added, wrapping
//
//   d   limb pairs added (a, b)     limbs of b dropped
//   0   0,0  1,1  2,2  3,3          none
//   1   0,1  1,2  2,3               0
//   2   0,2  1,3                    0 1
//   3   0,3                         0 1 2
//   4+  none                        all
//
// A limb that wraps raises int_overflow and the number of the limb, and makes the sum inexact. The
// overflow of the smaller operand is withdrawn when its limb is dropped, so the accumulator holds
// it separately from the accumulated code, as `repsum_overflow` and `repsum_inexact`:
//
//   code received         overflow   inexact   rest
//   int_overflow          yes        yes       success
//   repsum_inexact        no         yes       success
//   any other             no         no        as received
//
// Infinities and NaNs:
//
//   NaN and anything      NaN
//   +Inf and -Inf         NaN, flt_invalid
//   Inf and a number      that Inf
//
// and a number beside them raises neither overflow nor inexact, as it has no part in the result.
//
// M and limbs do not depend on order. The inexact flag can: limbs that cancel before one is
// dropped.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/float_environment.hpp"
#include "tributary/reduce/floating.hpp"
#include "tributary/reduce/integer.hpp"
#include "tributary/reduce/lanes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tributary::reduce {

inline constexpr int repsum_limb_spacing = 40;
inline constexpr std::int8_t repsum_smallest_m = -26;
inline constexpr std::int8_t repsum_negative_infinity = 125;
inline constexpr std::int8_t repsum_positive_infinity = 126;
inline constexpr std::int8_t repsum_nan = 127;

constexpr bool is_repsum_special(std::int8_t m) { return m >= repsum_negative_infinity; }

/// A reproducible sum as a frame carries it.
struct ReproducibleSum {
  wire::Payload limbs{};
  std::int8_t m = repsum_smallest_m;
  friend constexpr bool operator==(const ReproducibleSum&, const ReproducibleSum&) = default;
};

/// The sum of one double. Exact for all of them; any NaN becomes the one NaN.
constexpr ReproducibleSum to_reproducible(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (is_nan(bits)) {
    return {.limbs = {}, .m = repsum_nan};
  }
  const bool negative = (bits & float_sign) != 0;
  const std::uint64_t magnitude = bits & ~float_sign;
  if (magnitude == float_infinity) {
    return {.limbs = {}, .m = negative ? repsum_negative_infinity : repsum_positive_infinity};
  }
  constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 52;
  constexpr std::uint64_t digit_mask = (std::uint64_t{1} << repsum_limb_spacing) - 1;
  const bool normal = magnitude >= hidden_bit;
  const int biased = normal ? static_cast<int>(magnitude >> 52) : 1;
  const std::uint64_t fraction = (magnitude & (hidden_bit - 1)) | (normal ? hidden_bit : 0);

  // M = floor((biased - 1023) / 40), computed above zero; `place` is the exponent within the bin.
  constexpr int bins_below_one = 26;
  const int above = biased - 1023 + bins_below_one * repsum_limb_spacing;
  const int m = above / repsum_limb_spacing - bins_below_one;
  const int place = above % repsum_limb_spacing;

  // The fraction's unit lies 52 bits below 2^(40 M + place), that is place + 28 bits above limb 1's
  // unit. Limb 0 is always zero, and the lowest digit of V has 28 zeros before place is counted.
  __extension__ using Wide = unsigned __int128;
  const Wide v = static_cast<Wide>(fraction) << (place + 28);
  ReproducibleSum sum{.limbs = {}, .m = static_cast<std::int8_t>(m)};
  for (std::size_t i = 1; i < 4; ++i) {
    const auto rest =
        static_cast<std::uint64_t>(v >> (repsum_limb_spacing * (static_cast<int>(i) - 1)));
    const std::uint64_t digit = i == 3 ? rest : rest & digit_mask;
    sum.limbs[i] = negative ? std::uint64_t{0} - digit : digit;
  }
  return sum;
}

/// The nearest double as computed by the public host library: limbs are added from the most
/// significant down, each step rounded to nearest. Not always the correctly rounded sum, but the
/// same everywhere, whatever the thread's rounding mode. Limbs that no frame's sum can have may
/// yield Inf - Inf, for which processors return different NaNs: it becomes the canonical one.
inline double to_double(const ReproducibleSum& sum) noexcept {
  switch (sum.m) {
  case repsum_negative_infinity: return std::bit_cast<double>(float_sign | float_infinity);
  case repsum_positive_infinity: return std::bit_cast<double>(float_infinity);
  case repsum_nan: return std::bit_cast<double>(canonical_nan);
  default: break;
  }
  const NearestRounding nearest;
  double total = 0;
  for (std::size_t i = 4; i-- > 0;) {
    const auto limb = static_cast<double>(nearest.pinned(static_cast<std::int64_t>(sum.limbs[i])));
    const int exponent = repsum_limb_spacing * (sum.m - 3 + static_cast<int>(i));
    total = nearest.pinned(total + std::ldexp(nearest.pinned(limb), exponent));
  }
  return is_nan(std::bit_cast<std::uint64_t>(total)) ? std::bit_cast<double>(canonical_nan) : total;
}

namespace detail {

/// The conditions of one operand, see the second table of the file head.
struct RepsumConditions {
  bool overflow = false;
  bool inexact = false;
  std::uint8_t limb = 0; ///< number of the overflowed limb; 0 without one
};

inline RepsumConditions conditions_of(const Accumulator& acc) noexcept {
  return {acc.repsum_overflow, acc.repsum_inexact, acc.overflow_id};
}
inline RepsumConditions conditions_of(const Contribution& in) noexcept {
  const bool overflow = in.rc == ResultCode::int_overflow;
  const bool inexact = overflow || in.rc == ResultCode::repsum_inexact;
  return {overflow, inexact, static_cast<std::uint8_t>(overflow ? in.overflow_id & 3U : 0U)};
}
inline ResultCode code_beside_conditions(const Contribution& in) noexcept {
  return conditions_of(in).inexact ? ResultCode::success : in.rc;
}
inline void set_conditions(Accumulator& acc, const RepsumConditions& c) noexcept {
  acc.repsum_overflow = c.overflow;
  acc.repsum_inexact = c.inexact;
  acc.overflow_id = c.limb;
}
inline RepsumConditions both(const RepsumConditions& a, const RepsumConditions& b) noexcept {
  return {a.overflow || b.overflow, a.inexact || b.inexact, std::max(a.limb, b.limb)};
}
inline void raise_overflow(RepsumConditions& c, std::size_t limb) noexcept {
  c.overflow = true;
  c.inexact = true;
  c.limb = std::max(c.limb, static_cast<std::uint8_t>(limb));
}

/// larger + smaller, the smaller moved down `distance` limbs (1 or more).
inline wire::Payload add_moved(const wire::Payload& larger, const wire::Payload& smaller,
                               std::size_t distance, RepsumConditions& result) noexcept {
  wire::Payload sum = larger;
  for (std::size_t j = 0; j < 4; ++j) {
    if (j < distance) {
      result.inexact |= smaller[j] != 0;
      continue;
    }
    const std::uint64_t a = larger[j - distance];
    const std::uint64_t b = smaller[j];
    const std::uint64_t limb = a + b;
    sum[j - distance] = limb;
    if (((a ^ limb) & (b ^ limb)) >> 63 != 0) [[unlikely]] {
      raise_overflow(result, j - distance);
    }
  }
  return sum;
}

/// Requires that at least one operand is an infinity or a NaN.
inline void combine_specials(Accumulator& acc, const Contribution& in) noexcept {
  RepsumConditions result;
  result = is_repsum_special(acc.m) ? both(result, conditions_of(acc)) : result;
  result = is_repsum_special(in.m) ? both(result, conditions_of(in)) : result;
  set_conditions(acc, result);
  acc.payload = {};
  const std::int8_t larger = std::max(acc.m, in.m);
  const std::int8_t smaller = std::min(acc.m, in.m);
  if (larger == repsum_positive_infinity && smaller == repsum_negative_infinity) {
    acc.m = repsum_nan;
    acc.rc = worse(acc.rc, ResultCode::flt_invalid);
  } else {
    acc.m = larger;
  }
}

/// Operands of one M, by far the most frequent case.
inline void combine_aligned(Accumulator& acc, const Contribution& in) noexcept {
  RepsumConditions result = both(conditions_of(acc), conditions_of(in));
  LanePair wrapped[2]{};
  for (std::size_t i = 0; i < 2; ++i) {
    const LanePair sum =
        wrapping_sum(load_pair(&acc.payload[2 * i]), load_pair(&in.payload[2 * i]), wrapped[i]);
    store_pair(&acc.payload[2 * i], sum);
  }
  if (any_negative(wrapped[0] | wrapped[1])) [[unlikely]] {
    for (std::size_t limb = 0; limb < 4; ++limb) {
      if (wrapped[limb / 2][limb % 2] < 0) {
        raise_overflow(result, limb);
      }
    }
  }
  set_conditions(acc, result);
}

inline void combine_moved(Accumulator& acc, const Contribution& in) noexcept {
  const bool acc_larger = acc.m > in.m;
  const int difference = acc.m - in.m;
  const auto distance = static_cast<std::size_t>(acc_larger ? difference : -difference);
  RepsumConditions result = acc_larger ? conditions_of(acc) : conditions_of(in);
  const RepsumConditions smaller = acc_larger ? conditions_of(in) : conditions_of(acc);
  result.inexact |= smaller.inexact;
  if (smaller.overflow && smaller.limb >= distance) {
    result.overflow = true;
    result.limb = std::max(result.limb, static_cast<std::uint8_t>(smaller.limb - distance));
  }
  acc.payload = acc_larger ? add_moved(acc.payload, in.payload, distance, result)
                           : add_moved(in.payload, acc.payload, distance, result);
  acc.m = std::max(acc.m, in.m);
  set_conditions(acc, result);
}

} // namespace detail

/// Unpacks the code of the first contribution.
inline void admit_repsum(Accumulator& acc, const Contribution& in) noexcept {
  detail::set_conditions(acc, detail::conditions_of(in));
  acc.rc = detail::code_beside_conditions(in);
  if (is_repsum_special(in.m)) {
    acc.payload = {};
  }
}

inline void flt_repsum(Accumulator& acc, const Contribution& in) noexcept {
  acc.rc = worse(acc.rc, detail::code_beside_conditions(in));
  if (is_repsum_special(acc.m) || is_repsum_special(in.m)) [[unlikely]] {
    detail::combine_specials(acc, in);
  } else if (acc.m == in.m) [[likely]] {
    detail::combine_aligned(acc, in);
  } else {
    detail::combine_moved(acc, in);
  }
}

} // namespace tributary::reduce
