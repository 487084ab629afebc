// BIT_AND, BIT_OR, BIT_XOR, INT_MIN, INT_MAX, INT_SUM (wire-format.md, 4.1).
//
// Each operator is a function on one value, V: two lanes of the 84-byte frame, an element of a wide
// frame (wide_integer.hpp), or one of a program (endpoint/mpi/model/arithmetic.cpp). So `combine`
// has to mean the same for signed integers of every width, for vectors of them, and, in a program,
// for unsigned ones.
//
// The bitwise operators do not depend on how narrower integers are packed into the words. INT_SUM
// wraps modulo 2^width.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/lanes.hpp"
#include "tributary/wire/result_code.hpp"

#include <type_traits>

namespace tributary::reduce {

using wire::ResultCode;

/// The unsigned type of the same width, in which sums wrap.
template <typename V> struct UnsignedOf : std::make_unsigned<V> {};
template <> struct UnsignedOf<LanePair> { using type = UnsignedLanePair; };

/// Wrapping sum. Makes `wrapped` negative where it wrapped: both operands had one sign and the sum
/// the other.
template <typename V> [[gnu::always_inline]] constexpr V wrapping_sum(V a, V b, V& wrapped) {
  using Unsigned = typename UnsignedOf<V>::type;
  const auto sum = (V)((Unsigned)a + (Unsigned)b);
  wrapped = (V)(wrapped | ((a ^ sum) & (b ^ sum)));
  return sum;
}

// `overflowed` becomes negative where a result does not fit; only if `overflows`.

struct BitAnd {
  static constexpr bool overflows = false;
  template <typename V> [[gnu::always_inline]] static constexpr V combine(V a, V b, V&) {
    return (V)(a & b);
  }
};
struct BitOr {
  static constexpr bool overflows = false;
  template <typename V> [[gnu::always_inline]] static constexpr V combine(V a, V b, V&) {
    return (V)(a | b);
  }
};
struct BitXor {
  static constexpr bool overflows = false;
  template <typename V> [[gnu::always_inline]] static constexpr V combine(V a, V b, V&) {
    return (V)(a ^ b);
  }
};
struct IntMin {
  static constexpr bool overflows = false;
  template <typename V> [[gnu::always_inline]] static constexpr V combine(V a, V b, V&) {
    return b < a ? b : a;
  }
};
struct IntMax {
  static constexpr bool overflows = false;
  template <typename V> [[gnu::always_inline]] static constexpr V combine(V a, V b, V&) {
    return b > a ? b : a;
  }
};
struct IntSum {
  static constexpr bool overflows = true;
  template <typename V> [[gnu::always_inline]] static constexpr V combine(V a, V b, V& overflowed) {
    return wrapping_sum(a, b, overflowed);
  }
};

/// Combines four lanes with an operator's function; int_overflow if one of them overflowed.
template <typename F> struct IntegerKernel {
  using Function = F;
  static void combine(Accumulator& acc, const Contribution& in, NanMode) noexcept {
    LanePair overflowed{};
    for_each_pair(acc.payload, in.payload,
                  [&overflowed](LanePair a, LanePair b) { return F::combine(a, b, overflowed); });
    if (F::overflows && any_negative(overflowed)) [[unlikely]] {
      acc.rc = worse(acc.rc, ResultCode::int_overflow);
    }
  }
};

template <> struct Kernel<Opcode::bit_and> : IntegerKernel<BitAnd> {};
template <> struct Kernel<Opcode::bit_or> : IntegerKernel<BitOr> {};
template <> struct Kernel<Opcode::bit_xor> : IntegerKernel<BitXor> {};
template <> struct Kernel<Opcode::int_min> : IntegerKernel<IntMin> {};
template <> struct Kernel<Opcode::int_max> : IntegerKernel<IntMax> {};
template <> struct Kernel<Opcode::int_sum> : IntegerKernel<IntSum> {};

} // namespace tributary::reduce
