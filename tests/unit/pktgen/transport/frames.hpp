// Numbered frames for tests of ports, and helpers for them.
#pragma once

#include "pktgen/transport/port.hpp"
#include "tests/support/eventually.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"
#include "tributary/wire/reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::pktgen::transport::test {

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

/// The shortest Ethernet frame, to an address of the fabric, with a number behind its headers.
inline void write_number(std::byte* frame, std::uint64_t number,
                         wire::FabricAddress to = wire::FabricAddress::unicast(Nid{1})) {
  using namespace wire;
  std::fill(frame, frame + number_frame_bytes, std::byte{0});
  write_ethernet_header(frame, {}, {}, default_ethertype);
  std::byte* const fabric = frame + ethernet_header_bytes;
  fabric[portals_offset::version_ihl] = std::byte{portals_version_ihl};
  store_be<std::uint16_t>(fabric + portals_offset::total_length,
                          number_frame_bytes - ethernet_header_bytes);
  store_be(fabric + portals_offset::dfa, to.value);
  write_fabric_header_checksum(fabric);
  store_be(fabric + fabric_header_bytes, number);
}

inline std::uint64_t number_in(const std::byte* frame) {
  return wire::load_be<std::uint64_t>(frame + wire::ethernet_header_bytes +
                                      wire::fabric_header_bytes);
}

/// False when the port has no room.
inline bool push_number(Port& port, std::uint64_t number,
                        wire::FabricAddress to = wire::FabricAddress::unicast(Nid{1})) {
  std::byte* room = port.room();
  if (room == nullptr) {
    return false;
  }
  write_number(room, number, to);
  port.push(number_frame_bytes);
  return true;
}

/// Pushes and flushes; false when the port did not take all of them.
inline bool send_numbers(Port& port, std::uint64_t first, std::uint64_t count,
                         wire::FabricAddress to = wire::FabricAddress::unicast(Nid{1})) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!push_number(port, first + i, to)) {
      return false;
    }
  }
  port.flush();
  return port.pending() == 0;
}

inline bool send_reduction(Port& port, const wire::ReductionFrame& frame) {
  std::byte* room = port.room();
  if (room == nullptr) {
    return false;
  }
  wire::encode(
      frame, std::span<std::byte, wire::reduction_frame_bytes>(room, wire::reduction_frame_bytes));
  port.push(static_cast<std::uint32_t>(wire::reduction_frame_bytes));
  port.flush();
  return port.pending() == 0;
}

/// Arms reduction 0 of a tree, or contributes `value` to it.
inline wire::ReductionFrame reduction(TreeNumber tree, bool arm, std::uint64_t value = 0) {
  wire::ReductionFrame f;
  f.dscp = arm ? wire::dscp_root : wire::dscp_leaf;
  f.vni = Vni{1};
  f.tree = tree;
  f.cookie = Cookie{0x7EED};
  f.word.seqno = f.word.resno = SequenceNumber{7};
  f.word.arm = arm;
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
  f.word.count = arm ? 0 : 1;
  f.payload = {value, 2 * value, 3 * value, 4 * value};
  return f;
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
  for (const Frame& frame : receive_frames(port, count)) {
    all.push_back(number_in(frame.data()));
  }
  return all;
}

} // namespace tributary::pktgen::transport::test
