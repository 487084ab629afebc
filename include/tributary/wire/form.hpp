// The form of a reduction frame: the type of its payload's elements.
//
//   form               element            bytes  operators (opcode.hpp)
//   0  words           the 84-byte frame: four 64-bit words, big-endian; any
//   1  bits64          integer, binary64      8  of bits, integers and floats
//   2  bits32          integer, binary32      4  the same
//   3  bits16          integer, binary16      2  the same
//   4  bits8           integer                1  of bits and integers
//   5  bfloat16        bfloat16               2  of floats
//   6  tuple           {min, index, max, index}
//                                            32  of tuples
//   7  repsum          {T0, T1, T2, T3, M}   40  of reproducible sums; M is the low byte of the
//                                                fifth word
//
// Forms 1 to 7 are those of wide frames (wide_reduction.hpp); their elements are little-endian. The
// opcode determines whether they are integers or floating point. A pair that is missing from the
// table is treated like a reserved opcode.
#pragma once

#include "tributary/wire/opcode.hpp"

#include <array>
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

namespace detail {
constexpr bool carries(Form form, Operands operands) {
  switch (form) {
  case Form::words: return true;
  case Form::bits64:
  case Form::bits32:
  case Form::bits16: return is_integer(operands) || operands == Operands::floats;
  case Form::bits8: return is_integer(operands);
  case Form::bfloat16: return operands == Operands::floats;
  case Form::tuple:
    return operands == Operands::integer_tuples || operands == Operands::float_tuples;
  case Form::repsum: return operands == Operands::repsums;
  }
  return false;
}
/// By opcode: bit f is set if frames of form f carry it.
inline constexpr auto forms_of_code = [] {
  std::array<std::uint8_t, opcode_count> forms{};
  for (const Operator& row : operators) {
    for (unsigned form = 0; form < 8; ++form) {
      forms[static_cast<std::size_t>(row.code)] = static_cast<std::uint8_t>(
          forms[static_cast<std::size_t>(row.code)] |
          (carries(static_cast<Form>(form), row.operands) ? 1U << form : 0U));
    }
  }
  return forms;
}();
} // namespace detail

/// Whether the operator is defined for elements of this form. False for reserved codes.
constexpr bool carries(Form form, Opcode op) {
  return form <= Form::repsum && is_supported(static_cast<std::uint8_t>(op)) &&
         (detail::forms_of_code[static_cast<std::size_t>(op)] >> static_cast<unsigned>(form) &
          1U) != 0;
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
