// The kernel: combines a contribution into an accumulator. Switch engines and root hosts run this
// same code, so that a result does not depend on where its parts met (wire-format.md, section 4).
//
//     Accumulator acc;
//     start(acc, first);
//     combine(acc, second, NanMode::associative);      // and so on; the caller counts
//     send(acc.payload, acc.op, acc.result_code(), acc.m, acc.overflow_id);
//
// Rules for all operators:
//
//   1. The first contribution is copied in, never combined with an initial value. It is an operand
//      like any other, though, since it may be the only one sent, when the timer ends a
//      reduction with one contribution: so its NaNs become canonical, a signalling one raises
//      flt_invalid, and a BARRIER's data becomes zeros. Only flushing is omitted, which applies to
//      results.
//   2. The resulting code is the worst of the accumulated one, the frame's and this step's.
//      FLT_REPSUM's own two can be withdrawn, see repsum.hpp.
//   3. Two opcodes in one reduction are not combined. The code becomes op_mismatch and the data a
//      report: word 0 holds the SFA of the first contribution in bits 63:32 and that of the
//      offender in 31:0, words 1 to 3 are zero. From then on the data is frozen. The report of a
//      frame that has one is adopted, unless one is held already. The opcode stays that of the
//      first frame; M and the overflow id are unspecified with a report and unchanged. Codes
//      above op_mismatch are never sent; should one arrive, its data counts as a report, too.
//
// No allocation, no exception, no lock. Any thread that owns the accumulator. Only FLT_SUM uses
// floating-point instructions; its effect on the thread's rounding mode and flags is the caller's
// choice (`FloatState`), and their values on entry never matter.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/float_sum.hpp"
#include "tributary/reduce/floating.hpp"
#include "tributary/reduce/integer.hpp"
#include "tributary/reduce/minmaxloc.hpp"
#include "tributary/reduce/repsum.hpp"

#include <cstdint>

namespace tributary::reduce {

namespace detail {

constexpr bool is_report(ResultCode rc) { return rc >= ResultCode::op_mismatch; }

[[gnu::cold]] inline void combine_report(Accumulator& acc, const Contribution& in) noexcept {
  if (!is_report(acc.rc)) {
    acc.payload = is_report(in.rc)
                      ? in.payload
                      : wire::Payload{std::uint64_t{acc.source.value} << 32 | in.source.value};
  }
  acc.rc = worse(worse(acc.rc, in.rc), ResultCode::op_mismatch);
}

} // namespace detail

/// Makes `in` the first contribution. Discards the contents of `acc`.
inline void start(Accumulator& acc, const Contribution& in) noexcept {
  acc = {.payload = in.payload,
         .op = in.op,
         .rc = in.rc,
         .m = in.m,
         .overflow_id = in.overflow_id,
         .source = in.source};
  if (detail::is_report(in.rc)) [[unlikely]] {
    return;
  }
  constexpr LanePair every_word{-1, -1};
  constexpr LanePair tuple_values{-1, 0};
  switch (in.op) {
  case Opcode::bit_and:
  case Opcode::bit_or:
  case Opcode::bit_xor:
  case Opcode::int_min:
  case Opcode::int_max:
  case Opcode::int_minmaxloc:
  case Opcode::int_sum: break;
  case Opcode::barrier: acc.payload = {}; break;
  case Opcode::flt_min:
  case Opcode::flt_max:
  case Opcode::flt_minnum:
  case Opcode::flt_maxnum:
  case Opcode::flt_sum_nearest:
  case Opcode::flt_sum_upward:
  case Opcode::flt_sum_downward:
  case Opcode::flt_sum_toward_zero:
  case Opcode::flt_sum_ftz_nearest:
  case Opcode::flt_sum_ftz_upward:
  case Opcode::flt_sum_ftz_downward:
  case Opcode::flt_sum_ftz_toward_zero: admit_floats(acc, every_word); break;
  case Opcode::flt_minmaxnumloc: admit_floats(acc, tuple_values); break;
  case Opcode::flt_minmaxloc:
    admit_floats(acc, tuple_values);
    remember_combined_signalling(acc, in);
    break;
  case Opcode::flt_repsum: admit_repsum(acc, in); break;
  }
}

/// Combines one more contribution. Requires a call of `start` before.
///
/// `mode` only matters for FLT_MINNUM, FLT_MAXNUM and FLT_MINMAXNUMLOC. `state` only matters for
/// FLT_SUM in a mode other than the thread's own.
template <FloatState state = FloatState::restore>
inline void combine(Accumulator& acc, const Contribution& in, NanMode mode) noexcept {
  if (acc.op != in.op || detail::is_report(acc.rc) || detail::is_report(in.rc)) [[unlikely]] {
    detail::combine_report(acc, in);
    return;
  }
  if (in.op == Opcode::flt_repsum) {
    flt_repsum(acc, in);
    return;
  }
  acc.rc = worse(acc.rc, in.rc);
  switch (in.op) {
  case Opcode::barrier: break;
  case Opcode::bit_and: bit_and(acc.payload, in.payload); break;
  case Opcode::bit_or: bit_or(acc.payload, in.payload); break;
  case Opcode::bit_xor: bit_xor(acc.payload, in.payload); break;
  case Opcode::int_min: int_min(acc.payload, in.payload); break;
  case Opcode::int_max: int_max(acc.payload, in.payload); break;
  case Opcode::int_minmaxloc: int_minmaxloc(acc.payload, in.payload); break;
  case Opcode::int_sum:
    if (int_sum(acc.payload, in.payload) != ResultCode::success) [[unlikely]] {
      acc.rc = worse(acc.rc, ResultCode::int_overflow);
    }
    break;
  case Opcode::flt_min: flt_min(acc, in); break;
  case Opcode::flt_max: flt_max(acc, in); break;
  case Opcode::flt_minmaxloc: flt_minmaxloc(acc, in); break;
  case Opcode::flt_minnum: flt_minnum(acc, in, mode); break;
  case Opcode::flt_maxnum: flt_maxnum(acc, in, mode); break;
  case Opcode::flt_minmaxnumloc: flt_minmaxnumloc(acc, in, mode); break;
  case Opcode::flt_sum_nearest:
  case Opcode::flt_sum_upward:
  case Opcode::flt_sum_downward:
  case Opcode::flt_sum_toward_zero:
  case Opcode::flt_sum_ftz_nearest:
  case Opcode::flt_sum_ftz_upward:
  case Opcode::flt_sum_ftz_downward:
  case Opcode::flt_sum_ftz_toward_zero: flt_sum<state>(acc, in, in.op); break;
  case Opcode::flt_repsum: break;
  }
}

/// The same if the caller found that the frames differ not in the opcode, but in their form or
/// length. A report in `in` is adopted.
inline void report_mismatch(Accumulator& acc, const Contribution& in) noexcept {
  detail::combine_report(acc, in);
}

} // namespace tributary::reduce
