// The data unit of the Link Layer Discovery Protocol (IEEE 802.1AB): what a station says about
// itself to the other end of a link.
//
// Behind an Ethernet header of EtherType 0x88CC there are TLVs: 7 bits of type, 9 of length, and
// as many bytes. The first three are there, in this order; the last one is of type 0 and empty.
//
//   type  TLV                   value
//      1  chassis ID            subtype, then 1 to 255 bytes          required, first
//      2  port ID               subtype, then 1 to 255 bytes          required, second
//      3  time to live          16 bits, seconds; 0: the sender leaves  required, third
//      4  port description      text
//      5  system name           text
//      6  system description    text
//      7  capabilities          16 bits that it has, 16 that are in use
//      8  management address    ignored here
//      0  end
//
// What a station sends is data of a stranger: texts are kept without anything but printable ASCII,
// and no longer than `longest_text`; other types are skipped; a second TLV of a kind is ignored.
//
// Pure: no I/O, no clock.
#pragma once

#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/hello.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::lldp {

/// The nearest bridge: no bridge passes it on.
inline constexpr wire::MacAddress destination = wire::hello_destination;
/// Of a longer text the rest is left out.
inline constexpr std::size_t longest_text = 128;
/// The longest frame that `encode` makes of texts of at most `longest_text` bytes.
inline constexpr std::size_t longest_frame_bytes = 768;

namespace capability {
inline constexpr std::uint16_t bridge = 1U << 2U;
inline constexpr std::uint16_t station = 1U << 7U;
} // namespace capability

/// "bridge", "router", ...: those of an announcement.
[[nodiscard]] std::vector<std::string_view> capability_names(std::uint16_t capabilities);

/// As texts: a MAC address of six octets with colons, other binary identifiers in hex.
struct Announcement {
  std::string chassis;
  std::string port;
  std::uint16_t ttl_seconds = 120; ///< 0: the sender leaves
  std::string port_description;
  std::string system_name;
  std::string system_description;
  std::uint16_t capabilities = 0; ///< in use

  friend bool operator==(const Announcement&, const Announcement&) = default;
};

enum class Error : std::uint8_t {
  none,
  no_lldp,     ///< too short for an Ethernet header, or another EtherType
  truncated,   ///< ends within a TLV
  wrong_order, ///< does not begin with chassis ID, port ID and time to live
  bad_id,      ///< an identifier without a value, or too long
  bad_ttl,     ///< a time to live of less than two bytes
};

constexpr std::string_view name_of(Error e) {
  switch (e) {
  case Error::none: return "none";
  case Error::no_lldp: return "no_lldp";
  case Error::truncated: return "truncated";
  case Error::wrong_order: return "wrong_order";
  case Error::bad_id: return "bad_id";
  case Error::bad_ttl: return "bad_ttl";
  }
  return "unknown";
}

/// The whole frame. Chassis and port are sent as locally assigned text, the capability as bridge;
/// longer texts than `longest_text` are cut. Requires that chassis and port are not empty.
[[nodiscard]] std::vector<std::byte> encode(const Announcement& announcement,
                                            const wire::MacAddress& source);

/// `out` is only written when the answer is `none`. Bytes behind the end are ignored; an end that
/// is missing is taken as there, for padding may have been cut.
[[nodiscard]] Error decode(std::span<const std::byte> frame, Announcement& out);

} // namespace tributary::lldp
