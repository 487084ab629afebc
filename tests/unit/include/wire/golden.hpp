// The worked frames of the wire format page, section 1.8, as fields and as bytes.
#pragma once

#include "tributary/wire/reduction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::test {

using Packet = std::array<std::uint8_t, wire::reduction_packet_bytes>;
using Frame = std::array<std::byte, wire::reduction_frame_bytes>;

/// Leaf NID 0x12345 contributes 1, -2, 3, 0x1122334455667788 to an INT_SUM of tree 0xABC.
inline wire::ReductionFrame contribution_frame() {
  wire::ReductionFrame f;
  f.destination = wire::port_mac(Nid{0x12345});
  f.source = wire::host_mac(Nid{0x12345});
  f.dscp = wire::dscp_leaf;
  f.vni = Vni{0x0400};
  f.source_nid = Nid{0x12345};
  f.tree = TreeNumber{0xABC};
  f.reduction = ReductionId{5};
  f.rank = 7;
  f.cookie = Cookie{0x677DAABC};
  f.word.seqno = SequenceNumber{0x155};
  f.word.resno = SequenceNumber{0x155};
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
  f.word.count = 1;
  f.payload = {1, static_cast<std::uint64_t>(-2), 3, 0x1122334455667788};
  return f;
}
inline constexpr Packet contribution_bytes{
    0x45, 0xd0, 0x00, 0x50, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xa3, 0xb7, 0x12, 0x34, 0x50, 0x00,
    0xff, 0x94, 0x55, 0xe7, 0xcd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x31, 0x00,
    0x07, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x00, 0x00, 0x2a, 0xa0, 0x00, 0x02, 0xa1, 0x55,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};

/// Root NID 1 arms the same tree with the sequence that receivers discard.
inline wire::ReductionFrame pre_arm_frame() {
  wire::ReductionFrame f;
  f.destination = wire::port_mac(Nid{1});
  f.source = wire::host_mac(Nid{1});
  f.dscp = wire::dscp_root;
  f.vni = Vni{0x0400};
  f.source_nid = Nid{1};
  f.tree = TreeNumber{0xABC};
  f.reduction = ReductionId{5};
  f.cookie = Cookie{0x677DAABC};
  f.word.seqno = pre_arm_sequence;
  f.word.resno = SequenceNumber{3};
  f.word.arm = true;
  f.word.pad = wire::pad_retry;
  return f;
}
inline constexpr Packet pre_arm_bytes{
    0x45, 0x20, 0x00, 0x50, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xf6, 0x9b, 0x00, 0x00, 0x10, 0x00,
    0xff, 0x94, 0x55, 0xe7, 0xcd, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x31, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x20, 0x00, 0x00, 0x60, 0x00, 0x00, 0x07, 0xfe};

/// Every field of the word with a distinctive value.
inline wire::ReductionWord all_fields_word() {
  wire::ReductionWord w;
  w.seqno = SequenceNumber{0x3FF};
  w.arm = true;
  w.op = 0x30;
  w.count = 0xFFFFF;
  w.resno = SequenceNumber{0x2AA};
  w.rc = 6;
  w.m = -26;
  w.overflow_id = 2;
  w.pad = 5;
  return w;
}
inline constexpr std::uint64_t all_fields_bits = 0xB733555FFFFF87FF;

inline Frame encoded(const wire::ReductionFrame& f) {
  Frame frame;
  wire::encode(f, frame);
  return frame;
}
inline std::byte* packet_of(Frame& frame) { return frame.data() + wire::ethernet_header_bytes; }

} // namespace tributary::test
