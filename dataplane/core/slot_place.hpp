// A tree's place in slot memory: where the vectors of its reductions are held.
//
// Slot memory is one area in each core of a switch (slot_memory.hpp). A tree with wide frames has a
// place in it, with one slot for each reduction it may have in flight:
//
//     first line
//     | slot of id 0 | slot of id 1 | ... | slot of id slots - 1 |
//       stride bytes
//
// A tree with in-switch results (in_switch_decide.hpp) has as many more after them, each as long as
// its longest payload, for the last result of each id.
//
// The stride is the tree's longest payload; twice that if the tree may add up 16-bit floats, which
// are held as 32-bit ones. Slots are identified by the number of their first line of 64 bytes, so
// that a number fits into 32 bits, and so that kernels find them aligned.
//
// Places are assigned with the snapshot (slot_dealer.hpp). They are ranges of one number space for
// a switch with several cores, too: a core uses those of the trees whose parents it owns, and the
// rest of its area is never touched.
#pragma once

#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tributary::core {

/// Default of each core: 372 trees with 128 slots of 1,408 bytes.
inline constexpr std::uint64_t default_wide_memory = std::uint64_t{64} << 20;
inline constexpr std::size_t slot_line_bytes = reduce::wide_slot_alignment;

/// A tree's demand for slots. By default none: eight reductions in flight, and no wide frames.
struct SlotDemand {
  /// Reductions in flight: 8, 16, 32, 64 or 128.
  std::uint32_t slots = reductions_per_tree;
  /// The longest payload of its frames, a multiple of 64 bytes; 0: no wide frames.
  std::uint32_t payload_bytes = 0;
  /// Whether it may add up 16-bit floats.
  bool half_floats = false;
  /// Whether the switch is next to the root and sends in-switch results: one more vector per slot.
  bool in_switch = false;

  [[nodiscard]] constexpr bool any() const { return payload_bytes != 0; }
  [[nodiscard]] constexpr std::uint64_t stride_bytes() const {
    return std::uint64_t{payload_bytes} * (half_floats ? 2 : 1);
  }
  [[nodiscard]] constexpr std::uint64_t bytes() const {
    return slots * (stride_bytes() + (in_switch ? payload_bytes : 0));
  }
  friend constexpr bool operator==(const SlotDemand&, const SlotDemand&) = default;
};

/// All zero: the tree has no place.
struct SlotPlace {
  std::uint32_t first_line = 0;
  std::uint16_t payload_bytes = 0; ///< the longest payload
  bool half_floats : 1 = false;
  bool in_switch : 1 = false;
  std::uint8_t slots = 0; ///< one for each reduction id; 0, 8, 16, ... 128

  constexpr SlotPlace() = default;
  constexpr SlotPlace(const SlotDemand& demand, std::uint64_t line)
      : first_line(static_cast<std::uint32_t>(line)),
        payload_bytes(static_cast<std::uint16_t>(demand.payload_bytes)),
        half_floats(demand.half_floats), in_switch(demand.in_switch),
        slots(static_cast<std::uint8_t>(demand.slots)) {}

  [[nodiscard]] constexpr SlotDemand demand() const {
    return slots == 0 ? SlotDemand{} : SlotDemand{slots, payload_bytes, half_floats, in_switch};
  }
  [[nodiscard]] constexpr std::uint32_t stride_lines() const {
    return std::uint32_t{payload_bytes} * (half_floats ? 2U : 1U) /
           static_cast<std::uint32_t>(slot_line_bytes);
  }
  [[nodiscard]] constexpr std::uint32_t payload_lines() const {
    return std::uint32_t{payload_bytes} / static_cast<std::uint32_t>(slot_line_bytes);
  }
  [[nodiscard]] constexpr std::uint64_t lines() const {
    return std::uint64_t{slots} * (stride_lines() + (in_switch ? payload_lines() : 0));
  }
  /// The first line of a reduction's slot. Requires an id below `slots`.
  [[nodiscard]] constexpr std::uint32_t line_of(ReductionId id) const {
    return first_line + id.value * stride_lines();
  }
  /// Where the last result of a reduction is kept. Requires a tree with in-switch results.
  [[nodiscard]] constexpr std::uint32_t kept_line_of(ReductionId id) const {
    return first_line + slots * stride_lines() + id.value * payload_lines();
  }
  friend constexpr bool operator==(const SlotPlace&, const SlotPlace&) = default;
};
static_assert(sizeof(SlotPlace) == 8);

/// Whether a tree may have this number of reductions in flight.
constexpr bool is_slot_count(std::uint64_t slots) {
  return slots >= reductions_per_tree && slots <= most_reductions_per_tree &&
         std::has_single_bit(slots);
}
/// Whether this may be the longest payload of a tree with wide frames.
constexpr bool is_slot_payload(std::uint64_t bytes) {
  return bytes != 0 && bytes % wire::wide_payload_step == 0 && bytes <= wire::most_wide_payload;
}

} // namespace tributary::core
