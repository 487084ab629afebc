// The data unit of the Link Layer Discovery Protocol (IEEE 802.1AB): a station's announcement to
// the other end of a link.
//
// After an Ethernet header of EtherType 0x88CC there are TLVs: 7 bits of type, 9 of length, and
// that many bytes. The first three are required, in this order; the last one is of type 0 and
// empty.
//
//   type  TLV                   value
//      1  chassis ID            subtype, then 1 to 255 bytes          required, first
//      2  port ID               subtype, then 1 to 255 bytes          required, second
//      3  time to live          16 bits, seconds; 0: the sender leaves  required, third
//      4  port description      text
//      5  system name           text
//      6  system description    text
//      7  capabilities          16 bits supported, 16 bits enabled
//      8  management address    ignored here
//      0  end
//
// Received data is untrusted: texts are reduced to printable ASCII, and to `longest_text`; other
// types are skipped; a second TLV of a kind is ignored.
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

/// The nearest bridge: no bridge forwards it.
inline constexpr wire::MacAddress destination = wire::hello_destination;
/// Longer texts are cut to this length, in bytes.
inline constexpr std::size_t longest_text = 128;
/// The longest frame that `encode` makes of texts of at most `longest_text` bytes.
inline constexpr std::size_t longest_frame_bytes = 768;

namespace capability {
inline constexpr std::uint16_t bridge = 1U << 2U;
inline constexpr std::uint16_t station = 1U << 7U;
} // namespace capability

/// The names of an announcement's capabilities: "bridge", "router", ...
[[nodiscard]] std::vector<std::string_view> capability_names(std::uint16_t capabilities);

/// As texts: a MAC address as six octets with colons, other binary identifiers in hex.
struct Announcement {
  std::string chassis;
  std::string port;
  std::uint16_t ttl_seconds = 120; ///< 0: the sender leaves
  std::string port_description;
  std::string system_name;
  std::string system_description;
  std::uint16_t capabilities = 0; ///< enabled ones

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
/// texts longer than `longest_text` are cut. Requires that chassis and port are not empty.
[[nodiscard]] std::vector<std::byte> encode(const Announcement& announcement,
                                            const wire::MacAddress& source);

/// `out` is only written if the result is `none`. Bytes after the end are ignored; a missing end is
/// accepted, as padding may have been cut.
[[nodiscard]] Error decode(std::span<const std::byte> frame, Announcement& out);

} // namespace tributary::lldp
