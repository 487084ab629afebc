// Result codes. The number is the priority: of two codes, the larger one stays; all four lanes of a
// frame share one code. 1 to 7 do not stop a reduction.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::wire {

enum class ResultCode : std::uint8_t {
  success = 0,
  flt_inexact = 1,    ///< FLT_SUM rounded, or flushed a subnormal
  unassigned = 2,     ///< never sent; a received 2 competes by its number
  flt_overflow = 3,   ///< FLT_SUM of finite values out of range
  flt_invalid = 4,    ///< signalling NaN operand, or Inf - Inf
  repsum_inexact = 5, ///< FLT_REPSUM dropped a non-zero limb
  int_overflow = 6,   ///< INT_SUM wrapped, or a FLT_REPSUM limb overflowed
  contr_overflow = 7, ///< more contributions than the wait count
  op_mismatch = 8,    ///< two opcodes in one reduction
};

/// The larger of two codes.
constexpr ResultCode worse(ResultCode a, ResultCode b) { return a < b ? b : a; }

constexpr std::string_view name_of(ResultCode rc) {
  switch (rc) {
  case ResultCode::success: return "success";
  case ResultCode::flt_inexact: return "flt_inexact";
  case ResultCode::unassigned: return "unassigned";
  case ResultCode::flt_overflow: return "flt_overflow";
  case ResultCode::flt_invalid: return "flt_invalid";
  case ResultCode::repsum_inexact: return "repsum_inexact";
  case ResultCode::int_overflow: return "int_overflow";
  case ResultCode::contr_overflow: return "contr_overflow";
  case ResultCode::op_mismatch: return "op_mismatch";
  }
  return "unknown";
}

} // namespace tributary::wire
