// The element types of vectors, and which operator reduces which of them: in frames of 32 bytes,
// and in wide frames, where the group has those. The operators' table (wire/opcode.hpp) says for
// what an operator takes its elements:
//
//   type                       bytes   bits   integers   floats   tuples   reproducible sums
//   (u)int8, 16, 32            1..4    yes    wide       -        -        -
//   int64                      8       yes    yes        -        -        -
//   uint64                     8       yes    wide       -        -        -
//   float64                    8       -      -          yes      -        yes
//   float32, float16, bfloat16 4, 2    -      -          wide     -        -
//   minmaxloc of int64         32      -      -          -        integer  -
//   minmaxloc of float64       32      -      -          -        float    -
//   repsum state               40      -      -          -        -        yes
//
// A frame of 32 bytes carries 32, 16, 8 or 4 elements by their width; one tuple; or the limbs of
// one reproducible sum. Unsigned integers travel unchanged except for MIN and MAX, which compare
// signed numbers: there the highest bit is inverted in frames.
#pragma once

#include "tributary/wire/form.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::collective {

enum class ElementType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float64,
  minmaxloc_int64,   ///< {i64 minimum, u64 its index, i64 maximum, u64 its index}
  minmaxloc_float64, ///< {f64 minimum, u64 its index, f64 maximum, u64 its index}
  float32,
  float16,
  bfloat16,
  repsum_state, ///< limbs and M of a reproducible sum, as form 7 of wide frames has them
};
inline constexpr std::size_t element_type_count = 15;

constexpr std::size_t bytes_of(ElementType type) {
  switch (type) {
  case ElementType::int8:
  case ElementType::uint8: return 1;
  case ElementType::int16:
  case ElementType::uint16:
  case ElementType::float16:
  case ElementType::bfloat16: return 2;
  case ElementType::int32:
  case ElementType::uint32:
  case ElementType::float32: return 4;
  case ElementType::int64:
  case ElementType::uint64:
  case ElementType::float64: return 8;
  case ElementType::minmaxloc_int64:
  case ElementType::minmaxloc_float64: return sizeof(wire::Payload);
  case ElementType::repsum_state: return wire::element_bytes(wire::Form::repsum);
  }
  return 0;
}

constexpr bool is_unsigned(ElementType type) {
  return type == ElementType::uint8 || type == ElementType::uint16 || type == ElementType::uint32 ||
         type == ElementType::uint64;
}
constexpr bool is_floating(ElementType type) {
  return type == ElementType::float64 || type == ElementType::float32 ||
         type == ElementType::float16 || type == ElementType::bfloat16;
}

/// Whether frames of 32 bytes support this reduction. False for BARRIER, which has no elements.
constexpr bool reduces(wire::Opcode op, ElementType type) {
  switch (wire::operands_of(op)) {
  case wire::Operands::none: return false;
  case wire::Operands::bits: return type <= ElementType::uint64;
  case wire::Operands::integers:
  case wire::Operands::signed_integers: return type == ElementType::int64;
  case wire::Operands::floats: return type == ElementType::float64;
  case wire::Operands::integer_tuples: return type == ElementType::minmaxloc_int64;
  case wire::Operands::float_tuples: return type == ElementType::minmaxloc_float64;
  case wire::Operands::repsums:
    return type == ElementType::float64 || type == ElementType::repsum_state;
  }
  return false;
}

/// Number of elements in one frame. Requires `reduces(op, type)`.
constexpr std::size_t elements_per_piece(wire::Opcode op, ElementType type) {
  return op == wire::Opcode::flt_repsum ? 1 : sizeof(wire::Payload) / bytes_of(type);
}

/// The form in which wide frames carry the elements; `words` where they cannot.
constexpr wire::Form form_of(wire::Opcode op, ElementType type) {
  using wire::Form;
  using wire::Operands;
  const Operands operands = wire::operands_of(op);
  const auto where = [](bool fits, Form form) { return fits ? form : Form::words; };
  const bool integers = wire::is_integer(operands);
  const bool floats = operands == Operands::floats;
  switch (type) {
  case ElementType::int8:
  case ElementType::uint8: return where(integers, Form::bits8);
  case ElementType::int16:
  case ElementType::uint16: return where(integers, Form::bits16);
  case ElementType::int32:
  case ElementType::uint32: return where(integers, Form::bits32);
  case ElementType::int64:
  case ElementType::uint64: return where(integers, Form::bits64);
  case ElementType::float64:
    return operands == Operands::repsums ? Form::repsum : where(floats, Form::bits64);
  case ElementType::float32: return where(floats, Form::bits32);
  case ElementType::float16: return where(floats, Form::bits16);
  case ElementType::bfloat16: return where(floats, Form::bfloat16);
  case ElementType::minmaxloc_int64:
    return where(operands == Operands::integer_tuples, Form::tuple);
  case ElementType::minmaxloc_float64:
    return where(operands == Operands::float_tuples, Form::tuple);
  case ElementType::repsum_state: return where(operands == Operands::repsums, Form::repsum);
  }
  return Form::words;
}

/// Whether a group with or without wide frames supports this reduction.
constexpr bool reduces_in(bool wide_group, wire::Opcode op, ElementType type) {
  return reduces(op, type) || (wide_group && form_of(op, type) != wire::Form::words);
}

} // namespace tributary::collective
