// Slot memory: the area in which one core holds the vectors of reductions that are under way.
//
// Reserved as a whole, with the first tree that needs it: an arm finds its slot there. Its pages
// are zero pages until something is written to them, so what no tree uses costs nothing. Only the
// kernels read or write it (tributary/reduce/wide_kernel.hpp); what a slot held before never
// matters, because the first contribution is copied.
//
// Who has which part of it: slot_place.hpp. Used by the core's worker only.
#pragma once

#include "dataplane/core/slot_place.hpp"
#include "dataplane/core/zeroed_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::core {

class SlotMemory {
public:
  /// Rounded down to whole lines; 0 is none.
  explicit SlotMemory(std::uint64_t bytes)
      : lines_count_(bytes / slot_line_bytes), lines_(static_cast<std::size_t>(lines_count_)) {}

  [[nodiscard]] std::uint64_t lines() const { return lines_count_; }
  /// Of a slot that begins with this line. Requires that the line is there.
  [[nodiscard]] std::byte* slot(std::uint32_t line) { return lines_[line].data(); }
  [[nodiscard]] const std::byte* slot(std::uint32_t line) const { return lines_[line].data(); }

private:
  using Line = std::array<std::byte, slot_line_bytes>;

  std::uint64_t lines_count_;
  ZeroedTable<Line> lines_;
};

} // namespace tributary::core
