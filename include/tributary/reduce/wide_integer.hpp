// BIT_*, INT_MIN, INT_MAX and INT_SUM on one element of a wide frame. Elements are signed, sums
// wrap at their width and raise int_overflow. Elements have the same width in frames and slots.
#pragma once

#include "tributary/reduce/wide_loops.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace tributary::reduce {

/// The common part of all integer operators: slots hold the same as frames.
template <typename Bits> struct WideInteger {
  using Element = Bits;
  using Slot = Bits;
  using Noted = Bits;
  using Environment = AnyState;
  static constexpr Flush flush = Flush::nothing;
  static constexpr bool copies_in = true;
  static constexpr bool copies_out = true;

  [[gnu::always_inline]] static constexpr Bits widen(Bits in, Noted&) { return in; }
  [[gnu::always_inline]] static constexpr Bits narrow(Bits slot, Noted&) { return slot; }
  [[gnu::always_inline]] static constexpr ResultCode code_of(Noted) { return ResultCode::success; }
};

/// The bitwise operators do not depend on the width of elements, so they work on bytes.
struct WideAnd : WideInteger<std::uint8_t> {
  explicit constexpr WideAnd(WideOperation) {}
  [[gnu::always_inline]] static constexpr std::uint8_t combine(std::uint8_t a, std::uint8_t b,
                                                               Noted&) {
    return a & b;
  }
};
struct WideOr : WideInteger<std::uint8_t> {
  explicit constexpr WideOr(WideOperation) {}
  [[gnu::always_inline]] static constexpr std::uint8_t combine(std::uint8_t a, std::uint8_t b,
                                                               Noted&) {
    return a | b;
  }
};
struct WideXor : WideInteger<std::uint8_t> {
  explicit constexpr WideXor(WideOperation) {}
  [[gnu::always_inline]] static constexpr std::uint8_t combine(std::uint8_t a, std::uint8_t b,
                                                               Noted&) {
    return a ^ b;
  }
};

template <typename Bits> struct WideIntMin : WideInteger<Bits> {
  explicit constexpr WideIntMin(WideOperation) {}
  [[gnu::always_inline]] static constexpr Bits combine(Bits a, Bits b, Bits&) {
    using Signed = std::make_signed_t<Bits>;
    return static_cast<Signed>(b) < static_cast<Signed>(a) ? b : a;
  }
};
template <typename Bits> struct WideIntMax : WideInteger<Bits> {
  explicit constexpr WideIntMax(WideOperation) {}
  [[gnu::always_inline]] static constexpr Bits combine(Bits a, Bits b, Bits&) {
    using Signed = std::make_signed_t<Bits>;
    return static_cast<Signed>(b) > static_cast<Signed>(a) ? b : a;
  }
};

template <typename Bits> struct WideIntSum : WideInteger<Bits> {
  explicit constexpr WideIntSum(WideOperation) {}
  /// Sets the sign bit if both operands have one sign and the sum the other.
  [[gnu::always_inline]] static constexpr Bits combine(Bits a, Bits b, Bits& wrapped) {
    const auto sum = static_cast<Bits>(a + b);
    wrapped = static_cast<Bits>(wrapped | ((a ^ sum) & (b ^ sum)));
    return sum;
  }
  [[gnu::always_inline]] static constexpr ResultCode code_of(Bits wrapped) {
    return wrapped >> (std::numeric_limits<Bits>::digits - 1) != 0 ? ResultCode::int_overflow
                                                                   : ResultCode::success;
  }
};

} // namespace tributary::reduce
