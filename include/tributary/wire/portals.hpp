// The 20-byte fabric header (an IPv4 look-alike) and the 11-byte restricted Portals command.
// Offsets count from the first byte of the Portals packet, after the Ethernet header.
//
//   off size bits  field                  reductions
//     0   1   7:4  version                4
//             3:0  ihl                    5 (20 bytes)
//     1   1   7:2  DSCP                   8 from the root, 52 from a leaf
//             1:0  ECN                    0
//     2   2        total length           80
//     4   2        VNI
//     6   2        reserved, spt_idx, try 0
//     8   1        TTL                    90
//     9   1        protocol               119
//    10   2        header checksum        the IPv4 one, over bytes 0..19
//    12   4        SFA                    NID << 12
//    16   4        DFA                    fabric_address.hpp
//    20   1        request, type, opcode  0xCD; any is accepted
//    21   1        flush, pktid, index    0
//    22   7        remote offset          the contribution signature (reduction.hpp), or 0
//    29   2        flags, request length  49
//
// All multi-byte fields are big-endian.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::wire {

inline constexpr std::size_t fabric_header_bytes = 20;

namespace portals_offset {
inline constexpr std::size_t version_ihl = 0;
inline constexpr std::size_t dscp_ecn = 1;
inline constexpr std::size_t total_length = 2;
inline constexpr std::size_t vni = 4;
inline constexpr std::size_t ttl = 8;
inline constexpr std::size_t protocol = 9;
inline constexpr std::size_t checksum = 10;
inline constexpr std::size_t sfa = 12;
inline constexpr std::size_t dfa = 16;
inline constexpr std::size_t command = 20;
inline constexpr std::size_t remote_offset = 22;
inline constexpr std::size_t request_length = 29;
inline constexpr std::size_t form = 31; ///< after the command
} // namespace portals_offset

inline constexpr std::uint8_t portals_version_ihl = 0x45;
inline constexpr std::uint8_t portals_ttl = 90;
inline constexpr std::uint8_t portals_protocol = 119;
inline constexpr std::uint8_t dscp_root = 8;
inline constexpr std::uint8_t dscp_leaf = 52;
/// request, restricted packet, opcode 13 (reduction)
inline constexpr std::uint8_t reduction_command = 0xCD;

/// Ones' complement sum of the ten 16-bit words of a fabric header, folded to 16 bits. 0xFFFF for a
/// header with a valid checksum.
inline std::uint16_t fabric_header_sum(const std::byte* portals) {
  // Ones' complement sums are the same in either byte order, up to a swap of the result, and in any
  // word size up to folding: five native 32-bit loads suffice.
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < fabric_header_bytes; i += 4) {
    std::uint32_t word;
    std::memcpy(&word, portals + i, sizeof word);
    sum += word;
  }
  sum = (sum & 0xFFFFFFFFU) + (sum >> 32);
  sum = (sum & 0xFFFFU) + (sum >> 16);
  sum = (sum & 0xFFFFU) + (sum >> 16);
  sum = (sum & 0xFFFFU) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}
inline bool fabric_header_checksum_ok(const std::byte* portals) {
  return fabric_header_sum(portals) == 0xFFFF;
}
/// Writes the checksum of an otherwise complete fabric header.
inline void write_fabric_header_checksum(std::byte* portals) {
  store_be<std::uint16_t>(portals + portals_offset::checksum, 0);
  const auto sum = static_cast<std::uint16_t>(~fabric_header_sum(portals));
  std::memcpy(portals + portals_offset::checksum, &sum, sizeof sum);
}

inline std::uint16_t total_length_of(const std::byte* portals) {
  return load_be<std::uint16_t>(portals + portals_offset::total_length);
}
inline Vni vni_of(const std::byte* portals) {
  return Vni{load_be<std::uint16_t>(portals + portals_offset::vni)};
}
inline FabricAddress sfa_of(const std::byte* portals) {
  return {load_be<std::uint32_t>(portals + portals_offset::sfa)};
}
inline FabricAddress dfa_of(const std::byte* portals) {
  return {load_be<std::uint32_t>(portals + portals_offset::dfa)};
}
/// The 12-bit request length after its four flag bits.
inline std::uint16_t request_length_of(const std::byte* portals) {
  return load_be<std::uint16_t>(portals + portals_offset::request_length) & 0x0FFFU;
}

} // namespace tributary::wire
