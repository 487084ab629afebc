// The operators of integer.hpp on one element of a wide frame. Elements have the same width in
// frames and slots, and are signed; the bitwise operators do not depend on the width, so they work
// on bytes.
#pragma once

#include "tributary/reduce/integer.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <type_traits>

namespace tributary::reduce {

template <typename Function, typename Bits> struct WideInteger {
  using Element = Bits;
  using Slot = Bits;
  using Noted = std::make_signed_t<Bits>; ///< negative if an element overflowed
  using Environment = AnyState;
  static constexpr Flush flush = Flush::nothing;
  static constexpr bool copies_in = true;
  static constexpr bool copies_out = true;

  explicit constexpr WideInteger(WideOperation) {}

  [[gnu::always_inline]] static constexpr Bits widen(Bits in, Noted&) { return in; }
  [[gnu::always_inline]] static constexpr Bits combine(Bits a, Bits b, Noted& noted) {
    return static_cast<Bits>(
        Function::combine(static_cast<Noted>(a), static_cast<Noted>(b), noted));
  }
  [[gnu::always_inline]] static constexpr Bits narrow(Bits slot, Noted&) { return slot; }
  [[gnu::always_inline]] static constexpr ResultCode code_of(Noted noted) {
    return Function::overflows && noted < 0 ? ResultCode::int_overflow : ResultCode::success;
  }
};

} // namespace tributary::reduce
