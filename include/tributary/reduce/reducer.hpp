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

/// Rule 1 for the operands of a first contribution.
template <Opcode op>
[[gnu::always_inline]] inline void admit(Accumulator& acc, const Contribution& in) noexcept {
  constexpr Operands operands = wire::operands_of(op);
  if constexpr (operands == Operands::none) {
    acc.payload = {};
  } else if constexpr (operands == Operands::floats) {
    admit_floats(acc, LanePair{-1, -1});
  } else if constexpr (operands == Operands::float_tuples) {
    admit_floats(acc, LanePair{-1, 0}); // the values, not the indices
    if constexpr (op == Opcode::flt_minmaxloc) {
      remember_combined_signalling(acc, in);
    }
  } else if constexpr (operands == Operands::repsums) {
    admit_repsum(acc, in);
  }
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
  wire::with_opcode(in.op, [&]<Opcode op>() { detail::admit<op>(acc, in); });
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
  wire::with_opcode(in.op, [&]<Opcode op>() {
    if constexpr (wire::is_flt_sum(op)) {
      flt_sum<state>(acc, in, op);
    } else if constexpr (op != Opcode::barrier && op != Opcode::flt_repsum) {
      Kernel<op>::combine(acc, in, mode);
    }
  });
}

/// The same if the caller found that the frames differ not in the opcode, but in their form or
/// length. A report in `in` is adopted.
inline void report_mismatch(Accumulator& acc, const Contribution& in) noexcept {
  detail::combine_report(acc, in);
}

} // namespace tributary::reduce
