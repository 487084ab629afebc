// FLT_MIN, FLT_MAX, FLT_MINNUM and FLT_MAXNUM on one element of a wide frame: the rules of
// floating.hpp, for every format.
//
// A slot holds keys instead of numbers, signed integers of the same width, and all four operators
// become one: the smaller key stays.
//
//   operator  key of a number   key of a NaN
//   FLT_MIN   its order         lowest
//   FLT_MAX   its order, ~      lowest
//   MINNUM    its order         highest
//   MAXNUM    its order, ~      highest
//
// The order is that of the bits as a signed integer, all but the sign inverted in negative numbers;
// ~ reverses it. Keys are converted back to numbers when a frame leaves. So a slot's own element
// costs only the comparison in the loop, and one loop serves four operators.
//
// In IEEE mode a signalling NaN makes MINNUM and MAXNUM a quiet NaN, which then loses to numbers.
// Its key is the lowest one, which is replaced by a quiet NaN's as soon as it has won.
#pragma once

#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <limits>

namespace tributary::reduce {

template <typename Format, NanMode mode> class WideExtreme {
public:
  using Bits = typename Format::Bits;
  using Element = Bits;
  using Slot = Bits;
  using Noted = Bits;
  using Environment = AnyState;
  static constexpr Flush flush = Flush::nothing;
  static constexpr bool copies_in = false;
  static constexpr bool copies_out = false;

  explicit constexpr WideExtreme(WideOperation operation) {
    const Opcode op = operation.op;
    const bool maximum = op == Opcode::flt_max || op == Opcode::flt_maxnum;
    const bool number_wins = op == Opcode::flt_minnum || op == Opcode::flt_maxnum;
    reversed_ = maximum ? Order{-1} : Order{0};
    nan_key_ = number_wins ? std::numeric_limits<Order>::max() : lowest;
    signalling_key_ = mode == NanMode::ieee ? lowest : nan_key_;
  }

  [[gnu::always_inline]] constexpr Slot widen(Element in, Noted& noted) const {
    return static_cast<Slot>(key_of(in, noted));
  }
  [[gnu::always_inline]] constexpr Slot combine(Slot slot, Element in, Noted& noted) const {
    const Order a = static_cast<Order>(slot);
    const Order b = key_of(in, noted);
    Order winner = b < a ? b : a;
    if constexpr (mode == NanMode::ieee) {
      winner = winner == lowest ? nan_key_ : winner;
    }
    return static_cast<Slot>(winner);
  }
  [[gnu::always_inline]] constexpr Element narrow(Slot slot, Noted&) const {
    // Keys of NaNs come from bits that are NaNs.
    const auto order = static_cast<Bits>(static_cast<Order>(slot) ^ reversed_);
    return Format::canonical(static_cast<Bits>(Format::order_of(order)));
  }
  /// NaNs were noted inverted, so that the quiet bit is set if one was signalling.
  [[gnu::always_inline]] static constexpr ResultCode code_of(Noted noted) {
    return (noted & Format::quiet_bit) != 0 ? ResultCode::flt_invalid : ResultCode::success;
  }

private:
  using Order = typename Format::Order;
  static constexpr Order lowest = std::numeric_limits<Order>::min();

  [[gnu::always_inline]] constexpr Order key_of(Bits v, Noted& noted) const {
    const Order key = static_cast<Order>(Format::order_of(v) ^ reversed_);
    const Bits inverted_nan = Format::is_nan(v) ? static_cast<Bits>(~v) : Bits{0};
    noted = static_cast<Bits>(noted | inverted_nan);
    Order nan_key = nan_key_;
    if constexpr (mode == NanMode::ieee) {
      nan_key = (v & Format::quiet_bit) == 0 ? signalling_key_ : nan_key_;
    }
    return Format::is_nan(v) ? nan_key : key;
  }

  Order reversed_;
  Order nan_key_;
  Order signalling_key_;
};

} // namespace tributary::reduce
