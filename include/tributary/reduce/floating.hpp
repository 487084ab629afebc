// NaNs, and FLT_MIN, FLT_MAX, FLT_MINNUM, FLT_MAXNUM on four lanes (wire-format.md, 4.2 to 4.5).
//
// A NaN has all exponent bits set and a fraction other than zero; it is signalling if bit 51 is
// clear. The engine stores only one NaN, the canonical quiet one, 0x7FF8000000000000: each received
// NaN is converted to it, and a signalling one raises flt_invalid.
//
//   pair             FLT_MIN, FLT_MAX   MINNUM, MAXNUM associative   MINNUM, MAXNUM IEEE
//   number, number   smaller, larger    same                         same
//   qNaN, number     NaN                number                       number
//   sNaN, number     NaN, rc 4          number, rc 4                 NaN, rc 4
//   qNaN, qNaN       NaN                NaN                          NaN
//   sNaN, any NaN    NaN, rc 4          NaN, rc 4                    NaN, rc 4
//
// Doubles are compared as integers. A double's bits, with all but the sign inverted when it is
// negative, order as two's complement in the order of the numbers, and put
//
//   -NaN < -Inf < ... < -0 < +0 < ... < +Inf < canonical NaN
//
// So -0 is the minimum and +0 the maximum of two zeros, in any order, as section 4.5 requires; the
// canonical NaN wins a maximum and loses a minimum without special cases; and neither
// flush-to-zero, denormals-are-zero nor an unmasked exception of the calling thread can change a
// result.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/lanes.hpp"
#include "tributary/wire/result_code.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::reduce {

using wire::ResultCode;

inline constexpr std::uint64_t canonical_nan = 0x7FF8'0000'0000'0000;
inline constexpr std::uint64_t float_sign = 0x8000'0000'0000'0000;
inline constexpr std::uint64_t float_infinity = 0x7FF0'0000'0000'0000;
inline constexpr std::uint64_t float_quiet_bit = 0x0008'0000'0000'0000;

constexpr bool is_nan(std::uint64_t bits) { return (bits & ~float_sign) > float_infinity; }
constexpr bool is_signalling_nan(std::uint64_t bits) {
  return is_nan(bits) && (bits & float_quiet_bit) == 0;
}
/// Key for comparing two doubles, see the file head. Total, and distinguishes the zeros.
constexpr std::int64_t order_of(std::uint64_t bits) {
  const auto negative = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
  return static_cast<std::int64_t>(bits ^ (negative >> 1));
}

inline LanePair pair_of(std::uint64_t bits) noexcept {
  return (LanePair)UnsignedLanePair{bits, bits};
}
inline LanePair nan_lanes(LanePair v) noexcept {
  return (v & pair_of(~float_sign)) > pair_of(float_infinity);
}
/// Among lanes known to be NaN, the signalling ones.
inline LanePair signalling_among(LanePair nans, LanePair v) noexcept {
  return nans & ((v & pair_of(float_quiet_bit)) == LanePair{});
}
inline LanePair order_of(LanePair v) noexcept {
  const auto negative = (UnsignedLanePair)(v < LanePair{});
  return v ^ (LanePair)(negative >> 1);
}

/// Makes every NaN of the lanes in `values` canonical, as the first operand of a float operator.
/// Records which of them were signalling, and raises flt_invalid for those.
inline void admit_floats(Accumulator& acc, LanePair values) noexcept {
  LanePair signalling[2];
  for (std::size_t i = 0; i < 2; ++i) {
    std::uint64_t* const words = &acc.payload[2 * i];
    const LanePair v = load_pair(words);
    const LanePair nans = nan_lanes(v) & values;
    signalling[i] = signalling_among(nans, v);
    store_pair(words, nans ? pair_of(canonical_nan) : v);
  }
  if (any(signalling[0] | signalling[1])) [[unlikely]] {
    acc.rc = worse(acc.rc, ResultCode::flt_invalid);
    acc.signalling_lanes =
        static_cast<std::uint8_t>((signalling[0][0] & 1) | (signalling[0][1] & 2) |
                                  (signalling[1][0] & 4) | (signalling[1][1] & 8));
  }
}

namespace detail {

/// The common part of all four operators. `in_wins(a, b, a_is_nan, b_is_nan)` returns the lanes in
/// which the contribution replaces the accumulator's value; it receives canonical NaNs only.
template <typename InWins>
inline void float_extreme(Accumulator& acc, const Contribution& in, bool signalling_wins,
                          InWins in_wins) noexcept {
  LanePair signalled{};
  for (std::size_t i = 0; i < 4; i += 2) {
    const LanePair canonical = pair_of(canonical_nan);
    const LanePair a = load_pair(&acc.payload[i]);
    LanePair b = load_pair(&in.payload[i]);
    const LanePair b_nan = nan_lanes(b);
    LanePair signalling = signalling_among(b_nan, b);
    signalled |= signalling;
    b = b_nan ? canonical : b;
    LanePair result = in_wins(a, b, a == canonical, b_nan) ? b : a;
    if (signalling_wins) {
      const LanePair was_signalling{-((acc.signalling_lanes >> i) & 1),
                                    -((acc.signalling_lanes >> (i + 1)) & 1)};
      result = (signalling | was_signalling) ? canonical : result;
    }
    store_pair(&acc.payload[i], result);
  }
  acc.signalling_lanes = 0;
  if (any(signalled)) [[unlikely]] {
    acc.rc = worse(acc.rc, ResultCode::flt_invalid);
  }
}

} // namespace detail

/// The smaller; a NaN wins.
template <> struct Kernel<Opcode::flt_min> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode) noexcept {
    detail::float_extreme(acc, in, false,
                          [](LanePair a, LanePair b, LanePair a_nan, LanePair b_nan) {
                            return ((order_of(b) < order_of(a)) & ~a_nan) | b_nan;
                          });
  }
};
/// The larger; a NaN wins.
template <> struct Kernel<Opcode::flt_max> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode) noexcept {
    detail::float_extreme(acc, in, false, [](LanePair a, LanePair b, LanePair, LanePair) {
      return order_of(b) > order_of(a);
    });
  }
};
/// The smaller number; a NaN loses, unless it is a signalling one in IEEE mode.
template <> struct Kernel<Opcode::flt_minnum> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode mode) noexcept {
    detail::float_extreme(
        acc, in, mode == NanMode::ieee,
        [](LanePair a, LanePair b, LanePair, LanePair) { return order_of(b) < order_of(a); });
  }
};
/// The larger number; a NaN loses, unless it is a signalling one in IEEE mode.
template <> struct Kernel<Opcode::flt_maxnum> {
  static void combine(Accumulator& acc, const Contribution& in, NanMode mode) noexcept {
    detail::float_extreme(acc, in, mode == NanMode::ieee,
                          [](LanePair a, LanePair b, LanePair a_nan, LanePair b_nan) {
                            return ((order_of(b) > order_of(a)) & ~b_nan) | a_nan;
                          });
  }
};

} // namespace tributary::reduce
