// FLT_SUM of binary16 and bfloat16 on one element of a wide frame. The slot holds binary32: widening
// is exact, additions are rounded as the opcode says, and so is the narrowing when the frame leaves.
//
// Narrowing is where the code may get flt_inexact and flt_overflow, and what a flush-to-zero opcode
// flushes. Overflow is, as for additions, that the value rounded without a bound of the exponent is
// larger than the largest finite one; it becomes that or infinity, by the mode and the sign.
//
//   bfloat16   the upper half of a binary32. To the lower half is added what makes it carry where the
//              mode rounds away from zero, and then it is cut off.
//   binary16   the processor rounds: x + 2^(e + 13), for x of exponent e and both of one sign, is a
//              number whose last place is that of a binary16 of exponent e. Its distance to the second
//              operand, counted in bit patterns, is the fraction. Below the normal numbers e stays
//              -14. With F16C this is one instruction, see wide_half_sum.hpp.
#pragma once

#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tributary::reduce {

namespace detail {

/// What narrowing notes, one bit each.
inline constexpr std::uint32_t noted_invalid = 1;
inline constexpr std::uint32_t noted_overflow = 2;
inline constexpr std::uint32_t noted_inexact = 4;

constexpr bool rounds_up_from(Rounding rounding, bool negative) {
  return rounding == (negative ? Rounding::downward : Rounding::upward);
}

} // namespace detail

class Bfloat16Narrowing {
public:
  using Format = Bfloat16;

  explicit constexpr Bfloat16Narrowing(Opcode op)
      : flush_(wire::flushes_to_zero(op)), nearest_(rounding_of(op) == Rounding::nearest ? 1 : 0),
        carry_(carry_for(op, false)), negative_carry_(carry_for(op, true)) {}

  [[gnu::always_inline]] static constexpr std::uint32_t widen(std::uint16_t in) {
    return std::uint32_t{in} << 16;
  }
  /// Infinities and the canonical NaN have nothing in the lower half, and stay what they are.
  [[gnu::always_inline]] constexpr std::uint16_t narrow(std::uint32_t v,
                                                        std::uint32_t& noted) const {
    const std::uint32_t carry =
        (static_cast<std::int32_t>(v) < 0 ? negative_carry_ : carry_) + ((v >> 16) & nearest_);
    const std::uint32_t rounded = (v + carry) >> 16;
    const bool inexact = (v & 0xFFFF) != 0;
    const std::uint32_t magnitude = rounded & Format::magnitude;
    noted |= inexact ? detail::noted_inexact : 0;
    noted |= (inexact & (magnitude == Format::infinity)) ? detail::noted_overflow : 0;
    const bool flushed = flush_ & (magnitude - 1 < Format::least_normal - 1U);
    noted |= flushed ? detail::noted_inexact : 0;
    return static_cast<std::uint16_t>(flushed ? rounded & Format::sign : rounded);
  }

private:
  static constexpr std::uint32_t carry_for(Opcode op, bool negative) {
    return wire::rounding_of(op) == Rounding::nearest                ? 0x7FFF
           : detail::rounds_up_from(wire::rounding_of(op), negative) ? 0xFFFF
                                                                     : 0;
  }

  bool flush_;
  std::uint32_t nearest_; ///< ties go to even: an odd last place gets one more
  std::uint32_t carry_;
  std::uint32_t negative_carry_;
};

class Binary16Narrowing {
public:
  using Format = Binary16;

  explicit constexpr Binary16Narrowing(Opcode op)
      : flush_(wire::flushes_to_zero(op)), beyond_(beyond_for(op, false)),
        negative_beyond_(beyond_for(op, true)) {}

  [[gnu::always_inline]] static constexpr std::uint32_t widen(std::uint16_t in) {
    const std::uint32_t magnitude = in & Format::magnitude;
    const std::uint32_t sign = (std::uint32_t{in} & Format::sign) << 16;
    const std::uint32_t rebias = magnitude >= Format::infinity ? 224U << 23 : 112U << 23;
    const auto small = std::bit_cast<std::uint32_t>(
        static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
    return sign | (magnitude < Format::least_normal ? small : (magnitude << 13) + rebias);
  }
  /// Rounds as the processor is told to, and leaves inexact to its flag.
  [[gnu::always_inline]] constexpr std::uint16_t narrow(std::uint32_t v,
                                                        std::uint32_t& noted) const {
    constexpr std::uint32_t least_exponent = 113U << 23; // that of 2^-14
    constexpr std::uint32_t beyond_all = 143U << 23;     // 2^16 and its exponent
    const std::uint32_t magnitude = v & Binary32::magnitude;
    std::uint32_t exponent = v & Binary32::infinity;
    exponent = exponent < least_exponent ? least_exponent : exponent;
    exponent = exponent > beyond_all ? beyond_all : exponent;
    const std::uint32_t aligner = (exponent + (13U << 23)) | (v & Binary32::sign);
    const float aligned = std::bit_cast<float>(v) + std::bit_cast<float>(aligner);
    const std::uint32_t places = std::bit_cast<std::uint32_t>(aligned) - aligner;
    std::uint32_t result = places + ((exponent - least_exponent) >> 13);

    const bool too_large = (magnitude >= beyond_all) | (result >= Format::infinity);
    const bool finite = magnitude < Binary32::infinity;
    const std::uint32_t beyond = static_cast<std::int32_t>(v) < 0 ? negative_beyond_ : beyond_;
    noted |= (too_large & finite) ? detail::noted_overflow : 0;
    result = too_large ? (finite ? beyond : Format::infinity) : result;
    const bool flushed = flush_ & (result - 1 < Format::least_normal - 1U);
    noted |= flushed ? detail::noted_inexact : 0;
    result = (flushed ? 0 : result) | ((v >> 16) & Format::sign);
    return static_cast<std::uint16_t>(magnitude > Binary32::infinity ? Format::canonical_nan
                                                                     : result);
  }

private:
  static constexpr std::uint32_t beyond_for(Opcode op, bool negative) {
    const Rounding rounding = wire::rounding_of(op);
    const bool to_infinity =
        rounding == Rounding::nearest || detail::rounds_up_from(rounding, negative);
    return Format::infinity - (to_infinity ? 0U : 1U);
  }

  bool flush_;
  std::uint32_t beyond_; ///< what a finite value becomes that is too large
  std::uint32_t negative_beyond_;
};

template <typename Narrowing, typename Sums> class WideNarrowSum {
public:
  using Format = typename Narrowing::Format;
  using Element = std::uint16_t;
  using Slot = std::uint32_t;
  using Noted = std::uint32_t;
  using Environment = Sums;
  static constexpr Flush flush = Flush::nothing;
  static constexpr bool copies = false;

  explicit constexpr WideNarrowSum(WideOperation operation) : narrowing_(operation.op) {}

  [[gnu::always_inline]] static constexpr Slot widen(Element in, Noted& noted) {
    noted |= Format::is_signalling(in) ? detail::noted_invalid : 0;
    return Format::is_nan(in) ? Binary32::canonical_nan : Narrowing::widen(in);
  }
  [[gnu::always_inline]] static constexpr Slot combine(Slot a, Element b, Noted&) {
    const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(Narrowing::widen(b));
    return std::isnan(sum) ? Binary32::canonical_nan : std::bit_cast<std::uint32_t>(sum);
  }
  [[gnu::always_inline]] constexpr Element narrow(Slot slot, Noted& noted) const {
    return narrowing_.narrow(slot, noted);
  }
  [[gnu::always_inline]] static constexpr ResultCode code_of(Noted noted) {
    return detail::code_of_flags((noted & detail::noted_invalid) != 0,
                                 (noted & detail::noted_overflow) != 0,
                                 (noted & detail::noted_inexact) != 0);
  }

private:
  Narrowing narrowing_;
};

} // namespace tributary::reduce
