// The padding of a wide frame after the last element of a vector, and the contents of a host's
// frame without data: the operator's identity (identity.hpp) in elements of the form.
//
//   operator                    integer                       floating
//   BIT_OR, BIT_XOR, INT_SUM    0
//   BIT_AND                     all ones
//   INT_MIN, INT_MAX            the highest, the lowest
//   FLT_MIN, FLT_MAX                                          +Inf, -Inf
//   FLT_MINNUM, FLT_MAXNUM                                    the quiet NaN
//   FLT_SUM                                                   -0, but +0 when rounding downward
//   MINMAXLOC, REPSUM           as in the 84-byte frame
#pragma once

#include "tributary/reduce/identity.hpp"
#include "tributary/reduce/repsum.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/form.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::reduce {

namespace detail {

/// Sign, exponent and quiet NaN of the floating type of a form.
struct FloatBits {
  std::uint64_t sign;
  std::uint64_t infinity;
  std::uint64_t nan;
};
constexpr FloatBits float_bits(wire::Form form) {
  switch (form) {
  case wire::Form::bits32: return {0x8000'0000, 0x7F80'0000, 0x7FC0'0000};
  case wire::Form::bits16: return {0x8000, 0x7C00, 0x7E00};
  case wire::Form::bfloat16: return {0x8000, 0x7F80, 0x7FC0};
  default: return {float_sign, float_infinity, canonical_nan};
  }
}

/// The identity of an element of up to eight bytes.
constexpr std::uint64_t identity_element(Opcode op, wire::Form form) {
  const unsigned unused = static_cast<unsigned>(64 - 8 * wire::element_bytes(form));
  const FloatBits bits = float_bits(form);
  switch (op) {
  case Opcode::bit_and: return ~std::uint64_t{0};
  case Opcode::int_min: return (~std::uint64_t{0} >> 1) >> unused;
  case Opcode::int_max: return std::uint64_t{1} << (63 - unused);
  case Opcode::flt_min: return bits.infinity;
  case Opcode::flt_max: return bits.sign | bits.infinity;
  case Opcode::flt_minnum:
  case Opcode::flt_maxnum: return bits.nan;
  case Opcode::flt_sum_nearest:
  case Opcode::flt_sum_upward:
  case Opcode::flt_sum_toward_zero:
  case Opcode::flt_sum_ftz_nearest:
  case Opcode::flt_sum_ftz_upward:
  case Opcode::flt_sum_ftz_toward_zero: return bits.sign;
  default: return 0;
  }
}

} // namespace detail

/// Fills `out`, which begins with a whole element; a rest too short for an element becomes zeros.
/// Requires `wire::carries(form, op)`, and a wide form.
inline void fill_identity(Opcode op, wire::Form form, std::span<std::byte> out) noexcept {
  std::array<std::byte, 40> element{};
  const std::size_t bytes = wire::element_bytes(form);
  if (bytes <= sizeof(std::uint64_t)) {
    std::array<std::byte, sizeof(std::uint64_t)> word;
    wire::store_le<std::uint64_t>(word.data(), detail::identity_element(op, form));
    std::memcpy(element.data(), word.data(), bytes);
  } else {
    const Contribution one = identity(op);
    for (std::size_t i = 0; i < one.payload.size(); ++i) {
      wire::store_le<std::uint64_t>(element.data() + 8 * i, one.payload[i]);
    }
    element[32] = static_cast<std::byte>(one.m); // for REPSUM; a tuple has no fifth word
  }
  std::size_t at = 0;
  for (; at + bytes <= out.size(); at += bytes) {
    std::memcpy(out.data() + at, element.data(), bytes);
  }
  std::memset(out.data() + at, 0, out.size() - at);
}

} // namespace tributary::reduce
