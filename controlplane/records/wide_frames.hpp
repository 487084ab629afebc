// Frames of a tree: how many reductions may be in flight on it, how much of a vector a frame
// carries (docs/protocol/groups.md, "Wide frames"), and whether any member may multicast.
//
//   slots    8, 16, 32, 64 or 128
//   payload  bytes of elements in a frame: 32 in the 84-byte form, which every tree has; in wide
//            frames a larger multiple of 64
//
// Each switch on the tree reserves `bytes()` in its memory for wide frames. Trees without wide
// frames have eight slots, and no reservation. Plain data.
#pragma once

#include "tributary/types.hpp"

#include <bit>
#include <cstdint>

namespace tributary::records {

struct WideFrames {
  static constexpr std::uint32_t least_slots = reductions_per_tree;
  static constexpr std::uint32_t most_slots = most_reductions_per_tree;
  /// Payload of the 84-byte form.
  static constexpr std::uint32_t narrow_payload = 32;
  /// Larger payloads are multiples of this.
  static constexpr std::uint32_t payload_step = 64;
  static constexpr std::uint32_t most_payload = 65'472;

  std::uint32_t slots = least_slots;
  std::uint32_t payload = narrow_payload;
  /// Whether switches may reduce 16-bit floats, which they hold as 32-bit ones.
  bool half_floats = false;
  /// For one switch only: it sends in-switch results, and keeps the last one of each slot
  /// (docs/protocol/in-switch-results.md).
  bool in_switch = false;
  /// Any member may multicast on it (docs/protocol/shared-frames.md).
  bool shared = false;

  [[nodiscard]] constexpr bool any() const { return payload > narrow_payload; }
  [[nodiscard]] constexpr std::uint64_t bytes() const {
    return any() ? std::uint64_t{slots} * payload * ((half_floats ? 2 : 1) + (in_switch ? 1 : 0))
                 : 0;
  }
  /// Whether the values are valid for a tree.
  [[nodiscard]] constexpr bool is_sound() const {
    return any() ? slots >= least_slots && slots <= most_slots && std::has_single_bit(slots) &&
                       payload % payload_step == 0 && payload <= most_payload
                 : slots == least_slots && payload == narrow_payload && !half_floats;
  }
  friend constexpr bool operator==(const WideFrames&, const WideFrames&) = default;
};

/// The largest valid payload that is not above `bytes`.
constexpr std::uint32_t payload_within(std::uint64_t bytes) {
  constexpr std::uint64_t step = WideFrames::payload_step;
  constexpr std::uint64_t most = WideFrames::most_payload;
  return bytes < step ? WideFrames::narrow_payload
                      : static_cast<std::uint32_t>((bytes < most ? bytes : most) / step * step);
}
/// The largest valid number of slots that is not above `slots`. Requires at least 8.
constexpr std::uint32_t slots_within(std::uint32_t slots) {
  return std::bit_floor(slots < WideFrames::most_slots ? slots : WideFrames::most_slots);
}

} // namespace tributary::records
