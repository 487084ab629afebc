// The form of a reduction frame: the type of its payload's elements.
//
//   form               element            bytes  operators
//   0  words           the 84-byte frame: four 64-bit words, big-endian; any
//   1  bits64          integer, binary64      8  BIT_*, INT_MIN/MAX/SUM, FLT_MIN/MAX/MINNUM/MAXNUM,
//                                                FLT_SUM in every mode
//   2  bits32          integer, binary32      4  the same
//   3  bits16          integer, binary16      2  the same
//   4  bits8           integer                1  BIT_*, INT_MIN/MAX/SUM
//   5  bfloat16        bfloat16               2  the FLT_* of form 1
//   6  tuple           {min, index, max, index}
//                                            32  the three MINMAXLOC
//   7  repsum          {T0, T1, T2, T3, M}   40  FLT_REPSUM; M is the low byte of the fifth word
//
// Forms 1 to 7 are those of wide frames (wide_reduction.hpp); their elements are little-endian. The
// opcode determines whether they are integers or floating point. A pair that is missing from the
// table is treated like a reserved opcode.
#pragma once

#include "tributary/wire/opcode.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::wire {

enum class Form : std::uint8_t {
  words = 0,
  bits64 = 1,
  bits32 = 2,
  bits16 = 3,
  bits8 = 4,
  bfloat16 = 5,
  tuple = 6,
  repsum = 7,
};

inline constexpr Form wide_forms[] = {Form::bits64,   Form::bits32, Form::bits16, Form::bits8,
                                      Form::bfloat16, Form::tuple,  Form::repsum};

/// Bytes of one element in a frame; for form 0 of the whole payload.
constexpr std::size_t element_bytes(Form form) {
  switch (form) {
  case Form::words: return 32;
  case Form::bits64: return 8;
  case Form::bits32: return 4;
  case Form::bits16: return 2;
  case Form::bits8: return 1;
  case Form::bfloat16: return 2;
  case Form::tuple: return 32;
  case Form::repsum: return 40;
  }
  return 0;
}

constexpr bool is_bitwise(Opcode op) {
  return op == Opcode::bit_and || op == Opcode::bit_or || op == Opcode::bit_xor;
}
constexpr bool is_int_lane(Opcode op) {
  return op == Opcode::int_min || op == Opcode::int_max || op == Opcode::int_sum;
}
constexpr bool is_flt_lane(Opcode op) {
  return op == Opcode::flt_min || op == Opcode::flt_max || op == Opcode::flt_minnum ||
         op == Opcode::flt_maxnum || is_flt_sum(op);
}

/// Whether the operator is defined for elements of this form.
constexpr bool carries(Form form, Opcode op) {
  switch (form) {
  case Form::words: return is_supported(static_cast<std::uint8_t>(op));
  case Form::bits64:
  case Form::bits32:
  case Form::bits16: return is_bitwise(op) || is_int_lane(op) || is_flt_lane(op);
  case Form::bits8: return is_bitwise(op) || is_int_lane(op);
  case Form::bfloat16: return is_flt_lane(op);
  case Form::tuple: return is_minmaxloc(op);
  case Form::repsum: return op == Opcode::flt_repsum;
  }
  return false;
}

constexpr std::string_view name_of(Form form) {
  switch (form) {
  case Form::words: return "words";
  case Form::bits64: return "bits64";
  case Form::bits32: return "bits32";
  case Form::bits16: return "bits16";
  case Form::bits8: return "bits8";
  case Form::bfloat16: return "bfloat16";
  case Form::tuple: return "tuple";
  case Form::repsum: return "repsum";
  }
  return "unknown";
}

} // namespace tributary::wire
