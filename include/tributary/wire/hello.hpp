// The hello: announces each end of a link to the other.
//
// Switches send one out of every port, hosts out of their only one, at an interval. It never leaves
// the link: no bridge forwards its destination, and a switch delivers it to its agent only. Offsets
// count from the first byte after the Ethernet header, whose EtherType is that of all frames of the
// port, so that rules which steer those steer hellos, too.
//
//   off size  field
//     0    4  magic           00 "TRB"; no fabric header begins with 0, so that switches without
//                             support drop hellos as bad_version
//     4    1  version         1
//     5    1  kind            1 a switch's port, 2 a host; 3 is a link hello: link_hello.hpp
//     6    1  name length     1 to 63
//     7    1  port name length  0 to 15
//     8    8  guid            of the switch; 0 from a host
//    16    4  NID             of the host, valid in a unicast address; 0 from a switch
//    20    2  interval        until the next hello, ms; 0: no more hellos, the sender leaves
//    22    1  port number     of the switch, 0 to 63; 0 from a host
//    23    1  flags           bit 0: the switch sends link hellos to others with this flag. The
//                             others are sent as 0 and ignored
//    24    2  checksum        of bytes 0 to the end of the names, as in a fabric header
//    26       name, then port name; then zeros up to the shortest Ethernet frame, 60 bytes
//
// All multi-byte fields are big-endian. Names are letters, digits, '_', '-' and '.'. The NID is at
// the position of a fabric header's destination address and never looks like a multicast there.
//
// A receiver forgets a sender that has been silent for 3.5 of the sender's intervals.
//
// Pure: no I/O, no clock.
#pragma once

#include "tributary/text.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::wire {

/// The nearest non-TPMR bridge group address of IEEE 802.1Q: never forwarded, also used by LLDP.
inline constexpr MacAddress hello_destination = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E};
/// The first four bytes, as a big-endian number.
inline constexpr std::uint32_t hello_magic = 0x00545242;
inline constexpr std::uint8_t hello_version = 1;
inline constexpr std::size_t hello_header_bytes = 26;
/// Interval of hosts' hellos. The switch drops a host 3.5 intervals after its last hello.
inline constexpr std::chrono::milliseconds host_hello_interval{1000};
inline constexpr std::size_t max_hello_name = 63;
inline constexpr std::size_t max_hello_port_name = 15;
/// Without the FCS.
inline constexpr std::size_t shortest_ethernet_frame_bytes = 60;
inline constexpr std::size_t longest_hello_frame_bytes =
    ethernet_header_bytes + hello_header_bytes + max_hello_name + max_hello_port_name;

namespace hello_offset {
inline constexpr std::size_t version = 4;
inline constexpr std::size_t kind = 5;
inline constexpr std::size_t name_length = 6;
inline constexpr std::size_t port_name_length = 7;
inline constexpr std::size_t guid = 8;
inline constexpr std::size_t nid = 16;
inline constexpr std::size_t interval = 20;
inline constexpr std::size_t port = 22;
inline constexpr std::size_t flags = 23;
inline constexpr std::size_t checksum = 24;
} // namespace hello_offset

enum class HelloKind : std::uint8_t {
  switch_port = 1,
  host = 2,
  link = 3, ///< not a Hello but a LinkHello
};

namespace hello_flag {
inline constexpr std::byte link_hellos{1};
} // namespace hello_flag

struct Hello {
  HelloKind kind = HelloKind::switch_port;
  std::uint64_t guid = 0;           ///< of a switch
  PortNumber port{0};               ///< of a switch
  Nid nid;                          ///< of a host
  std::uint16_t interval_ms = 1000; ///< 0: the sender leaves
  bool link_hellos = false;         ///< for a switch: it sends them to others with this flag
  std::string name;                 ///< of the switch or host
  std::string port_name;            ///< of the switch's port or the host's interface; may be empty

  friend bool operator==(const Hello&, const Hello&) = default;
};

/// Why a buffer is not a hello.
enum class HelloError : std::uint8_t {
  none,
  too_short,       ///< ends within the header or the names
  wrong_ethertype, ///< not the given EtherType
  no_hello,        ///< does not begin with the magic
  unknown_version, ///< not version 1
  unknown_kind,    ///< not of the expected kinds
  wrong_checksum,
  bad_name,     ///< no name, too long, or with invalid bytes
  bad_port,     ///< a port number that no switch has
  bad_nid,      ///< not 20 bits, or it looks like a multicast
  bad_interval, ///< for a link hello: 0
};

constexpr std::string_view name_of(HelloError e) {
  switch (e) {
  case HelloError::none: return "none";
  case HelloError::too_short: return "too_short";
  case HelloError::wrong_ethertype: return "wrong_ethertype";
  case HelloError::no_hello: return "no_hello";
  case HelloError::unknown_version: return "unknown_version";
  case HelloError::unknown_kind: return "unknown_kind";
  case HelloError::wrong_checksum: return "wrong_checksum";
  case HelloError::bad_name: return "bad_name";
  case HelloError::bad_port: return "bad_port";
  case HelloError::bad_nid: return "bad_nid";
  case HelloError::bad_interval: return "bad_interval";
  }
  return "unknown";
}

/// Whether text consists only of letters, digits, '_', '-' and '.'; true for "".
constexpr bool has_hello_letters_only(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}
constexpr bool is_hello_name(std::string_view text) {
  return !text.empty() && text.size() <= max_hello_name && has_hello_letters_only(text) &&
         !is_dot_segment(text);
}
constexpr bool is_hello_port_name(std::string_view text) {
  return text.size() <= max_hello_port_name && has_hello_letters_only(text);
}

/// The guid of a switch without a configured one: a hash of its name, the same everywhere (64-bit
/// FNV-1a), never 0.
constexpr std::uint64_t guid_of_name(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) {
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3;
  }
  return hash == 0 ? 1 : hash;
}

/// The source address of a switch port's hellos: locally administered, from its guid. Hosts use
/// `host_mac`.
constexpr MacAddress hello_source(std::uint64_t guid, PortNumber port) {
  return {0x02,
          0xFD,
          static_cast<std::uint8_t>(guid >> 16),
          static_cast<std::uint8_t>(guid >> 8),
          static_cast<std::uint8_t>(guid),
          port.value};
}

/// Whether the content after an Ethernet header begins as a hello. Reads four bytes.
inline bool begins_hello(const std::byte* packet) {
  return load_be<std::uint32_t>(packet) == hello_magic;
}

/// Ones' complement sum of 16-bit words, folded; 0xFFFF if the checksum among them is valid.
inline std::uint16_t hello_sum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += std::uint64_t{std::to_integer<std::uint8_t>(bytes[i])} << (i % 2 == 0 ? 8 : 0);
  }
  while (sum > 0xFFFF) {
    sum = (sum & 0xFFFF) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(sum);
}

/// The whole frame, including the Ethernet header. Requires names, port and NID as described in the
/// file head.
inline std::vector<std::byte> encode(const Hello& hello,
                                     std::uint16_t ethertype = default_ethertype) {
  const std::size_t length = hello_header_bytes + hello.name.size() + hello.port_name.size();
  std::vector<std::byte> frame(
      std::max(shortest_ethernet_frame_bytes, ethernet_header_bytes + length));
  const bool host = hello.kind == HelloKind::host;
  write_ethernet_header(frame.data(), hello_destination,
                        host ? host_mac(hello.nid) : hello_source(hello.guid, hello.port),
                        ethertype);
  std::byte* p = frame.data() + ethernet_header_bytes;
  store_be<std::uint32_t>(p, hello_magic);
  p[hello_offset::version] = std::byte{hello_version};
  p[hello_offset::kind] = static_cast<std::byte>(hello.kind);
  p[hello_offset::name_length] = static_cast<std::byte>(hello.name.size());
  p[hello_offset::port_name_length] = static_cast<std::byte>(hello.port_name.size());
  store_be<std::uint64_t>(p + hello_offset::guid, host ? 0 : hello.guid);
  store_be<std::uint32_t>(p + hello_offset::nid, host ? hello.nid.value : 0);
  store_be<std::uint16_t>(p + hello_offset::interval, hello.interval_ms);
  p[hello_offset::port] = static_cast<std::byte>(host ? 0 : hello.port.value);
  p[hello_offset::flags] = !host && hello.link_hellos ? hello_flag::link_hellos : std::byte{0};
  std::byte* names = p + hello_header_bytes;
  std::memcpy(names, hello.name.data(), hello.name.size());
  std::memcpy(names + hello.name.size(), hello.port_name.data(), hello.port_name.size());
  store_be<std::uint16_t>(p + hello_offset::checksum,
                          static_cast<std::uint16_t>(~hello_sum({p, length})));
  return frame;
}

/// The same result as `decode`, without the contents.
inline HelloError check_hello(std::span<const std::byte> frame, std::uint16_t ethertype) {
  if (frame.size() < ethernet_header_bytes) {
    return HelloError::too_short;
  }
  if (ethertype_of(frame.data()) != ethertype) {
    return HelloError::wrong_ethertype;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  const std::size_t present = frame.size() - ethernet_header_bytes;
  if (present < hello_header_bytes) {
    return HelloError::too_short;
  }
  if (!begins_hello(p)) {
    return HelloError::no_hello;
  }
  if (p[hello_offset::version] != std::byte{hello_version}) {
    return HelloError::unknown_version;
  }
  const auto name_bytes = std::to_integer<std::size_t>(p[hello_offset::name_length]);
  const auto port_name_bytes = std::to_integer<std::size_t>(p[hello_offset::port_name_length]);
  const std::size_t length = hello_header_bytes + name_bytes + port_name_bytes;
  if (present < length) {
    return HelloError::too_short;
  }
  if (hello_sum({p, length}) != 0xFFFF) {
    return HelloError::wrong_checksum;
  }
  const auto kind = static_cast<HelloKind>(p[hello_offset::kind]);
  if (kind != HelloKind::switch_port && kind != HelloKind::host) {
    return HelloError::unknown_kind;
  }
  const auto* names = reinterpret_cast<const char*>(p + hello_header_bytes);
  if (!is_hello_name({names, name_bytes}) ||
      !is_hello_port_name({names + name_bytes, port_name_bytes})) {
    return HelloError::bad_name;
  }
  if (std::to_integer<std::size_t>(p[hello_offset::port]) >= max_ports) {
    return HelloError::bad_port;
  }
  if (!is_valid_nid(Nid{load_be<std::uint32_t>(p + hello_offset::nid)})) {
    return HelloError::bad_nid;
  }
  return HelloError::none;
}

/// Reads a hello of the given EtherType; `out` is only written if the result is `none`. Bytes after
/// the names are ignored.
inline HelloError decode(std::span<const std::byte> frame, std::uint16_t ethertype, Hello& out) {
  const HelloError error = check_hello(frame, ethertype);
  if (error != HelloError::none) {
    return error;
  }
  const std::byte* p = frame.data() + ethernet_header_bytes;
  const bool host = static_cast<HelloKind>(p[hello_offset::kind]) == HelloKind::host;
  const auto* names = reinterpret_cast<const char*>(p + hello_header_bytes);
  const auto name_bytes = std::to_integer<std::size_t>(p[hello_offset::name_length]);
  out.kind = host ? HelloKind::host : HelloKind::switch_port;
  out.guid = host ? 0 : load_be<std::uint64_t>(p + hello_offset::guid);
  out.port =
      PortNumber{host ? std::uint8_t{0} : std::to_integer<std::uint8_t>(p[hello_offset::port])};
  out.nid = Nid{host ? load_be<std::uint32_t>(p + hello_offset::nid) : 0};
  out.interval_ms = load_be<std::uint16_t>(p + hello_offset::interval);
  out.link_hellos = !host && (p[hello_offset::flags] & hello_flag::link_hellos) != std::byte{0};
  out.name.assign(names, name_bytes);
  out.port_name.assign(names + name_bytes,
                       std::to_integer<std::size_t>(p[hello_offset::port_name_length]));
  return HelloError::none;
}

} // namespace tributary::wire
