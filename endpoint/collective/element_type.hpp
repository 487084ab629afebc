// The element types of vectors, and which operator reduces which of them: in frames of 32 bytes,
// and in wide frames, where the group has those.
//
//   type                       bytes   AND OR XOR   MIN MAX SUM         MINMAXLOC   REPSUM
//   (u)int8, 16, 32            1..4    yes          wide                -           -
//   int64                      8       yes          INT_                -           -
//   uint64                     8       yes          wide                -           -
//   float64                    8       -            FLT_, also ..NUM    -           yes
//   float32, float16, bfloat16 4, 2    -            wide                -           -
//   minmaxloc of int64         32      -            -                   INT_        -
//   minmaxloc of float64       32      -            -                   FLT_, ..NUM -
//   repsum state               40      -            -                   -           yes
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
  using wire::Opcode;
  switch (op) {
  case Opcode::barrier: return false;
  case Opcode::bit_and:
  case Opcode::bit_or:
  case Opcode::bit_xor: return type <= ElementType::uint64;
  case Opcode::int_min:
  case Opcode::int_max:
  case Opcode::int_sum: return type == ElementType::int64;
  case Opcode::int_minmaxloc: return type == ElementType::minmaxloc_int64;
  case Opcode::flt_minmaxloc:
  case Opcode::flt_minmaxnumloc: return type == ElementType::minmaxloc_float64;
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
  case Opcode::flt_sum_ftz_toward_zero: return type == ElementType::float64;
  case Opcode::flt_repsum: return type == ElementType::float64 || type == ElementType::repsum_state;
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
  const auto where = [&](Form form, bool fits) {
    return fits && wire::carries(form, op) ? form : Form::words;
  };
  const bool any_integer = wire::is_bitwise(op) || wire::is_int_lane(op);
  switch (type) {
  case ElementType::int8:
  case ElementType::uint8: return where(Form::bits8, any_integer);
  case ElementType::int16:
  case ElementType::uint16: return where(Form::bits16, any_integer);
  case ElementType::int32:
  case ElementType::uint32: return where(Form::bits32, any_integer);
  case ElementType::int64:
  case ElementType::uint64: return where(Form::bits64, any_integer);
  case ElementType::float64:
    return op == wire::Opcode::flt_repsum ? Form::repsum
                                          : where(Form::bits64, wire::is_flt_lane(op));
  case ElementType::float32: return where(Form::bits32, wire::is_flt_lane(op));
  case ElementType::float16: return where(Form::bits16, wire::is_flt_lane(op));
  case ElementType::bfloat16: return where(Form::bfloat16, wire::is_flt_lane(op));
  case ElementType::minmaxloc_int64: return where(Form::tuple, op == wire::Opcode::int_minmaxloc);
  case ElementType::minmaxloc_float64: return where(Form::tuple, op != wire::Opcode::int_minmaxloc);
  case ElementType::repsum_state: return where(Form::repsum, op == wire::Opcode::flt_repsum);
  }
  return Form::words;
}

/// Whether a group with or without wide frames supports this reduction.
constexpr bool reduces_in(bool wide_group, wire::Opcode op, ElementType type) {
  return reduces(op, type) || (wide_group && form_of(op, type) != wire::Form::words);
}

} // namespace tributary::collective
