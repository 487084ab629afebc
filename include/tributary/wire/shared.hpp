// The shared frame: data that a member of a group multicasts on the group's tree. Switches copy it
// to all ports of the tree but the one it came by, and never write it; no engine sees it
// (docs/protocol/shared-frames.md).
//
// Offsets from the start of the Portals packet. P' is the number of bytes that count, padded with
// zeros to a multiple of 8, at least 40: so that lengths are those of a wide frame.
//
//   off size order  field
//     0  20         fabric header (portals.hpp): total length 48 + P', DSCP 0
//    16   4   BE    DFA: 0x1FF, id bits 0, tree, action 6
//    20   1         command, 0xCE
//    21   1         round: 0 the first transmission; 0x80 | (r & 0x7F) sent again because of the
//                   acknowledgement result of sequence r
//    22   7   BE    window
//    29  12b  BE    request length, (17 + P') mod 4096
//    31   1         form, 0
//    32   4   LE    sender's rank in its group
//    36   4   BE    cookie
//    40   8   BE    bits 15:0 chunk of the window, 31:16 bytes that count, 63:32 zero
//    48   P'        bytes
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::wire {

inline constexpr std::uint8_t shared_command = 0xCE;
inline constexpr std::size_t shared_header_bytes = wide_header_bytes; ///< with Ethernet header
/// The longest chunk: its bytes that count have 16 bits.
inline constexpr std::size_t most_chunk_bytes = most_wide_payload;
inline constexpr std::uint8_t dscp_shared = 0;

namespace shared_offset {
inline constexpr std::size_t round = 21;
inline constexpr std::size_t window = 22;
inline constexpr std::size_t chunk = 40;
} // namespace shared_offset

/// P' of a chunk.
constexpr std::size_t padded_chunk(std::size_t bytes) {
  return std::max((bytes + 7) / 8 * 8, least_wide_payload);
}
/// The round of what is sent again because of the acknowledgement result of this sequence.
constexpr std::uint8_t round_of(SequenceNumber result) {
  return static_cast<std::uint8_t>(0x80U | (result.value() & 0x7FU));
}
inline constexpr std::uint8_t first_round = 0;

/// All fields of one shared frame, except its bytes.
struct SharedFrame {
  std::uint16_t ethertype = default_ethertype;
  MacAddress destination{};
  MacAddress source{};
  std::uint8_t dscp = dscp_shared;
  Vni vni;
  Nid source_nid;
  TreeNumber tree;
  std::uint64_t window = 0; ///< 56 bits
  std::uint8_t round = first_round;
  std::uint32_t rank = 0;
  Cookie cookie;
  std::uint16_t chunk = 0;
  std::uint16_t bytes = 0; ///< that count, 1 to `most_chunk_bytes`
};

/// Whether a destination is a tree's, for any member's multicast. The id bits are then 0.
constexpr bool is_shared(FabricAddress destination) {
  return destination.is_multicast() && destination.action() == shared_action;
}

/// Writes the 62 bytes before the chunk, so that the chunk may be sent in place. The checksum
/// covers only the fabric header.
inline void encode_header(const SharedFrame& f, std::span<std::byte, shared_header_bytes> out) {
  std::byte* const frame = out.data();
  const std::size_t padded = padded_chunk(f.bytes);
  write_ethernet_header(frame, f.destination, f.source, f.ethertype);
  std::byte* const p = frame + ethernet_header_bytes;
  std::memset(p, 0, wide_packet_header_bytes);
  p[portals_offset::version_ihl] = std::byte{portals_version_ihl};
  p[portals_offset::dscp_ecn] = static_cast<std::byte>(f.dscp << 2);
  store_be<std::uint16_t>(p + portals_offset::total_length, wide_total_length(padded));
  store_be<std::uint16_t>(p + portals_offset::vni, f.vni.value);
  p[portals_offset::ttl] = std::byte{portals_ttl};
  p[portals_offset::protocol] = std::byte{portals_protocol};
  store_be<std::uint32_t>(p + portals_offset::sfa, FabricAddress::unicast(f.source_nid).value);
  store_be<std::uint32_t>(p + portals_offset::dfa, FabricAddress::shared(f.tree).value);
  p[portals_offset::command] = std::byte{shared_command};
  p[shared_offset::round] = std::byte{f.round};
  store_signature(p, f.window);
  store_be<std::uint16_t>(p + portals_offset::request_length, wide_request_length(padded));
  store_le<std::uint32_t>(p + reduction_offset::rank, f.rank);
  store_be<std::uint32_t>(p + reduction_offset::cookie, f.cookie.value);
  store_be<std::uint64_t>(p + shared_offset::chunk,
                          std::uint64_t{f.bytes} << 16 | std::uint64_t{f.chunk});
  write_fabric_header_checksum(p);
}

/// The bytes that count of a frame that was decoded to `f`.
inline std::span<const std::byte> chunk_of(std::span<const std::byte> frame, const SharedFrame& f) {
  return frame.subspan(shared_header_bytes, f.bytes);
}

/// Reads a shared frame of the given EtherType; `out` is only written if the result is `none`.
/// Bytes past the padded chunk are ignored.
inline DecodeError decode(std::span<const std::byte> frame, std::uint16_t ethertype,
                          SharedFrame& out) {
  if (const DecodeError error = detail::check_tree_frame(
          frame, ethertype, shared_action,
          [](std::size_t total_length) {
            return total_length > wide_packet_header_bytes &&
                   is_wide_payload(total_length - wide_packet_header_bytes);
          });
      error != DecodeError::none) {
    return error;
  }
  const std::byte* const p = frame.data() + ethernet_header_bytes;
  const std::size_t padded = total_length_of(p) - wide_packet_header_bytes;
  if (p[portals_offset::command] != std::byte{shared_command} ||
      request_length_of(p) != wide_request_length(padded)) {
    return DecodeError::wrong_request;
  }
  if (form_byte_of(p) != 0 || dfa_of(p).slot().value != 0) {
    return DecodeError::wrong_form;
  }
  const auto round = std::to_integer<std::uint8_t>(p[shared_offset::round]);
  const auto word = load_be<std::uint64_t>(p + shared_offset::chunk);
  const auto bytes = static_cast<std::uint16_t>(word >> 16 & 0xFFFF);
  if (word >> 32 != 0 || bytes == 0 || padded_chunk(bytes) != padded ||
      (round != first_round && (round & 0x80U) == 0)) {
    return DecodeError::wrong_chunk;
  }
  out.ethertype = ethertype;
  std::memcpy(out.destination.data(), frame.data(), out.destination.size());
  std::memcpy(out.source.data(), frame.data() + 6, out.source.size());
  out.dscp = static_cast<std::uint8_t>(std::to_integer<unsigned>(p[portals_offset::dscp_ecn]) >> 2);
  out.vni = vni_of(p);
  out.source_nid = sfa_of(p).nid();
  out.tree = dfa_of(p).tree();
  out.window = signature_of(p);
  out.round = round;
  out.rank = load_le<std::uint32_t>(p + reduction_offset::rank);
  out.cookie = cookie_of(p);
  out.chunk = static_cast<std::uint16_t>(word & 0xFFFF);
  out.bytes = bytes;
  return DecodeError::none;
}

} // namespace tributary::wire
