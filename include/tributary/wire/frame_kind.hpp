// The kind of a frame, by its headers alone: for capture filters. Nothing else is checked, so that
// a frame that a switch refuses has a kind, too.
#pragma once

#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/shared.hpp"
#include "tributary/wire/vlan_tag.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tributary::wire {

/// `reduction`: of 84 bytes after the Ethernet header; `shared`: what any member multicasts;
/// `hello`: including link hellos.
enum class FrameKind : std::uint8_t { reduction, wide, shared, rdma, hello, lldp, other };
inline constexpr std::array<std::string_view, 7> frame_kinds = {
    "reduction", "wide", "shared", "rdma", "hello", "lldp", "other"};
/// Whether frames of the kind have a cookie, all at the same place.
constexpr bool has_cookie(FrameKind kind) { return kind <= FrameKind::shared; }

/// The content after a frame's Ethernet header and VLAN tag; empty if there is none.
struct Packet {
  std::uint16_t ethertype = 0;
  std::span<const std::byte> bytes;
};
inline Packet packet_of(std::span<const std::byte> frame) {
  std::size_t header = ethernet_header_bytes;
  if (frame.size() < header) {
    return {};
  }
  std::uint16_t ethertype = ethertype_of(frame.data());
  if (ethertype == vlan_ethertype && frame.size() >= header + vlan_tag_bytes) {
    header += vlan_tag_bytes;
    ethertype = load_be<std::uint16_t>(frame.data() + header - 2);
  }
  return {ethertype, frame.subspan(header)};
}

inline bool has_fabric_header(const Packet& packet) {
  return packet.bytes.size() >= fabric_header_bytes &&
         packet.bytes[portals_offset::version_ihl] == std::byte{portals_version_ihl} &&
         packet.bytes[portals_offset::protocol] == std::byte{portals_protocol};
}

inline FrameKind kind_of(const Packet& packet) {
  if (packet.ethertype == lldp_ethertype) {
    return FrameKind::lldp;
  }
  if (packet.bytes.size() >= sizeof hello_magic &&
      load_be<std::uint32_t>(packet.bytes.data()) == hello_magic) {
    return FrameKind::hello;
  }
  if (!has_fabric_header(packet) || packet.bytes.size() <= portals_offset::command) {
    return FrameKind::other;
  }
  if (packet.bytes[portals_offset::command] == std::byte{rdma_command}) {
    return FrameKind::rdma;
  }
  // Any other command counts as a reduction's, in frames to a tree.
  if (!dfa_of(packet.bytes.data()).is_multicast()) {
    return FrameKind::other;
  }
  if (is_shared(dfa_of(packet.bytes.data()))) {
    return FrameKind::shared;
  }
  return total_length_of(packet.bytes.data()) == reduction_packet_bytes ? FrameKind::reduction
                                                                        : FrameKind::wide;
}

} // namespace tributary::wire
