// The 14-byte Ethernet header in front of every Portals frame ("soft portals").
//
//   off  size  field
//     0     6  destination MAC   host -> switch 02:fe:00:0N:NN:NN, the port of the host
//     6     6  source MAC        host 02:00:00:0N:NN:NN
//    12     2  EtherType         configurable per port, 0x88B5 by default
//
// N:NN:NN is the 20-bit NID. Switches read only the EtherType.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::wire {

inline constexpr std::size_t ethernet_header_bytes = 14;
/// IEEE 802 local experimental EtherType 1.
inline constexpr std::uint16_t default_ethertype = 0x88B5;
/// EtherType of the Link Layer Discovery Protocol.
inline constexpr std::uint16_t lldp_ethertype = 0x88CC;

using MacAddress = std::array<std::uint8_t, 6>;

constexpr MacAddress mac_with_nid(std::uint8_t second_octet, Nid nid) {
  return {0x02,
          second_octet,
          0x00,
          static_cast<std::uint8_t>((nid.value >> 16) & 0x0F),
          static_cast<std::uint8_t>(nid.value >> 8),
          static_cast<std::uint8_t>(nid.value)};
}
/// The MAC address of the host with this NID.
constexpr MacAddress host_mac(Nid nid) { return mac_with_nid(0x00, nid); }
/// The MAC address of the switch port to which the host with this NID is attached.
constexpr MacAddress port_mac(Nid nid) { return mac_with_nid(0xFE, nid); }
/// The NID in the low 20 bits of a MAC address.
constexpr Nid nid_of(const MacAddress& mac) {
  return Nid{(std::uint32_t{mac[3]} & 0x0FU) << 16 | std::uint32_t{mac[4]} << 8 | mac[5]};
}

inline std::uint16_t ethertype_of(const std::byte* frame) {
  return load_be<std::uint16_t>(frame + 12);
}

/// Whether no bridge forwards its destination (IEEE 802.1Q, table 8-1): pause frames, spanning
/// trees, link aggregation, LLDP.
inline bool is_link_local(const std::byte* frame) {
  return load_be<std::uint32_t>(frame) == 0x0180C200 &&
         (load_be<std::uint16_t>(frame + 4) & 0xFFF0) == 0;
}

inline void write_ethernet_header(std::byte* frame, const MacAddress& destination,
                                  const MacAddress& source, std::uint16_t ethertype) {
  std::memcpy(frame, destination.data(), destination.size());
  std::memcpy(frame + 6, source.data(), source.size());
  store_be<std::uint16_t>(frame + 12, ethertype);
}

} // namespace tributary::wire
