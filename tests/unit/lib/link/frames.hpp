// Numbered and random frames for tests of ports, and helpers for them.
#pragma once

#include "lib/link/port.hpp"
#include "tests/support/eventually.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tributary::link::test {

using Frame = std::vector<std::byte>;
using Numbers = std::vector<std::uint64_t>;

inline constexpr std::size_t number_frame_bytes = 60;
inline constexpr std::uint16_t ethertype = wire::default_ethertype;

inline Numbers numbers(std::uint64_t first, std::uint64_t count) {
  Numbers all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    all[i] = first + i;
  }
  return all;
}

/// The shortest Ethernet frame, to an unused address, with two words behind its header: the number
/// is the first eight bytes.
inline Frame numbered(std::uint64_t number, std::size_t bytes = number_frame_bytes) {
  Frame frame(bytes);
  wire::write_ethernet_header(frame.data(), wire::port_mac(Nid{0x777}), {}, ethertype);
  wire::store_be(frame.data() + wire::ethernet_header_bytes, number);
  return frame;
}

inline std::uint64_t number_in(const FrameView& frame) {
  return wire::load_be<std::uint64_t>(frame.data + wire::ethernet_header_bytes);
}

/// A frame of any length that the port takes, with any content behind the header.
inline Frame random_frame(std::mt19937_64& random, std::uint32_t longest) {
  constexpr std::uint32_t shortest = number_frame_bytes;
  // Short ones, long ones, and lengths in between.
  const std::uint32_t bytes =
      random() % 3 == 0   ? shortest
      : random() % 3 == 0 ? longest
                          : shortest + static_cast<std::uint32_t>(random() % (longest - shortest));
  Frame frame(bytes);
  std::generate(frame.begin(), frame.end(), [&] { return static_cast<std::byte>(random()); });
  wire::write_ethernet_header(frame.data(), wire::port_mac(Nid{0x777}), {}, ethertype);
  return frame;
}

/// False when the port has no room.
inline bool push(Port& port, const Frame& frame) {
  std::byte* const room = port.room();
  if (room == nullptr) {
    return false;
  }
  std::copy(frame.begin(), frame.end(), room);
  port.push(static_cast<std::uint32_t>(frame.size()));
  return true;
}

/// Pushes and flushes; false when the port did not take all of them.
inline bool send_numbers(Port& port, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!push(port, numbered(first + i))) {
      return false;
    }
  }
  port.flush();
  return port.pending() == 0;
}

/// Takes frames until `count` have arrived, or none arrives any more; `count` 0 shows any further
/// ones.
inline std::vector<Frame> receive_frames(Port& port, std::size_t count) {
  std::vector<Frame> frames;
  tributary::test::eventually([&] {
    for (const FrameView& frame : port.receive()) {
      frames.emplace_back(frame.data, frame.data + frame.length);
    }
    return frames.size() >= count;
  });
  return frames;
}

inline Numbers receive_numbers(Port& port, std::size_t count) {
  Numbers all;
  for (Frame& frame : receive_frames(port, count)) {
    all.push_back(number_in({frame.data(), static_cast<std::uint32_t>(frame.size())}));
  }
  return all;
}

} // namespace tributary::link::test
