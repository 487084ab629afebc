// An arm of several reductions of a tree at once: a frame of 84 bytes from the root, with the arm
// bit and a reserved opcode. It travels down as any arm does, and arms each reduction of the set
// for its sequence; an arm for each would cost as many frames.
//
//   word 0   the first id: that of the frame's address
//   word 1   the hosts' own
//   word 2   the set: bit i is the reduction with id `first` + i
//   word 3   0
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/reduction.hpp"

#include <bit>
#include <cstdint>

namespace tributary::wire {

inline constexpr std::uint8_t arm_set_opcode = 0x3E;
static_assert(!is_supported(arm_set_opcode));
/// Reductions of one frame.
inline constexpr std::uint32_t most_armed_at_once = 64;

struct ArmSet {
  std::uint64_t first = 0;
  std::uint64_t of_hosts = 0; ///< switches ignore it
  std::uint64_t ids = 0;
  friend constexpr bool operator==(const ArmSet&, const ArmSet&) = default;

  /// Calls `f(id)` for each id of the set, lowest first.
  template <typename F> constexpr void for_each(F&& f) const {
    for (std::uint64_t rest = ids; rest != 0; rest &= rest - 1) {
      f(first + static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
  }
};

/// Whether a frame of 84 bytes with this word is one.
constexpr bool arms_set(const ReductionWord& word) { return word.arm && word.op == arm_set_opcode; }
constexpr Payload payload_of(const ArmSet& set) { return {set.first, set.of_hosts, set.ids, 0}; }
constexpr ArmSet arm_set_in(const Payload& payload) {
  return {.first = payload[0], .of_hosts = payload[1], .ids = payload[2]};
}

} // namespace tributary::wire
