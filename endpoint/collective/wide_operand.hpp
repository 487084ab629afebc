// A piece that is a vector: it travels in one wide frame, is sent from its owner's memory, and its
// result is written to the owner's memory. No copy of it is kept in between.
#pragma once

#include "tributary/wire/form.hpp"
#include "tributary/wire/opcode.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::collective {

/// A member's own part of such a piece. Both memories belong to the member from inject to
/// completion; they may be the same.
struct WideOperand {
  wire::Opcode op = wire::Opcode::bit_or;
  wire::Form form = wire::Form::words; ///< `words`: no vector
  const std::byte* in = nullptr;       ///< null contributes the operator's identity
  std::byte* out = nullptr;            ///< null discards the result
  std::uint32_t bytes = 0;             ///< length of the elements, whole ones
  /// P of the frame: `bytes`, padded with the identity; is_wide_payload() holds.
  std::uint32_t payload_bytes = 0;

  [[nodiscard]] bool is_wide() const { return form != wire::Form::words; }
};

/// The vector that a frame carries; none in an 84-byte frame.
struct WideView {
  wire::Form form = wire::Form::words;
  std::span<const std::byte> payload;

  [[nodiscard]] bool is_wide() const { return form != wire::Form::words; }
};

} // namespace tributary::collective
