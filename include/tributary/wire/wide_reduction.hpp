// The wide reduction frame: a reduction frame whose payload is a vector of up to 64 KiB.
//
// Everything before the payload has the same position as in the 84-byte frame (reduction.hpp). With
// P bytes of payload these fields differ:
//
//   off size  field                     84-byte frame   wide frame
//     2   2   total length              80              48 + P
//    16   4   DFA                       id of 3 bits    id of 7 bits (fabric_address.hpp)
//    29  12b  request length            49              (17 + P) mod 4096
//    31   1   form                      0               3:0 element type, 7:4 zero (form.hpp)
//    40   8   reduction word            M, overflow id  both 0
//    48   P   payload                   4 x u64, BE     elements, LE
//
// Properties of a wide frame:
//
//   1. P is a multiple of 8, from 40 to 65,472. So a total length of 80 is always the 84-byte
//      frame's, and receivers without support refuse every wide frame by its length.
//   2. Vectors that do not fill a multiple of 8 bytes end with the operator's identity.
//   3. Elements are not aligned: 62 bytes of headers precede them in a frame.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/form.hpp"
#include "tributary/wire/reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::wire {

/// Bytes before the payload, without and with the Ethernet header.
inline constexpr std::size_t wide_packet_header_bytes = reduction_offset::payload;
inline constexpr std::size_t wide_header_bytes = ethernet_header_bytes + wide_packet_header_bytes;

inline constexpr std::size_t least_wide_payload = 40;
inline constexpr std::size_t most_wide_payload = 65'472;
/// A group's limit is a multiple of this.
inline constexpr std::size_t wide_payload_step = 64;

constexpr bool is_wide_payload(std::size_t bytes) {
  return bytes % 8 == 0 && bytes >= least_wide_payload && bytes <= most_wide_payload;
}
/// The longest payload for a group whose packets (the content after the Ethernet header) have at
/// most `packet_bytes`: 1,408 with an MTU of 1,500. 0 if no wide frame fits.
constexpr std::size_t wide_payload_limit(std::size_t packet_bytes) {
  if (packet_bytes < wide_packet_header_bytes + wide_payload_step) {
    return 0;
  }
  const std::size_t room = std::min(packet_bytes - wide_packet_header_bytes, most_wide_payload);
  return room / wide_payload_step * wide_payload_step;
}
/// Longest frame that switches take, with its Ethernet header and without FCS; and the longest
/// payload in it.
inline constexpr std::size_t longest_switched_frame = 9'216;
inline constexpr std::size_t longest_switched_payload =
    wide_payload_limit(longest_switched_frame - ethernet_header_bytes);

constexpr std::uint16_t wide_total_length(std::size_t payload_bytes) {
  return static_cast<std::uint16_t>(wide_packet_header_bytes + payload_bytes);
}
constexpr std::uint16_t wide_request_length(std::size_t payload_bytes) {
  return static_cast<std::uint16_t>((17 + payload_bytes) & 0xFFF);
}

/// The byte after the command, which is 0 in the 84-byte frame.
inline std::uint8_t form_byte_of(const std::byte* portals) {
  return std::to_integer<std::uint8_t>(portals[portals_offset::form]);
}
/// Whether the form byte is that of a wide frame.
constexpr bool is_wide_form(std::uint8_t form_byte) { return form_byte >= 1 && form_byte <= 7; }

/// All fields of one wide frame, except its payload.
struct WideFrame {
  std::uint16_t ethertype = default_ethertype;
  MacAddress destination{};
  MacAddress source{};
  std::uint8_t dscp = dscp_leaf;
  Vni vni;
  Nid source_nid;
  TreeNumber tree;
  ReductionId slot; ///< 0 to 127
  std::uint64_t signature = 0;
  std::uint32_t rank = 0;
  Cookie cookie;
  ReductionWord word;
  Form form = Form::bits64;
  std::size_t payload_bytes = 0; ///< satisfies is_wide_payload()
};

/// Writes the 62 bytes before the payload, so that the payload may be sent in place. The checksum
/// covers only the fabric header.
inline void encode_header(const WideFrame& f, std::span<std::byte, wide_header_bytes> out) {
  detail::write_reduction_headers(f, FabricAddress::multicast(f.tree, f.slot),
                                  wide_total_length(f.payload_bytes),
                                  wide_request_length(f.payload_bytes), out.data());
  out[ethernet_header_bytes + portals_offset::form] = static_cast<std::byte>(f.form);
}

/// The payload of a frame that was decoded to `f`.
inline std::span<const std::byte> payload_of(std::span<const std::byte> frame, const WideFrame& f) {
  return frame.subspan(wide_header_bytes, f.payload_bytes);
}

/// Reads a wide frame of the given EtherType; `out` is only written if the result is `none`. Bytes
/// past the payload are ignored. Frames whose opcode is incompatible with the form are decoded like
/// all others: they pass through switches.
inline DecodeError decode(std::span<const std::byte> frame, std::uint16_t ethertype,
                          WideFrame& out) {
  if (const DecodeError error = detail::check_tree_frame(
          frame, ethertype, reduction_action,
          [](std::size_t total_length) {
            return total_length > wide_packet_header_bytes &&
                   is_wide_payload(total_length - wide_packet_header_bytes);
          });
      error != DecodeError::none) {
    return error;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  const std::size_t payload_bytes = total_length_of(p) - wide_packet_header_bytes;
  if (request_length_of(p) != wide_request_length(payload_bytes)) {
    return DecodeError::wrong_request;
  }
  if (!is_wide_form(form_byte_of(p))) {
    return DecodeError::wrong_form;
  }
  detail::read_reduction_headers(frame.data(), ethertype, out);
  out.slot = dfa_of(p).slot();
  out.form = static_cast<Form>(form_byte_of(p));
  out.payload_bytes = payload_bytes;
  return DecodeError::none;
}

} // namespace tributary::wire
