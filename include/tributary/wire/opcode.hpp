// The six-bit reduction opcodes.
//
//   code       operator                     operands in one frame
//   0x00       BARRIER                      none; data always returns as zeros
//   0x01-0x03  BIT_AND BIT_OR BIT_XOR       4 x u64
//   0x10-0x11  INT_MIN INT_MAX              4 x i64
//   0x12       INT_MINMAXLOC                1 tuple {min, index, max, index}
//   0x14       INT_SUM                      4 x i64
//   0x20-0x21  FLT_MIN FLT_MAX              4 x f64, NaN wins
//   0x22       FLT_MINMAXLOC                1 tuple, NaN wins
//   0x24-0x25  FLT_MINNUM FLT_MAXNUM        4 x f64, the number wins
//   0x26       FLT_MINMAXNUMLOC             1 tuple, the number wins
//   0x28-0x2F  FLT_SUM                      4 x f64; 0x28 | flush-to-zero << 2 | rounding
//   0x30       FLT_REPSUM                   1 sum of four 40-bit-spaced limbs and M
//
// All others are reserved: such frames pass through a switch unreduced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::wire {

enum class Opcode : std::uint8_t {
  barrier = 0x00,
  bit_and = 0x01,
  bit_or = 0x02,
  bit_xor = 0x03,
  int_min = 0x10,
  int_max = 0x11,
  int_minmaxloc = 0x12,
  int_sum = 0x14,
  flt_min = 0x20,
  flt_max = 0x21,
  flt_minmaxloc = 0x22,
  flt_minnum = 0x24,
  flt_maxnum = 0x25,
  flt_minmaxnumloc = 0x26,
  flt_sum_nearest = 0x28,
  flt_sum_upward = 0x29,
  flt_sum_downward = 0x2A,
  flt_sum_toward_zero = 0x2B,
  flt_sum_ftz_nearest = 0x2C,
  flt_sum_ftz_upward = 0x2D,
  flt_sum_ftz_downward = 0x2E,
  flt_sum_ftz_toward_zero = 0x2F,
  flt_repsum = 0x30,
};

inline constexpr std::size_t opcode_count = 64;

/// All operators, in code order.
inline constexpr Opcode all_opcodes[] = {
    Opcode::barrier,
    Opcode::bit_and,
    Opcode::bit_or,
    Opcode::bit_xor,
    Opcode::int_min,
    Opcode::int_max,
    Opcode::int_minmaxloc,
    Opcode::int_sum,
    Opcode::flt_min,
    Opcode::flt_max,
    Opcode::flt_minmaxloc,
    Opcode::flt_minnum,
    Opcode::flt_maxnum,
    Opcode::flt_minmaxnumloc,
    Opcode::flt_sum_nearest,
    Opcode::flt_sum_upward,
    Opcode::flt_sum_downward,
    Opcode::flt_sum_toward_zero,
    Opcode::flt_sum_ftz_nearest,
    Opcode::flt_sum_ftz_upward,
    Opcode::flt_sum_ftz_downward,
    Opcode::flt_sum_ftz_toward_zero,
    Opcode::flt_repsum,
};

/// The rounding modes of FLT_SUM, as encoded in the opcode (ARM's order, not x86's).
enum class Rounding : std::uint8_t { nearest = 0, upward = 1, downward = 2, toward_zero = 3 };

constexpr bool is_flt_sum(Opcode op) { return (static_cast<std::uint8_t>(op) & 0x38U) == 0x28; }
/// Requires `is_flt_sum(op)`.
constexpr Rounding rounding_of(Opcode op) {
  return static_cast<Rounding>(static_cast<std::uint8_t>(op) & 3U);
}
/// Requires `is_flt_sum(op)`.
constexpr bool flushes_to_zero(Opcode op) { return (static_cast<std::uint8_t>(op) & 4U) != 0; }

constexpr bool is_minmaxloc(Opcode op) {
  return op == Opcode::int_minmaxloc || op == Opcode::flt_minmaxloc ||
         op == Opcode::flt_minmaxnumloc;
}

namespace detail {
constexpr std::uint64_t opcode_mask() {
  std::uint64_t mask = 0;
  for (const auto op : all_opcodes) {
    mask |= std::uint64_t{1} << static_cast<unsigned>(op);
  }
  return mask;
}
} // namespace detail

/// Whether a six-bit code names an operator; reserved codes do not.
constexpr bool is_supported(std::uint8_t code) {
  return code < opcode_count && (detail::opcode_mask() >> code & 1U) != 0;
}

/// The operator's name as the wire format page spells it, or "RESERVED".
constexpr std::string_view name_of(Opcode op) {
  switch (op) {
  case Opcode::barrier: return "BARRIER";
  case Opcode::bit_and: return "BIT_AND";
  case Opcode::bit_or: return "BIT_OR";
  case Opcode::bit_xor: return "BIT_XOR";
  case Opcode::int_min: return "INT_MIN";
  case Opcode::int_max: return "INT_MAX";
  case Opcode::int_minmaxloc: return "INT_MINMAXLOC";
  case Opcode::int_sum: return "INT_SUM";
  case Opcode::flt_min: return "FLT_MIN";
  case Opcode::flt_max: return "FLT_MAX";
  case Opcode::flt_minmaxloc: return "FLT_MINMAXLOC";
  case Opcode::flt_minnum: return "FLT_MINNUM";
  case Opcode::flt_maxnum: return "FLT_MAXNUM";
  case Opcode::flt_minmaxnumloc: return "FLT_MINMAXNUMLOC";
  case Opcode::flt_sum_nearest: return "FLT_SUM_NEAREST";
  case Opcode::flt_sum_upward: return "FLT_SUM_UPWARD";
  case Opcode::flt_sum_downward: return "FLT_SUM_DOWNWARD";
  case Opcode::flt_sum_toward_zero: return "FLT_SUM_TOWARD_ZERO";
  case Opcode::flt_sum_ftz_nearest: return "FLT_SUM_FTZ_NEAREST";
  case Opcode::flt_sum_ftz_upward: return "FLT_SUM_FTZ_UPWARD";
  case Opcode::flt_sum_ftz_downward: return "FLT_SUM_FTZ_DOWNWARD";
  case Opcode::flt_sum_ftz_toward_zero: return "FLT_SUM_FTZ_TOWARD_ZERO";
  case Opcode::flt_repsum: return "FLT_REPSUM";
  }
  return "RESERVED";
}

} // namespace tributary::wire
