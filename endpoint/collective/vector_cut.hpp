// How an operation is cut into pieces: the same at every member, for it depends on the operator,
// the type, the number of elements, and the group's parameters.
//
//   what one frame of 32 bytes can carry       one such frame
//   else, in a group with wide frames          pieces of P, rounded down to whole elements; the
//                                              last one filled up with the identity to a multiple
//                                              of 8 bytes, at least 40
//   else                                       pieces of 32 bytes
#pragma once

#include "endpoint/collective/element_type.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tributary::collective {

struct VectorCut {
  wire::Form form = wire::Form::words; ///< form of all pieces; `words`: frames of 32 bytes
  std::size_t elements_per_piece = 1;
  std::uint64_t pieces = 0;

  /// Requires a BARRIER, or `reduces_in(payload > 32, op, type)`. `payload`: P of the group.
  static constexpr VectorCut of(wire::Opcode op, ElementType type, std::size_t elements,
                                std::size_t payload) {
    if (op == wire::Opcode::barrier) {
      return {.pieces = 1};
    }
    VectorCut cut;
    const bool in_words = reduces(op, type);
    if (in_words) {
      cut.elements_per_piece = collective::elements_per_piece(op, type);
    }
    const bool one_frame = in_words && elements <= cut.elements_per_piece;
    if (!one_frame && payload > sizeof(wire::Payload) && form_of(op, type) != wire::Form::words) {
      cut.form = form_of(op, type);
      cut.elements_per_piece = payload / wire::element_bytes(cut.form);
    }
    cut.pieces =
        elements / cut.elements_per_piece + (elements % cut.elements_per_piece != 0 ? 1U : 0U);
    return cut;
  }

  [[nodiscard]] constexpr bool is_wide() const { return form != wire::Form::words; }
  /// Payload of a wide frame with this number of elements, in bytes.
  [[nodiscard]] constexpr std::uint32_t payload_bytes(std::size_t elements) const {
    const std::size_t bytes = (elements * wire::element_bytes(form) + 7) / 8 * 8;
    return static_cast<std::uint32_t>(std::max(bytes, wire::least_wide_payload));
  }
};

} // namespace tributary::collective
