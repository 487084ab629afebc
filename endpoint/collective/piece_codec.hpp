// Converts between the elements of a vector and the operands of single frames.
//
// Payload words hold integers and doubles as memory does, narrow ones packed; the words are put
// into wire order as a whole. (Both ends of a bitwise reduction swap alike, so that is right for
// narrow ones, too.) The last piece is padded with the operator's identity, so that it does not
// disturb the shared result code.
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "endpoint/collective/piece.hpp"

#include <cstddef>

namespace tributary::collective {

/// The operand for `count` elements at `elements`, which need not be aligned; the identity alone
/// when `elements` is null. Requires `reduces(op, type)` and 1 <= count <= elements_per_piece.
[[nodiscard]] Operand encode_piece(wire::Opcode op, ElementType type, const std::byte* elements,
                                   std::size_t count);

/// Writes the first `count` elements of a finished piece to `elements`, which need not be aligned.
void decode_piece(const Completion& piece, ElementType type, std::byte* elements,
                  std::size_t count);

} // namespace tributary::collective
