// Slot memory: the area in which one core holds the vectors of reductions in flight.
//
// Reserved as a whole, with the first tree that needs it: an arm finds its slot there. Its pages
// are zero pages until something is written to them, so unused ones cost nothing. Only the kernels
// read or write it (tributary/reduce/wide_kernel.hpp); the old contents of a slot never matter,
// because the first contribution is copied.
//
// slot_place.hpp describes its layout. Used by the core's worker only.
#pragma once

#include "dataplane/core/slot_place.hpp"
#include "dataplane/core/zeroed_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::core {

class SlotMemory {
public:
  /// `bytes` is rounded down to whole lines; 0: no slot memory.
  explicit SlotMemory(std::uint64_t bytes)
      : lines_count_(bytes / slot_line_bytes), lines_(static_cast<std::size_t>(lines_count_)) {}

  [[nodiscard]] std::uint64_t lines() const { return lines_count_; }
  /// The slot that begins with this line. Requires that the line exists.
  [[nodiscard]] std::byte* slot(std::uint32_t line) { return lines_[line].data(); }
  [[nodiscard]] const std::byte* slot(std::uint32_t line) const { return lines_[line].data(); }

private:
  using Line = std::array<std::byte, slot_line_bytes>;

  std::uint64_t lines_count_;
  ZeroedTable<Line> lines_;
};

} // namespace tributary::core
