// The interface and direction of each packet of a pcapng capture, in file order. libpcap, which
// reads the frames, does not report them.
//
// Malformed input ends the reading silently: libpcap reads the same file and reports the error.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace tributary::pktgen::capture {

struct PacketOrigin {
  enum class Direction : std::uint8_t { unknown, inbound, outbound };
  std::uint32_t interface = 0; ///< in the order of the interfaces in their section
  Direction direction = Direction::unknown;
};

struct PacketOrigins {
  std::vector<std::string> interfaces; ///< their names; empty where they have none
  std::vector<PacketOrigin> packets;
};

/// Nothing when it is not pcapng.
[[nodiscard]] std::optional<PacketOrigins> read_packet_origins(std::istream& in);

} // namespace tributary::pktgen::capture
