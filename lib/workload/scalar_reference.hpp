// The stress worker's own arithmetic: one element of every rank in, one result out, by the rules of
// the wire format page in the plainest code possible. It shares no code with the library.
#pragma once

#include "lib/workload/operands.hpp"
#include "lib/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::workload {

/// The rank with the element, of kinds with only one.
inline std::uint32_t owner_of(const Place& place) {
  return static_cast<std::uint32_t>(place.common_bits(3) % place.size());
}

/// Reduces `column`, one element of `kind.type` for each rank, into `out`; returns the result code.
/// `wide`: by the rules of wide frames, where those differ.
int reduce_column(const Kind& kind, std::span<const std::byte> column, const Place& place,
                  bool wide, std::byte* out);

} // namespace tributary::workload
