// The 802.1Q tag, which carries a frame's traffic class across a link between switches. It exists
// on the wire only: the port's edge strips and inserts it.
//
//   off size  field
//     0   12  MAC addresses   as without a tag
//    12    2  0x8100
//    14    2  bits 15:13      priority: the traffic class
//             bit  12         drop eligible: sent as 0, ignored
//             bits 11:0       VLAN id; 0: priority only
//    16       EtherType       of the frame, and its content
//
// Both operations move the addresses, not the content, so that a frame begins four bytes later
// without its tag, and four bytes earlier with one. Pure.
#pragma once

#include "tributary/traffic_class.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::wire {

inline constexpr std::uint16_t vlan_ethertype = 0x8100;
inline constexpr std::size_t vlan_tag_bytes = 4;
/// 4095 is reserved.
inline constexpr std::uint16_t max_vlan_id = 4094;

struct VlanTag {
  TrafficClass priority;
  std::uint16_t vlan_id = 0;

  friend bool operator==(const VlanTag&, const VlanTag&) = default;
};

/// Requires an Ethernet header.
inline bool has_vlan_tag(const std::byte* frame) { return ethertype_of(frame) == vlan_ethertype; }

/// Requires a frame with a whole tag.
inline VlanTag vlan_tag_of(const std::byte* frame) {
  const auto control = load_be<std::uint16_t>(frame + ethernet_header_bytes);
  return {TrafficClass{static_cast<std::uint8_t>(control >> 13)},
          static_cast<std::uint16_t>(control & 0x0FFF)};
}

/// Removes the tag; the frame then begins at the returned address, and is four bytes shorter.
/// Requires a frame with a whole tag.
inline std::byte* strip_vlan_tag(std::byte* frame) {
  std::array<std::byte, 12> addresses;
  std::memcpy(addresses.data(), frame, addresses.size());
  std::memcpy(frame + vlan_tag_bytes, addresses.data(), addresses.size());
  return frame + vlan_tag_bytes;
}

/// Inserts a tag; the frame then begins at the returned address, and is four bytes longer. Requires
/// four writable bytes in front of the frame.
inline std::byte* insert_vlan_tag(std::byte* frame, VlanTag tag) {
  std::array<std::byte, 12> addresses;
  std::memcpy(addresses.data(), frame, addresses.size());
  std::byte* tagged = frame - vlan_tag_bytes;
  std::memcpy(tagged, addresses.data(), addresses.size());
  store_be<std::uint16_t>(tagged + 12, vlan_ethertype);
  store_be<std::uint16_t>(
      tagged + ethernet_header_bytes,
      static_cast<std::uint16_t>(tag.priority.value << 13 | (tag.vlan_id & 0x0FFF)));
  return tagged;
}

} // namespace tributary::wire
