// Pause frames: one end of a link asks the other one to stop sending for a while.
//
// Priority flow control, IEEE 802.1Qbb (802.1Q clause 36, the frame in 802.3 annex 31D):
//
//   off size  field
//     0    6  destination     01:80:C2:00:00:01, which no bridge forwards
//     6    6  source          of the requesting port
//    12    2  EtherType       0x8808, MAC control
//    14    2  opcode          0x0101
//    16    2  class enable    bit c: quanta c below is valid; the high byte is reserved, sent as 0
//                             and ignored
//    18   16  quanta          eight of 16 bits, class 0 first; 0 ends a pause (XON)
//    34   26  zeros           up to the shortest Ethernet frame
//
// The older pause of the whole link, IEEE 802.3 annex 31B ("802.3x"), has the opcode 0x0001 and one
// quanta at 16. It is read as a pause of all classes, and never sent.
//
// A quantum is the time of 512 bits at the link's speed. All fields are big-endian. Pause frames
// carry no 802.1Q tag. Pure: no I/O, no clock.
#pragma once

#include "tributary/traffic_class.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tributary::wire {

inline constexpr MacAddress pause_destination = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x01};
inline constexpr std::uint16_t mac_control_ethertype = 0x8808;
inline constexpr std::uint16_t link_pause_opcode = 0x0001;
inline constexpr std::uint16_t class_pause_opcode = 0x0101;
/// Length of a sent frame, without the FCS.
inline constexpr std::size_t pause_frame_bytes = 60;
inline constexpr std::uint16_t longest_pause = 0xFFFF;
inline constexpr std::uint64_t bits_per_quantum = 512;

namespace pause_offset {
inline constexpr std::size_t opcode = ethernet_header_bytes;
inline constexpr std::size_t class_enable = opcode + 2;
inline constexpr std::size_t quanta = class_enable + 2;
/// In a pause of the whole link.
inline constexpr std::size_t link_quanta = opcode + 2;
} // namespace pause_offset

struct PauseFrame {
  ClassSet classes; ///< classes that it names
  /// By class; 0 ends the pause. 0 for classes that it does not name.
  std::array<std::uint16_t, traffic_classes> quanta{};

  friend bool operator==(const PauseFrame&, const PauseFrame&) = default;
};

/// Why a MAC control frame is not a pause frame.
enum class PauseError : std::uint8_t {
  none,
  too_short,         ///< ends within its quanta
  wrong_ethertype,   ///< not a MAC control frame
  wrong_destination, ///< not sent to the destination of pause frames
  unknown_opcode,    ///< MAC control, but not a pause
};

constexpr std::string_view name_of(PauseError e) {
  switch (e) {
  case PauseError::none: return "none";
  case PauseError::too_short: return "too_short";
  case PauseError::wrong_ethertype: return "wrong_ethertype";
  case PauseError::wrong_destination: return "wrong_destination";
  case PauseError::unknown_opcode: return "unknown_opcode";
  }
  return "unknown";
}

/// Whether a frame is for the port itself and must not be processed otherwise. Requires an Ethernet
/// header.
inline bool is_mac_control(const std::byte* frame) {
  return ethertype_of(frame) == mac_control_ethertype;
}

/// The duration of pause quanta at a link's speed, rounded up. Requires a speed above 0.
constexpr std::uint64_t pause_ns(std::uint16_t quanta, std::uint32_t speed_mbps) {
  return (quanta * bits_per_quantum * 1000 + speed_mbps - 1) / speed_mbps;
}

/// Writes a priority flow control frame.
inline void encode(const PauseFrame& pause, const MacAddress& source,
                   std::span<std::byte, pause_frame_bytes> frame) {
  std::fill(frame.begin(), frame.end(), std::byte{0});
  write_ethernet_header(frame.data(), pause_destination, source, mac_control_ethertype);
  store_be<std::uint16_t>(frame.data() + pause_offset::opcode, class_pause_opcode);
  store_be<std::uint16_t>(frame.data() + pause_offset::class_enable, pause.classes.bits());
  for (std::size_t c = 0; c < traffic_classes; ++c) {
    store_be<std::uint16_t>(frame.data() + pause_offset::quanta + 2 * c, pause.quanta[c]);
  }
}

/// Reads either kind; `out` is only written if the result is `none`.
inline PauseError decode(std::span<const std::byte> frame, PauseFrame& out) {
  if (frame.size() < pause_offset::link_quanta + 2) {
    return PauseError::too_short;
  }
  if (!is_mac_control(frame.data())) {
    return PauseError::wrong_ethertype;
  }
  if (std::memcmp(frame.data(), pause_destination.data(), pause_destination.size()) != 0) {
    return PauseError::wrong_destination;
  }
  const auto opcode = load_be<std::uint16_t>(frame.data() + pause_offset::opcode);
  if (opcode == link_pause_opcode) {
    out.classes = ClassSet::all();
    out.quanta.fill(load_be<std::uint16_t>(frame.data() + pause_offset::link_quanta));
    return PauseError::none;
  }
  if (opcode != class_pause_opcode) {
    return PauseError::unknown_opcode;
  }
  if (frame.size() < pause_offset::quanta + 2 * traffic_classes) {
    return PauseError::too_short;
  }
  out = {};
  out.classes = ClassSet(std::to_integer<std::uint8_t>(frame[pause_offset::class_enable + 1]));
  out.classes.for_each([&](TrafficClass c) {
    out.quanta[c.value] =
        load_be<std::uint16_t>(frame.data() + pause_offset::quanta + std::size_t{2} * c.value);
  });
  return PauseError::none;
}

} // namespace tributary::wire
