// Atomic operations on memory: what a peer's ATOMIC does here. Knows nothing of who asks. Elements
// need no alignment. Pure.
#pragma once

#include "tributary/wire/atomic.hpp"

#include <cstddef>

namespace tributary::messages {

/// Bytes of the elements of one operation, at most.
inline constexpr std::size_t atomic_bytes = 1'024;

struct Atomically {
  wire::AtomicOperation operation{};
  wire::AtomicType type{};
  std::size_t count = 0;              ///< elements, one behind the other
  std::byte* memory = nullptr;        ///< is changed
  const std::byte* operand = nullptr; ///< if the operation takes one
  const std::byte* compare = nullptr; ///< if it takes two
  std::byte* old = nullptr;           ///< gets the previous values; null: they are not asked for
};

/// Requires that the operation has a meaning for the type (wire::is_atomic). `old` may be `operand`
/// or `compare`; otherwise nothing overlaps.
void apply(const Atomically& a);

} // namespace tributary::messages
