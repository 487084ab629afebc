// Operations on memory of a peer in one step: what they do, and to elements of which type. Their
// numbers stand in segments (segment.hpp), and are those of libfabric.
//
//   takes             new value of an element
//   nothing           read: the same
//   one operand       minimum ... write: of the old value and the operand
//   two operands      swap_if_*: the operand if (compare) (relation) (old value) holds, otherwise
//                     the same. swap_bits: the operand's bits where those of `compare` are set
//
// Pure: no I/O, no clock, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tributary::wire {

enum class AtomicOperation : std::uint8_t {
  minimum,
  maximum,
  sum,
  product,
  logical_or,
  logical_and,
  bit_or,
  bit_and,
  logical_xor,
  bit_xor,
  read,
  write,
  swap_if_equal,
  swap_if_different,
  swap_if_at_most,
  swap_if_less,
  swap_if_at_least,
  swap_if_greater,
  swap_bits,
};
inline constexpr unsigned atomic_operations = 19;

enum class AtomicType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  complex32, ///< two of float32
  complex64, ///< two of float64
};
inline constexpr unsigned atomic_types = 12;

/// Bytes of an element.
constexpr std::size_t atomic_width(AtomicType type) {
  constexpr std::uint8_t widths[atomic_types] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16};
  return widths[static_cast<unsigned>(type)];
}

/// Operands of an element: none, one, or two, of which the second is compared with.
constexpr unsigned atomic_operands(AtomicOperation operation) {
  return operation == AtomicOperation::read            ? 0
         : operation >= AtomicOperation::swap_if_equal ? 2
                                                       : 1;
}

/// Whether an operation has a meaning for a type: floats have no bits, complex numbers no order.
constexpr bool is_atomic(AtomicOperation operation, AtomicType type) {
  using Op = AtomicOperation;
  const bool is_integer = type < AtomicType::float32;
  const bool is_complex = type >= AtomicType::complex32;
  switch (operation) {
  case Op::bit_or:
  case Op::bit_and:
  case Op::bit_xor:
  case Op::swap_bits: return is_integer;
  case Op::minimum:
  case Op::maximum:
  case Op::swap_if_at_most:
  case Op::swap_if_less:
  case Op::swap_if_at_least:
  case Op::swap_if_greater: return !is_complex;
  case Op::sum:
  case Op::product:
  case Op::logical_or:
  case Op::logical_and:
  case Op::logical_xor:
  case Op::read:
  case Op::write:
  case Op::swap_if_equal:
  case Op::swap_if_different: break;
  }
  return true;
}

} // namespace tributary::wire
