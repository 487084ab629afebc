// Which contributions may be combined among themselves before they are combined with the data an
// engine holds, without any visible difference: in the operands, in the code, or in the state kept
// for later contributions.
//
// An engine combines one contribution after the other, ((held + a) + b) + c. Grouped, it combines
// held and (a + b + c). Both are the same, bit for bit, if
//
//   order and operands in the      the operands of the group             what the engine holds
//   table (wire/opcode.hpp)
//   any; none, bits, integers,     any                                   any
//     tuples of integers
//   any; floats and their tuples   no NaN among the compared words       no signalling NaN is
//                                                                        remembered
//   bounded; integers              within +-2^56, so that no sum of      within +-2^62
//                                  32 can wrap in any order
//   bounded; reproducible sums     numbers of one M, limbs within        numbers of the same M,
//                                  +-2^56                                limbs within +-2^62
//   matters                        never: the result depends on the      -
//                                  order
//
// and all codes are `success`. Other contributions are combined one by one, in order of arrival.
// Pure functions.
#pragma once

#include "dataplane/core/frame_image.hpp"
#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/floating.hpp"
#include "tributary/reduce/lanes.hpp"
#include "tributary/reduce/repsum.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::core {

/// Upper limit of contributions in a group.
inline constexpr std::size_t most_grouped = 32;

namespace grouping {

inline constexpr unsigned bits_of_one = 56;
inline constexpr unsigned bits_held = 62;
static_assert((std::uint64_t{1} << bits_held) + (most_grouped << bits_of_one) <= std::uint64_t{1}
                                                                                     << 63,
              "or a sum could wrap in one order and not in another");

// By pairs of lanes, as the kernel loads them: a pair load after two word stores waits for memory.

/// Whether all words, as signed numbers, are within +-2^bits.
inline bool within(const wire::Payload& words, unsigned bits) {
  const auto bias = static_cast<std::int64_t>(std::uint64_t{1} << bits);
  const auto beyond = [&](std::size_t at) {
    const auto biased = (reduce::UnsignedLanePair)(reduce::load_pair(&words[at])) +
                        (reduce::UnsignedLanePair)(reduce::LanePair{bias, bias});
    return (Octets)(biased >> (bits + 1));
  };
  return !any_bit(beyond(0) | beyond(2));
}
/// Whether any of the compared words is NaN.
inline bool any_nan(const wire::Payload& words, reduce::LanePair compared) {
  return any_bit((Octets)((reduce::nan_lanes(reduce::load_pair(&words[0])) |
                           reduce::nan_lanes(reduce::load_pair(&words[2]))) &
                          compared));
}

} // namespace grouping

/// Whether contributions of this operation can be in a group at all.
constexpr bool may_group(wire::Opcode op) {
  return wire::operator_of(op).order != wire::Order::matters;
}

/// Whether a contribution may be in a group. Requires that its code is `success`.
[[gnu::always_inline]] inline bool may_group(const reduce::Contribution& c) {
  const wire::Operator& row = wire::operator_of(c.op);
  if (row.order == wire::Order::matters) {
    return false;
  }
  switch (row.operands) {
  case wire::Operands::none:
  case wire::Operands::bits:
  case wire::Operands::integer_tuples: return true;
  case wire::Operands::integers:
  case wire::Operands::signed_integers:
    return row.order == wire::Order::any || grouping::within(c.payload, grouping::bits_of_one);
  case wire::Operands::floats: return !grouping::any_nan(c.payload, reduce::LanePair{-1, -1});
  case wire::Operands::float_tuples: return !grouping::any_nan(c.payload, reduce::LanePair{-1, 0});
  case wire::Operands::repsums:
    return !reduce::is_repsum_special(c.m) && grouping::within(c.payload, grouping::bits_of_one);
  }
  return false;
}

/// Whether a contribution that may be in a group may join this one: `group` holds its first.
inline bool may_join(const reduce::Accumulator& group, const reduce::Contribution& c) {
  return group.op == c.op && (wire::operands_of(c.op) != wire::Operands::repsums || group.m == c.m);
}

/// Whether a group's sum may be added to the held data as one contribution.
inline bool may_add(const reduce::Accumulator& held, const reduce::Contribution& group) {
  if (held.op != group.op || held.rc >= wire::ResultCode::op_mismatch) {
    return false;
  }
  if (wire::operator_of(held.op).order == wire::Order::bounded) {
    return may_join(held, group) && grouping::within(held.payload, grouping::bits_held);
  }
  return held.signalling_lanes == 0;
}

} // namespace tributary::core
