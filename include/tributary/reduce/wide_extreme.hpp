// FLT_MIN, FLT_MAX, FLT_MINNUM and FLT_MAXNUM on one element of a wide frame: the rules are those of
// floating.hpp, for every format.
//
// All of them are one rule, the smaller key wins:
//
//   operator  key of a number    key of a NaN
//   FLT_MIN   its order          less than any number's
//   FLT_MAX   its order, ~       less than any number's
//   MINNUM    its order          greater than any number's
//   MAXNUM    its order, ~       greater than any number's
//
// where the order is that of the bits as a signed integer, all but the sign inverted in negative
// ones, and ~ reverses it. So one loop serves the four, which costs two instructions in it and
// leaves a quarter of the code.
//
// Beside that, in IEEE mode, a signalling NaN makes MINNUM and MAXNUM a NaN. The first contribution
// could still meet a number as a signalling NaN, so in this mode `begin` leaves those as they are.
#pragma once

#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <limits>

namespace tributary::reduce {

template <typename Format> class WideExtreme {
public:
  using Bits = typename Format::Bits;
  using Element = Bits;
  using Slot = Bits;
  using Noted = Bits;
  using Environment = AnyState;
  static constexpr Flush flush = Flush::nothing;
  static constexpr bool copies = false;

  explicit constexpr WideExtreme(WideOperation operation) {
    const Opcode op = operation.op;
    const bool maximum = op == Opcode::flt_max || op == Opcode::flt_maxnum;
    const bool number_wins = op == Opcode::flt_minnum || op == Opcode::flt_maxnum;
    reversed_ = maximum ? Order{-1} : Order{0};
    nan_key_ = number_wins ? std::numeric_limits<Order>::max() : std::numeric_limits<Order>::min();
    signalling_wins_ = number_wins && operation.nan_mode == NanMode::ieee
                           ? std::numeric_limits<Bits>::max()
                           : Bits{0};
  }

  [[gnu::always_inline]] constexpr Bits widen(Bits in, Bits& signalled) const {
    const Bits signalling = signalling_mask(in);
    signalled |= signalling;
    return (signalling & signalling_wins_) != 0 ? in : Format::canonical(in);
  }
  [[gnu::always_inline]] constexpr Bits combine(Bits a, Bits b, Bits& signalled) const {
    const Bits signalling = signalling_mask(b);
    signalled |= signalling;
    const Bits winner = key_of(b) < key_of(a) ? Format::canonical(b) : a;
    const auto made_nan = static_cast<Bits>((signalling | signalling_mask(a)) & signalling_wins_);
    return made_nan != 0 ? Format::canonical_nan : winner;
  }
  [[gnu::always_inline]] static constexpr Bits narrow(Bits slot, Bits&) {
    return Format::canonical(slot);
  }
  [[gnu::always_inline]] static constexpr ResultCode code_of(Bits signalled) {
    return signalled != 0 ? ResultCode::flt_invalid : ResultCode::success;
  }

private:
  using Order = typename Format::Order;

  [[gnu::always_inline]] static constexpr Bits signalling_mask(Bits v) {
    return Format::is_signalling(v) ? std::numeric_limits<Bits>::max() : Bits{0};
  }
  [[gnu::always_inline]] constexpr Order key_of(Bits v) const {
    const auto key = static_cast<Order>(Format::order_of(v) ^ reversed_);
    return Format::is_nan(v) ? nan_key_ : key;
  }

  Order reversed_;
  Order nan_key_;
  Bits signalling_wins_;
};

} // namespace tributary::reduce
