// FLT_SUM of binary16 and bfloat16 on one element of a wide frame. The slot holds binary32:
// widening is exact, additions are rounded as the opcode says, and so is the narrowing when the
// frame leaves.
//
// Narrowing may raise flt_inexact and flt_overflow, and is where a flush-to-zero opcode flushes.
// Overflow means, as for additions, that the value rounded without a bound of the exponent is
// larger than the largest finite one; it becomes that or infinity, by the mode and the sign.
//
//   bfloat16   the upper half of a binary32. A value is added to the lower half that makes it carry
//              if the mode rounds away from zero, and then the lower half is cut off.
//   binary16   the processor rounds: x + 2^(e + 13), for x of exponent e and both of one sign, is a
//              number whose last place is that of a binary16 of exponent e. Its distance to the
//              second operand, counted in bit patterns, is the fraction. Below the normal numbers e
//              stays -14. With F16C this is one instruction, see wide_half_sum.hpp.
//
// The notes of an element are computed from its bits by arithmetic, without comparisons, and so are
// selections between values of which one is a float: gcc makes branches of those, and then does not
// vectorise the loop.
#pragma once

#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tributary::reduce {

namespace detail {

/// Notes of elements: whether any has set the highest bit. The other bits are left unmasked, since
/// clang does not recognise the OR reduction if it knows some of the bits.
struct NarrowingNotes {
  std::uint32_t overflow = 0;
  std::uint32_t invalid = 0;
  std::uint32_t inexact = 0;
};

/// The highest bit is set if a < b; both must be less than 2^31.
[[gnu::always_inline]] constexpr std::uint32_t less(std::uint32_t a, std::uint32_t b) {
  return a - b;
}

/// All bits set if the highest bit of a condition is set.
[[gnu::always_inline]] constexpr std::uint32_t mask_of(std::uint32_t condition) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(condition) >> 31);
}
[[gnu::always_inline]] constexpr std::uint32_t chosen(std::uint32_t condition, std::uint32_t yes,
                                                      std::uint32_t no) {
  return no ^ ((yes ^ no) & mask_of(condition));
}

constexpr bool rounds_away(Rounding rounding, bool negative) {
  return rounding == (negative ? Rounding::downward : Rounding::upward);
}

} // namespace detail

class Bfloat16Narrowing {
public:
  using Format = Bfloat16;

  explicit constexpr Bfloat16Narrowing(Opcode op)
      : flushed_below_(wire::flushes_to_zero(op) ? Format::least_normal : 0U),
        nearest_(rounding_of(op) == Rounding::nearest ? 1 : 0), carry_(carry_for(op, false)),
        negative_carry_(carry_for(op, true)) {}

  [[gnu::always_inline]] static constexpr std::uint32_t widen(std::uint16_t in) {
    return std::uint32_t{in} << 16;
  }
  /// Infinities and the canonical NaN have a zero lower half, and stay unchanged.
  [[gnu::always_inline]] constexpr std::uint16_t narrow(std::uint32_t v,
                                                        detail::NarrowingNotes& noted) const {
    const std::uint32_t carry = detail::chosen(v, negative_carry_, carry_) + ((v >> 16) & nearest_);
    const std::uint32_t rounded = (v + carry) >> 16;
    const std::uint32_t magnitude = rounded & Format::magnitude;
    const std::uint32_t flushed = magnitude & detail::mask_of(is_flushed(magnitude));
    const std::uint32_t became_infinite =
        detail::less(v & Binary32::magnitude, Binary32::infinity) &
        ~detail::less(magnitude, Format::infinity);
    noted.overflow |= became_infinite;
    noted.inexact |= detail::less(0, v & 0xFFFF) | is_flushed(magnitude);
    return static_cast<std::uint16_t>(rounded ^ flushed);
  }

private:
  [[gnu::always_inline]] constexpr std::uint32_t is_flushed(std::uint32_t magnitude) const {
    return detail::less(0, magnitude) & detail::less(magnitude, flushed_below_);
  }
  static constexpr std::uint32_t carry_for(Opcode op, bool negative) {
    const Rounding rounding = wire::rounding_of(op);
    return rounding == Rounding::nearest             ? 0x7FFF
           : detail::rounds_away(rounding, negative) ? 0xFFFF
                                                     : 0;
  }

  std::uint32_t flushed_below_;
  std::uint32_t nearest_; ///< ties go to even: an odd last place gets one more
  std::uint32_t carry_;
  std::uint32_t negative_carry_;
};

class Binary16Narrowing {
public:
  using Format = Binary16;

  explicit constexpr Binary16Narrowing(Opcode op)
      : flushed_below_(wire::flushes_to_zero(op) ? Format::least_normal : 0U),
        beyond_(beyond_for(op, false)), negative_beyond_(beyond_for(op, true)) {}

  [[gnu::always_inline]] static constexpr std::uint32_t widen(std::uint16_t in) {
    const std::uint32_t magnitude = in & Format::magnitude;
    const std::uint32_t sign = (std::uint32_t{in} & Format::sign) << 16;
    const std::uint32_t rebias = magnitude < Format::infinity ? 112U << 23 : 224U << 23;
    const std::uint32_t normal = (magnitude << 13) + rebias;
    const auto subnormal = std::bit_cast<std::uint32_t>(
        static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
    return sign | detail::chosen(detail::less(magnitude, Format::least_normal), subnormal, normal);
  }
  /// Rounds in the processor's current mode, which raises inexact in its flags.
  [[gnu::always_inline]] constexpr std::uint16_t narrow(std::uint32_t v,
                                                        detail::NarrowingNotes& noted) const {
    constexpr std::uint32_t least_exponent = 113U << 23; // that of 2^-14
    constexpr std::uint32_t beyond_all = 143U << 23;     // 2^16, and its exponent
    const std::uint32_t magnitude = v & Binary32::magnitude;
    std::uint32_t exponent = v & Binary32::infinity;
    exponent = exponent < least_exponent ? least_exponent : exponent;
    exponent = exponent > beyond_all ? beyond_all : exponent;
    const std::uint32_t aligner = (exponent + (13U << 23)) | (v & Binary32::sign);
    const float aligned = std::bit_cast<float>(v) + std::bit_cast<float>(aligner);
    const std::uint32_t places = std::bit_cast<std::uint32_t>(aligned) - aligner;
    const std::uint32_t rounded = places + ((exponent - least_exponent) >> 13);

    const std::uint32_t fits =
        detail::less(magnitude, beyond_all) & detail::less(rounded, Format::infinity);
    const std::uint32_t finite = detail::less(magnitude, Binary32::infinity);
    const std::uint32_t nan = detail::less(Binary32::infinity, magnitude);
    const std::uint32_t beyond = detail::chosen(v, negative_beyond_, beyond_);
    const std::uint32_t special = detail::chosen(nan, Format::canonical_nan, Format::infinity);
    const std::uint32_t too_large = detail::chosen(finite, beyond, special);
    const std::uint32_t result = detail::chosen(fits, rounded, too_large);
    const std::uint32_t flushed = result & detail::mask_of(is_flushed(result));
    noted.overflow |= ~fits & finite;
    noted.inexact |= is_flushed(result);
    const std::uint32_t sign = (v >> 16) & Format::sign & ~detail::mask_of(nan);
    return static_cast<std::uint16_t>(sign | (result ^ flushed));
  }

private:
  [[gnu::always_inline]] constexpr std::uint32_t is_flushed(std::uint32_t magnitude) const {
    return detail::less(0, magnitude) & detail::less(magnitude, flushed_below_);
  }
  static constexpr std::uint32_t beyond_for(Opcode op, bool negative) {
    const Rounding rounding = wire::rounding_of(op);
    const bool to_infinity =
        rounding == Rounding::nearest || detail::rounds_away(rounding, negative);
    return Format::infinity - (to_infinity ? 0U : 1U);
  }

  std::uint32_t flushed_below_;
  std::uint32_t beyond_; ///< result for a finite value that is too large
  std::uint32_t negative_beyond_;
};

template <typename Narrowing, typename Sums> class WideNarrowSum {
public:
  using Format = typename Narrowing::Format;
  using Element = std::uint16_t;
  using Slot = std::uint32_t;
  using Noted = detail::NarrowingNotes;
  using Environment = Sums;
  static constexpr Flush flush = Flush::nothing;
  static constexpr bool copies_in = false;
  static constexpr bool copies_out = false;

  explicit constexpr WideNarrowSum(WideOperation operation) : narrowing_(operation.op) {}

  [[gnu::always_inline]] static constexpr Slot widen(Element in, Noted& noted) {
    const std::uint32_t magnitude = in & Format::magnitude;
    const std::uint32_t signalling =
        detail::less(Format::infinity, magnitude) & detail::less(magnitude, Format::canonical_nan);
    noted.invalid |= signalling;
    return detail::chosen(detail::less(Format::infinity, magnitude), Binary32::canonical_nan,
                          Narrowing::widen(in));
  }
  [[gnu::always_inline]] static constexpr Slot combine(Slot a, Element b, Noted&) {
    const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(Narrowing::widen(b));
    return std::isnan(sum) ? Binary32::canonical_nan : std::bit_cast<std::uint32_t>(sum);
  }
  [[gnu::always_inline]] constexpr Element narrow(Slot slot, Noted& noted) const {
    return narrowing_.narrow(slot, noted);
  }
  [[gnu::always_inline]] static constexpr ResultCode code_of(const Noted& noted) {
    return detail::code_of_flags(detail::mask_of(noted.invalid) != 0,
                                 detail::mask_of(noted.overflow) != 0,
                                 detail::mask_of(noted.inexact) != 0);
  }

private:
  Narrowing narrowing_;
};

} // namespace tributary::reduce
