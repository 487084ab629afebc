// FLT_SUM of binary64 and binary32 on one element of a wide frame: one IEEE addition in the
// opcode's rounding (wire-format.md, 4.6). The code comes from the processor's sticky flags, see
// sum_environment.hpp; `begin` does not add, so it checks for signalling NaNs itself.
#pragma once

#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/wide_loops.hpp"

#include <bit>
#include <cmath>

namespace tributary::reduce {

template <typename Format, typename Sums> class WideSum {
public:
  using Bits = typename Format::Bits;
  using Element = Bits;
  using Slot = Bits;
  using Noted = Bits;
  using Environment = Sums;
  static constexpr Flush flush = Flush::results;
  static constexpr bool copies_in = false;
  static constexpr bool copies_out = true;

  explicit constexpr WideSum(WideOperation operation)
      : flushed_(!Sums::flushes && wire::flushes_to_zero(operation.op)) {}

  [[gnu::always_inline]] static constexpr Bits widen(Bits in, Bits& noted) {
    noted |= Format::is_signalling(in) ? signalling : Bits{0};
    return Format::canonical(in);
  }
  [[gnu::always_inline]] constexpr Bits combine(Bits a, Bits b, Bits& noted) const {
    using Real = typename Format::Real;
    const Real sum = std::bit_cast<Real>(a) + std::bit_cast<Real>(b);
    auto bits = std::bit_cast<Bits>(sum);
    if constexpr (!Sums::flushes) {
      const bool subnormal = flushed_ && Format::is_subnormal(bits);
      noted |= subnormal ? flushed : Bits{0};
      bits = subnormal ? bits & Format::sign : bits;
    }
    return std::isnan(sum) ? Format::canonical_nan : bits;
  }
  [[gnu::always_inline]] static constexpr Bits narrow(Bits slot, Bits&) { return slot; }
  [[gnu::always_inline]] static constexpr ResultCode code_of(Bits noted) {
    return detail::code_of_flags((noted & signalling) != 0, false, (noted & flushed) != 0);
  }

private:
  static constexpr Bits signalling = 1;
  static constexpr Bits flushed = 2;

  bool flushed_; ///< subnormal results were flushed, but not by the processor
};

} // namespace tributary::reduce
