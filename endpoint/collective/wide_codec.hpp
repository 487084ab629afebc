// Converts between the elements of a vector and those of a wide frame, where they differ:
//
//   unsigned integers, MIN and MAX   the highest bit inverted, for frames compare signed numbers
//   REPSUM of doubles                a double is the limbs of its sum, 40 bytes
//
// All others have the same form in frames and in memory.
#pragma once

#include "endpoint/collective/element_type.hpp"

#include <cstddef>
#include <span>

namespace tributary::collective {

/// Whether the elements differ from those in frames.
[[nodiscard]] constexpr bool converts(wire::Opcode op, ElementType type) {
  const wire::Operands operands = wire::operands_of(op);
  return (operands == wire::Operands::repsums && type == ElementType::float64) ||
         (operands == wire::Operands::signed_integers && is_unsigned(type));
}

/// Writes `count` elements in the form of wide frames. `payload` has room for them. Requires
/// `converts(op, type)`.
void encode_elements(wire::Opcode op, ElementType type, const std::byte* elements,
                     std::size_t count, std::byte* payload);
/// The reverse.
void decode_elements(wire::Opcode op, ElementType type, const std::byte* payload, std::size_t count,
                     std::byte* elements);

} // namespace tributary::collective
