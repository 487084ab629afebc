// 32-bit fabric addresses.
//
//   multicast (DFA only)              unicast (SFA, DFA)
//   bits   field         value        bits   field
//    2:0   action        7            11:0   end point; 0 in the SFA of a multicast frame
//   15:3   tree          0..8191      31:12  NID; may not begin with nine 1 bits
//   17:16  slot 6:5      0
//   20:18  reduction id  0..7
//   22:21  slot 4:3      0
//   31:23  format        0x1FF
//
// A tree with eight reductions in flight has the ids 0 to 7, and the four other bits are sent as 0
// and ignored on receipt. A tree with wide frames may have 128: these bits hold bits 6:3 of an id.
#pragma once

#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::wire {

struct FabricAddress {
  std::uint32_t value = 0;
  friend constexpr bool operator==(FabricAddress, FabricAddress) = default;

  static constexpr FabricAddress multicast(TreeNumber tree, ReductionId id) {
    const std::uint32_t bits = id.value;
    return {0xFF800000U | (bits >> 3 & 3U) << 21 | (bits & 7U) << 18 | (bits >> 5 & 3U) << 16 |
            (tree.value & 0x1FFFU) << 3 | 7U};
  }
  static constexpr FabricAddress unicast(EndPoint to) {
    return {(to.nid.value & max_nid) << 12 | (to.number & (end_points_per_host - 1U))};
  }

  [[nodiscard]] constexpr bool is_multicast() const { return value >> 23 == 0x1FF; }
  /// The low three bits; 7 for a reduction or multicast.
  [[nodiscard]] constexpr std::uint32_t action() const { return value & 7U; }
  [[nodiscard]] constexpr TreeNumber tree() const {
    return TreeNumber{static_cast<std::uint16_t>(value >> 3 & (max_trees - 1))};
  }
  /// For a tree with eight reductions in flight.
  [[nodiscard]] constexpr ReductionId reduction() const {
    return ReductionId{static_cast<std::uint8_t>(value >> 18 & 7U)};
  }
  /// For a tree with up to 128: all seven bits.
  [[nodiscard]] constexpr ReductionId slot() const {
    return ReductionId{static_cast<std::uint8_t>((value >> 18 & 7U) | (value >> 21 & 3U) << 3 |
                                                 (value >> 16 & 3U) << 5)};
  }
  [[nodiscard]] constexpr Nid nid() const { return Nid{value >> 12}; }
  /// The end point of a unicast address.
  [[nodiscard]] constexpr EndPoint end_point() const {
    return {nid(), static_cast<std::uint16_t>(value & (end_points_per_host - 1U))};
  }
};

/// Whether a unicast address can hold the NID: twenty bits that do not look like a multicast.
constexpr bool is_valid_nid(Nid nid) { return nid.value <= max_nid && nid.value >> 11 != 0x1FF; }

} // namespace tributary::wire
