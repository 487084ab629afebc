// Numbered frames for tests of ports, and what a test does with them.
#pragma once

#include "pktgen/transport/port.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace tributary::pktgen::test {

inline constexpr std::uint32_t number_frame_bytes = 60;

using Numbers = std::vector<std::uint64_t>;
using Frame = std::vector<std::byte>;

inline Numbers numbers(std::uint64_t first, std::uint64_t count) {
  Numbers all(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    all[i] = first + i;
  }
  return all;
}

inline void write_number(std::byte* frame, std::uint64_t number) {
  wire::write_ethernet_header(frame, {}, {}, wire::default_ethertype);
  wire::store_be<std::uint64_t>(frame + wire::ethernet_header_bytes, number);
}

/// Pushes and flushes; false when the port did not take all of them.
inline bool send_numbers(Port& port, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte* room = port.room();
    if (room == nullptr) {
      return false;
    }
    write_number(room, first + i);
    port.push(number_frame_bytes);
  }
  port.flush();
  return port.pending() == 0;
}

/// Takes frames until there are so many, or until none came for long; further ones would be seen
/// with `count` 0.
inline std::vector<Frame> receive_frames(Port& port, std::size_t count) {
  std::vector<Frame> frames;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {
    for (const core::FrameView& frame : port.receive()) {
      frames.emplace_back(frame.data, frame.data + frame.length);
    }
    if (frames.size() < count) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } while (frames.size() < count && std::chrono::steady_clock::now() < deadline);
  return frames;
}

inline Numbers receive_numbers(Port& port, std::size_t count) {
  Numbers all;
  for (const Frame& frame : receive_frames(port, count)) {
    all.push_back(wire::load_be<std::uint64_t>(frame.data() + wire::ethernet_header_bytes));
  }
  return all;
}

} // namespace tributary::pktgen::test
