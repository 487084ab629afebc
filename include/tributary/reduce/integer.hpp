// BIT_AND, BIT_OR, BIT_XOR, INT_MIN, INT_MAX, INT_SUM on four lanes (wire-format.md, 4.1).
//
// The bitwise operators do not depend on how narrower integers are packed into the words. INT_MIN
// and INT_MAX compare signed. INT_SUM wraps modulo 2^64.
#pragma once

#include "tributary/reduce/lanes.hpp"
#include "tributary/wire/result_code.hpp"

namespace tributary::reduce {

using wire::ResultCode;

inline void bit_and(wire::Payload& acc, const wire::Payload& in) noexcept {
  for_each_pair(acc, in, [](LanePair a, LanePair b) { return a & b; });
}
inline void bit_or(wire::Payload& acc, const wire::Payload& in) noexcept {
  for_each_pair(acc, in, [](LanePair a, LanePair b) { return a | b; });
}
inline void bit_xor(wire::Payload& acc, const wire::Payload& in) noexcept {
  for_each_pair(acc, in, [](LanePair a, LanePair b) { return a ^ b; });
}
inline void int_min(wire::Payload& acc, const wire::Payload& in) noexcept {
  for_each_pair(acc, in, [](LanePair a, LanePair b) { return b < a ? b : a; });
}
inline void int_max(wire::Payload& acc, const wire::Payload& in) noexcept {
  for_each_pair(acc, in, [](LanePair a, LanePair b) { return b > a ? b : a; });
}

/// Wrapping sum with a mask whose lanes are negative if they wrapped: both operands had one sign
/// and the sum the other.
inline LanePair wrapping_sum(LanePair a, LanePair b, LanePair& wrapped) noexcept {
  const auto sum = (LanePair)((UnsignedLanePair)a + (UnsignedLanePair)b);
  wrapped |= (a ^ sum) & (b ^ sum);
  return sum;
}

/// Returns `int_overflow` if a lane wrapped.
inline ResultCode int_sum(wire::Payload& acc, const wire::Payload& in) noexcept {
  LanePair wrapped{};
  for_each_pair(acc, in,
                [&wrapped](LanePair a, LanePair b) { return wrapping_sum(a, b, wrapped); });
  return any_negative(wrapped) ? ResultCode::int_overflow : ResultCode::success;
}

} // namespace tributary::reduce
