// The accumulator: the state of one reduction, in a switch's descriptor or a root's software. The
// kernel that fills it is reducer.hpp; it is the same code in both places, so that a result does
// not depend on where its parts met.
//
// Invariant: `payload` can be sent at any time. Every NaN of the operator in it is already the
// canonical one, and a BARRIER's is four zeros.
//
// The owner of the accumulator counts contributions and applies the sequence rules.
#pragma once

#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/result_code.hpp"

#include <cstdint>

namespace tributary::reduce {

// The operators use the codes of frames only.
using wire::all_opcodes;
using wire::is_supported;
using wire::name_of;
using wire::Opcode;
using wire::Operands;
using wire::ResultCode;
using wire::worse;

/// How MINNUM, MAXNUM and MINMAXNUMLOC treat a signalling NaN beside a number: `associative`
/// returns the number (order-independent, the default), `ieee` returns a quiet NaN (not
/// order-independent, by design of the standard).
enum class NanMode : std::uint8_t { associative, ieee };

/// One contribution as received by an engine or a root, in host order.
/// Requires `is_supported(static_cast<std::uint8_t>(op))`.
struct Contribution {
  wire::Payload payload{};
  Opcode op = Opcode::barrier;
  ResultCode rc = ResultCode::success;
  std::int8_t m = 0;
  std::uint8_t overflow_id = 0;
  wire::FabricAddress source; ///< the SFA of the frame, for mismatch reports
};

/// One reduction so far. 48 bytes, in one cache line with the rest of a descriptor.
struct Accumulator {
  alignas(16) wire::Payload payload{};
  Opcode op = Opcode::barrier;
  /// Without REPSUM's own two conditions, which `repsum_*` hold separately because an overflow can
  /// be withdrawn when a larger operand arrives. `result_code()` combines them.
  ResultCode rc = ResultCode::success;
  std::int8_t m = 0;
  std::uint8_t overflow_id = 0;
  bool repsum_overflow = false;
  bool repsum_inexact = false;
  /// Bit i: the canonical NaN in word i came from a signalling one. Some rules distinguish the two,
  /// and the payload no longer shows which it was (floating.hpp, minmaxloc.hpp).
  std::uint8_t signalling_lanes = 0;
  wire::FabricAddress source; ///< of the first contribution, for mismatch reports
  /// Counter of the owner, in space that alignment would leave empty. Neither `start` nor `combine`
  /// reads it, and `start` may reset it.
  ContributionCount contributions = 0;

  /// The code to send: the accumulated one, or REPSUM's conditions.
  [[nodiscard]] constexpr ResultCode result_code() const {
    if (repsum_overflow) {
      return worse(rc, ResultCode::int_overflow);
    }
    return repsum_inexact ? worse(rc, ResultCode::repsum_inexact) : rc;
  }
};

static_assert(sizeof(Accumulator) == 48);

/// The kernel of an operator, specialised beside its arithmetic: integer.hpp, floating.hpp,
/// minmaxloc.hpp. In each
///
///     static void combine(Accumulator&, const Contribution&, NanMode) noexcept;
///
/// combines operands of the 84-byte frame, whose opcodes are the same; it raises codes of its own,
/// and leaves the contribution's to the caller. Those of integers have `Function`, too, from which
/// the kernels of wide frames are made. FLT_SUM and FLT_REPSUM have functions of another form
/// instead, `flt_sum` and `flt_repsum`, and BARRIER has no arithmetic.
template <Opcode op> struct Kernel;

} // namespace tributary::reduce
