// The contribution of a host without data (wire-format.md, 2.2), and the padding of a wide frame
// after the last element of a vector: made from the operators' table (wire/opcode.hpp). An engine
// needs no identity: it copies the first contribution.
//
//   identity in the table   integers         floats
//   a number                the number       the number; -0 and +0 differ
//   +infinity, -infinity    highest, lowest  the same
//   NaN                     -                the canonical NaN
//
// In a tuple it is the minimum, the maximum is its negative, and both indices are UINT64_MAX. For
// REPSUM the limbs are 0 and M is the smallest.
//
// Two limits: a flush-to-zero sum of the identity and a subnormal is zero, as for any operands; and
// any operator converts a signalling NaN to the canonical one.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/float_format.hpp"
#include "tributary/reduce/repsum.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/form.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace tributary::reduce {

namespace detail {

/// A number of the table as an integer of `bytes` bytes.
constexpr std::uint64_t integer_of(double number, std::size_t bytes) {
  const std::uint64_t highest = ~std::uint64_t{0} >> (65 - 8 * bytes);
  if (number == std::numeric_limits<double>::infinity()) {
    return highest;
  }
  if (number == -std::numeric_limits<double>::infinity()) {
    return highest + 1;
  }
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)); // the lowest bytes count
}

/// A number of the table in a floating-point format, which represents it exactly.
template <typename Format> constexpr std::uint64_t float_of(double number) {
  using Bits = typename Format::Bits;
  if (number != number) {
    return Format::canonical_nan;
  }
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const Bits sign = bits >> 63 != 0 ? Format::sign : Bits{0};
  if (number == 0) {
    return sign;
  }
  constexpr int fraction_bits = std::countr_zero(Format::least_normal);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  const int bias = Format::infinity >> (fraction_bits + 1);
  const bool infinite = exponent == 1024;
  const auto fraction = bits << 12 >> (64 - fraction_bits);
  return sign |
         (infinite ? std::uint64_t{Format::infinity}
                   : static_cast<std::uint64_t>(exponent + bias) << fraction_bits | fraction);
}

/// The identity of an element of up to eight bytes, or of a tuple's minimum; `negative`: of its
/// maximum.
constexpr std::uint64_t identity_element(Opcode op, wire::Form form, bool negative = false) {
  const wire::Operator& row = wire::operator_of(op);
  const double number = negative ? -row.identity : row.identity;
  if (row.operands == Operands::floats || row.operands == Operands::float_tuples) {
    switch (form) {
    case wire::Form::bits32: return float_of<Binary32>(number);
    case wire::Form::bits16: return float_of<Binary16>(number);
    case wire::Form::bfloat16: return float_of<Bfloat16>(number);
    default: return float_of<Binary64>(number);
    }
  }
  return integer_of(number, std::min(wire::element_bytes(form), sizeof(std::uint64_t)));
}

} // namespace detail

namespace detail {
constexpr Contribution make_identity(Opcode op) {
  Contribution c;
  c.op = op;
  const std::uint64_t word = identity_element(op, wire::Form::words);
  c.payload = {word, word, word, word};
  if (wire::is_minmaxloc(op)) {
    constexpr auto no_index = ~std::uint64_t{0};
    c.payload = {word, no_index, identity_element(op, wire::Form::words, true), no_index};
  }
  if (wire::operands_of(op) == Operands::repsums) {
    c.m = repsum_smallest_m;
  }
  return c;
}
inline constexpr auto identities = [] {
  std::array<Contribution, wire::opcode_count> all{};
  for (const Opcode op : all_opcodes) {
    all[static_cast<std::size_t>(op)] = make_identity(op);
  }
  return all;
}();
} // namespace detail

/// The contribution that changes nothing. The caller sets `source`.
constexpr const Contribution& identity(Opcode op) {
  return detail::identities[static_cast<std::size_t>(op)];
}

/// Fills `out`, which begins with a whole element, with identities; a rest too short for an element
/// becomes zeros. Requires `wire::carries(form, op)`, and a wide form.
inline void fill_identity(Opcode op, wire::Form form, std::span<std::byte> out) noexcept {
  std::array<std::byte, 40> element{};
  const std::size_t bytes = wire::element_bytes(form);
  if (bytes <= sizeof(std::uint64_t)) {
    std::array<std::byte, sizeof(std::uint64_t)> word;
    wire::store_le<std::uint64_t>(word.data(), detail::identity_element(op, form));
    std::memcpy(element.data(), word.data(), bytes);
  } else {
    const Contribution& one = identity(op);
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
