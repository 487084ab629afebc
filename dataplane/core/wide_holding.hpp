// How a descriptor says that a slot holds its data.
//
// A descriptor (descriptor.hpp) is the same for both forms of frames. What differs while it holds
// the vectors of wide ones:
//
//   match                its `wide` bit is set, so that a frame of 84 bytes never compares equal
//   accumulator.payload  [0] the shape of what is held, [1] the first line of the slot, the rest 0
//   accumulator, other   opcode, code, source and count, as ever
//
// So a contribution in the middle of a reduction touches the descriptor's line and its slot, and
// nothing else. Where opcode, form or length differ the slot is given up: the descriptor then holds
// four words, and those are the report that two opcodes make (wire-format.md, 4.8). It leaves as a
// frame of 84 bytes, for which the saved header is made over.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/wide_shape.hpp"
#include "tributary/reduce/reducer.hpp"

#include <cstdint>

namespace tributary::core {

/// Of a descriptor whose match is wide.
inline WideShape held_shape(const Descriptor& d) {
  return WideShape::from_word(d.accumulator.payload[0]);
}
inline std::uint32_t held_line(const Descriptor& d) {
  return static_cast<std::uint32_t>(d.accumulator.payload[1]);
}

/// Whether a contribution can be added to what is held. `op`: as it came.
inline bool can_be_added(const Descriptor& d, WideShape shape, std::uint8_t op) {
  return d.match.is_wide() && held_shape(d) == shape &&
         static_cast<std::uint8_t>(d.accumulator.op) == op;
}

/// Makes a frame's saved header that of a frame of 84 bytes.
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

/// Takes in a contribution that cannot be combined with what is held, whatever the opcodes say: a
/// report comes of it, or stays, or is taken over. Counts and signatures are the caller's.
inline void combine_another_form(Descriptor& d, DescriptorRecord& record,
                                 reduce::Contribution contribution, reduce::NanMode mode) {
  if (d.match.is_wide()) {
    d.accumulator.payload = {};
    d.match = d.match.narrow();
    make_short_form(record.header.data());
  }
  // Two forms of one opcode are as two opcodes.
  if (contribution.op == d.accumulator.op) {
    contribution.op =
        contribution.op == wire::Opcode::barrier ? wire::Opcode::bit_xor : wire::Opcode::barrier;
  }
  reduce::combine(d.accumulator, contribution, mode);
}

} // namespace tributary::core
