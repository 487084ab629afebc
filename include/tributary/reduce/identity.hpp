// The contribution of a host without data (wire-format.md, 2.2). An engine needs no identity: it
// copies the first contribution.
//
//   operator                          words                                 M
//   BARRIER, BIT_OR, BIT_XOR, INT_SUM 0
//   BIT_AND                           all ones
//   INT_MIN, INT_MAX                  INT64_MAX, INT64_MIN
//   INT_MINMAXLOC                     INT64_MAX, UINT64_MAX, INT64_MIN, UINT64_MAX
//   FLT_MIN, FLT_MAX                  +Inf, -Inf
//   FLT_MINMAXLOC                     +Inf, UINT64_MAX, -Inf, UINT64_MAX
//   FLT_MINNUM, FLT_MAXNUM            quiet NaN
//   FLT_MINMAXNUMLOC                  quiet NaN, UINT64_MAX, quiet NaN, UINT64_MAX
//   FLT_SUM                           -0, but +0 when rounding downward
//   FLT_REPSUM                        0                                     -26
//
// Two limits: a flush-to-zero sum of the identity and a subnormal is zero, as for any operands; and
// any operator converts a signalling NaN to the canonical one.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/floating.hpp"
#include "tributary/reduce/repsum.hpp"

#include <cstdint>
#include <limits>

namespace tributary::reduce {

/// The contribution that changes nothing. The caller sets `source`.
constexpr Contribution identity(Opcode op) {
  constexpr auto all_ones = ~std::uint64_t{0};
  constexpr auto int_highest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  constexpr auto int_lowest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
  constexpr std::uint64_t negative_infinity = float_sign | float_infinity;
  const auto of = [op](wire::Payload words) {
    Contribution c;
    c.op = op;
    c.payload = words;
    return c;
  };
  const auto all = [of](std::uint64_t word) { return of({word, word, word, word}); };
  switch (op) {
  case Opcode::barrier:
  case Opcode::bit_or:
  case Opcode::bit_xor:
  case Opcode::int_sum: return all(0);
  case Opcode::bit_and: return all(all_ones);
  case Opcode::int_min: return all(int_highest);
  case Opcode::int_max: return all(int_lowest);
  case Opcode::int_minmaxloc: return of({int_highest, all_ones, int_lowest, all_ones});
  case Opcode::flt_min: return all(float_infinity);
  case Opcode::flt_max: return all(negative_infinity);
  case Opcode::flt_minmaxloc: return of({float_infinity, all_ones, negative_infinity, all_ones});
  case Opcode::flt_minnum:
  case Opcode::flt_maxnum: return all(canonical_nan);
  case Opcode::flt_minmaxnumloc: return of({canonical_nan, all_ones, canonical_nan, all_ones});
  case Opcode::flt_sum_downward:
  case Opcode::flt_sum_ftz_downward: return all(0);
  case Opcode::flt_sum_nearest:
  case Opcode::flt_sum_upward:
  case Opcode::flt_sum_toward_zero:
  case Opcode::flt_sum_ftz_nearest:
  case Opcode::flt_sum_ftz_upward:
  case Opcode::flt_sum_ftz_toward_zero: return all(float_sign);
  case Opcode::flt_repsum: {
    Contribution zero = all(0);
    zero.m = repsum_smallest_m;
    return zero;
  }
  }
  return all(0);
}

} // namespace tributary::reduce
