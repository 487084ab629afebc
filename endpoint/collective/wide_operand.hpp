// A piece that is a vector: it travels in one wide frame, is sent from where its owner keeps it,
// and its result is written to where the owner wants it. No copy of it is kept in between.
#pragma once

#include "tributary/wire/form.hpp"
#include "tributary/wire/opcode.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::collective {

/// A member's own part of such a piece. Both memories are the member's from inject to completion;
/// they may be the same.
struct WideOperand {
  wire::Opcode op = wire::Opcode::bit_or;
  wire::Form form = wire::Form::words; ///< `words`: there is none
  const std::byte* in = nullptr;       ///< null contributes the operator's identity
  std::byte* out = nullptr;            ///< null throws the result away
  std::uint32_t bytes = 0;             ///< of the elements there, whole ones
  /// P of the frame: `bytes` and then, up to it, the identity; is_wide_payload() holds.
  std::uint32_t payload_bytes = 0;

  [[nodiscard]] bool is_wide() const { return form != wire::Form::words; }
};

/// The vector that a frame carries, where it lies; none in an 84-byte frame.
struct WideView {
  wire::Form form = wire::Form::words;
  std::span<const std::byte> payload;

  [[nodiscard]] bool is_wide() const { return form != wire::Form::words; }
};

} // namespace tributary::collective
