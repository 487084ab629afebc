// The link hello: shows whether frames pass a link between two switches, in both directions.
//
// Two switches that have found each other by hellos (hello.hpp), both with the link hello flag,
// send them at a short interval. Each names the port it receives link hellos from, so that both
// ends detect a link that works in one direction only. Offsets count from the first byte after the
// Ethernet header; common fields of both kinds of hellos have the same position.
//
//   off size  field
//     0    4  magic           00 "TRB"
//     4    1  version         1
//     5    1  kind            3
//     6    2  reserved        sent as 0, ignored
//     8    8  guid            of the sender
//    16    4  sequence        increments with each link hello of this port; wraps
//    20    2  interval        upper limit until the next one, ms; not 0
//    22    1  port number     of the sender, 0 to 63
//    23    1  flags           bit 0: the heard fields are valid. Bit 1: it uses the link. Others
//                             are sent as 0 and ignored
//    24    2  checksum        of bytes 0 to 35
//    26    8  heard guid      of the switch whose hellos arrive; 0 without bit 0
//    34    1  heard port      of that switch; 0 without bit 0
//    35    1  reserved        sent as 0, ignored
//    36       zeros up to the shortest Ethernet frame, 60 bytes
//
// All multi-byte fields are big-endian.
//
// Pure: no I/O, no clock, no allocation.
#pragma once

#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/hello.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary::wire {

/// Checks the kind of a hello. Requires six bytes.
inline bool begins_link_hello(const std::byte* packet) {
  return begins_hello(packet) &&
         packet[hello_offset::kind] == static_cast<std::byte>(HelloKind::link);
}

/// A port of a switch, as identified to other switches.
struct LinkEnd {
  std::uint64_t guid = 0;
  PortNumber port{0};

  friend bool operator==(const LinkEnd&, const LinkEnd&) = default;
};

struct LinkHello {
  LinkEnd sender;
  std::uint32_t sequence = 0;
  std::uint16_t interval_ms = 10;
  bool uses_link = false;       ///< the sender sends other frames over it
  std::optional<LinkEnd> heard; ///< received by the sender, recently

  friend bool operator==(const LinkHello&, const LinkHello&) = default;
};

inline constexpr std::size_t link_hello_bytes = 36;
inline constexpr std::size_t link_hello_frame_bytes = shortest_ethernet_frame_bytes;
static_assert(ethernet_header_bytes + link_hello_bytes <= link_hello_frame_bytes);

namespace link_hello_offset {
inline constexpr std::size_t sequence = 16;
inline constexpr std::size_t heard_guid = 26;
inline constexpr std::size_t heard_port = 34;
} // namespace link_hello_offset

namespace link_hello_flag {
inline constexpr std::byte hears{1};
inline constexpr std::byte uses_link{2};
} // namespace link_hello_flag

using LinkHelloFrame = std::array<std::byte, link_hello_frame_bytes>;

/// The whole frame, including the Ethernet header. Requires ports and an interval as described in
/// the file head.
inline LinkHelloFrame encode(const LinkHello& hello, std::uint16_t ethertype = default_ethertype) {
  LinkHelloFrame frame{};
  write_ethernet_header(frame.data(), hello_destination,
                        hello_source(hello.sender.guid, hello.sender.port), ethertype);
  std::byte* p = frame.data() + ethernet_header_bytes;
  store_be<std::uint32_t>(p, hello_magic);
  p[hello_offset::version] = std::byte{hello_version};
  p[hello_offset::kind] = static_cast<std::byte>(HelloKind::link);
  store_be<std::uint64_t>(p + hello_offset::guid, hello.sender.guid);
  store_be<std::uint32_t>(p + link_hello_offset::sequence, hello.sequence);
  store_be<std::uint16_t>(p + hello_offset::interval, hello.interval_ms);
  p[hello_offset::port] = static_cast<std::byte>(hello.sender.port.value);
  p[hello_offset::flags] = (hello.heard ? link_hello_flag::hears : std::byte{0}) |
                           (hello.uses_link ? link_hello_flag::uses_link : std::byte{0});
  if (hello.heard) {
    store_be<std::uint64_t>(p + link_hello_offset::heard_guid, hello.heard->guid);
    p[link_hello_offset::heard_port] = static_cast<std::byte>(hello.heard->port.value);
  }
  store_be<std::uint16_t>(p + hello_offset::checksum,
                          static_cast<std::uint16_t>(~hello_sum({p, link_hello_bytes})));
  return frame;
}

/// Whether this is a link hello, and if not, why.
inline HelloError check_link_hello(std::span<const std::byte> frame, std::uint16_t ethertype) {
  if (frame.size() < ethernet_header_bytes) {
    return HelloError::too_short;
  }
  if (ethertype_of(frame.data()) != ethertype) {
    return HelloError::wrong_ethertype;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  if (frame.size() - ethernet_header_bytes < link_hello_bytes) {
    return HelloError::too_short;
  }
  if (!begins_hello(p)) {
    return HelloError::no_hello;
  }
  if (p[hello_offset::version] != std::byte{hello_version}) {
    return HelloError::unknown_version;
  }
  if (!begins_link_hello(p)) {
    return HelloError::unknown_kind;
  }
  if (hello_sum({p, link_hello_bytes}) != 0xFFFF) {
    return HelloError::wrong_checksum;
  }
  if (std::to_integer<std::size_t>(p[hello_offset::port]) >= max_ports ||
      std::to_integer<std::size_t>(p[link_hello_offset::heard_port]) >= max_ports) {
    return HelloError::bad_port;
  }
  return load_be<std::uint16_t>(p + hello_offset::interval) != 0 ? HelloError::none
                                                                 : HelloError::bad_interval;
}

/// Reads a link hello of the given EtherType; `out` is only written if the result is `none`.
inline HelloError decode(std::span<const std::byte> frame, std::uint16_t ethertype,
                         LinkHello& out) {
  const HelloError error = check_link_hello(frame, ethertype);
  if (error != HelloError::none) {
    return error;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  const std::byte flags = p[hello_offset::flags];
  out.sender = {load_be<std::uint64_t>(p + hello_offset::guid),
                PortNumber{std::to_integer<std::uint8_t>(p[hello_offset::port])}};
  out.sequence = load_be<std::uint32_t>(p + link_hello_offset::sequence);
  out.interval_ms = load_be<std::uint16_t>(p + hello_offset::interval);
  out.uses_link = (flags & link_hello_flag::uses_link) != std::byte{0};
  out.heard.reset();
  if ((flags & link_hello_flag::hears) != std::byte{0}) {
    out.heard = {load_be<std::uint64_t>(p + link_hello_offset::heard_guid),
                 PortNumber{std::to_integer<std::uint8_t>(p[link_hello_offset::heard_port])}};
  }
  return HelloError::none;
}

} // namespace tributary::wire
