// How a descriptor records that a slot holds its data.
//
// A descriptor (descriptor.hpp) is the same for both forms of frames. What differs while it holds
// the vectors of wide ones:
//
//   match                its `wide` bit is set, so that a frame of 84 bytes never compares equal
//   accumulator.payload  [0] the shape of the vector, [1] the first line of the slot, the rest 0
//   accumulator, other   opcode, code, source and count, as always
//
// So a contribution in the middle of a reduction touches only the descriptor's line and its slot.
// If opcode, form or length differ, the slot is given up: the descriptor then holds four words, the
// report of two opcodes (wire-format.md, 4.8). It leaves as a frame of 84 bytes, for which the
// saved header is converted.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/wide_shape.hpp"
#include "tributary/reduce/reducer.hpp"

#include <cstdint>

namespace tributary::core {

/// Requires a descriptor whose match is wide.
inline WideShape held_shape(const Descriptor& d) {
  return WideShape::from_word(d.accumulator.payload[0]);
}
inline std::uint32_t held_line(const Descriptor& d) {
  return static_cast<std::uint32_t>(d.accumulator.payload[1]);
}

/// Whether a contribution can be added to the held data. `op`: as received.
inline bool can_be_added(const Descriptor& d, WideShape shape, std::uint8_t op) {
  return d.match.is_wide() && held_shape(d) == shape &&
         static_cast<std::uint8_t>(d.accumulator.op) == op;
}

/// Converts a frame's saved header to that of a frame of 84 bytes.
inline void make_short_form(std::byte* frame) {
  std::byte* p = frame + wire::ethernet_header_bytes;
  const auto flags = static_cast<std::uint16_t>(
      wire::load_be<std::uint16_t>(p + wire::portals_offset::request_length) & 0xF000U);
  wire::store_be<std::uint16_t>(p + wire::portals_offset::total_length,
                                wire::reduction_packet_bytes);
  wire::store_be<std::uint16_t>(p + wire::portals_offset::request_length,
                                static_cast<std::uint16_t>(flags | wire::reduction_request_length));
  p[wire::portals_offset::form] = std::byte{0};
  wire::write_fabric_header_checksum(p);
}

/// Takes in a contribution that cannot be combined with the held data: makes, keeps or takes over a
/// report. The caller updates counts and signatures.
inline void combine_another_form(Descriptor& d, DescriptorRecord& record,
                                 reduce::Contribution contribution, reduce::NanMode mode) {
  if (d.match.is_wide()) {
    d.accumulator.payload = {};
    d.match = d.match.narrow();
    make_short_form(record.header.data());
  }
  // Two forms of one opcode are reported like two opcodes.
  if (contribution.op == d.accumulator.op) {
    contribution.op =
        contribution.op == wire::Opcode::barrier ? wire::Opcode::bit_xor : wire::Opcode::barrier;
  }
  reduce::combine(d.accumulator, contribution, mode);
}

} // namespace tributary::core
