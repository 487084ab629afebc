#include "tributary/wire/shared.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::test::shared {
namespace {

using wire::DecodeError;
using wire::SharedFrame;

using Bytes = std::vector<std::byte>;

/// Chunk 5 of leaf NID 0x12345, 100 bytes, on tree 0xABC.
SharedFrame chunk() {
  SharedFrame f;
  f.destination = wire::port_mac(Nid{0x12345});
  f.source = wire::host_mac(Nid{0x12345});
  f.vni = Vni{0x0400};
  f.source_nid = Nid{0x12345};
  f.tree = TreeNumber{0xABC};
  f.window = 0x0123456789ABCD;
  f.rank = 7;
  f.cookie = Cookie{0x677DAABC};
  f.chunk = 5;
  f.bytes = 100;
  return f;
}
constexpr std::array<std::uint8_t, wire::wide_packet_header_bytes> golden{
    0x45, 0x00, 0x00, 0x98, 0x04, 0x00, 0x00, 0x00, 0x5a, 0x77, 0xa4, 0x54, 0x12, 0x34, 0x50, 0x00,
    0xff, 0x80, 0x55, 0xe6, 0xce, 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0x00, 0x79, 0x00,
    0x07, 0x00, 0x00, 0x00, 0x67, 0x7d, 0xaa, 0xbc, 0x00, 0x00, 0x00, 0x00, 0x00, 0x64, 0x00, 0x05};

Bytes encoded(const SharedFrame& f) {
  std::array<std::byte, wire::shared_header_bytes> header{};
  wire::encode_header(f, header);
  Bytes frame(header.begin(), header.end());
  for (std::size_t i = 0; i < wire::padded_chunk(f.bytes); ++i) {
    frame.push_back(static_cast<std::byte>(i < f.bytes ? i : 0));
  }
  return frame;
}
std::byte* packet_of(Bytes& frame) { return frame.data() + wire::ethernet_header_bytes; }
DecodeError decode_error(std::span<const std::byte> frame) {
  SharedFrame out;
  return wire::decode(frame, wire::default_ethertype, out);
}
DecodeError error_with(std::size_t offset, std::uint8_t value) {
  Bytes frame = encoded(chunk());
  packet_of(frame)[offset] = std::byte{value};
  wire::write_fabric_header_checksum(packet_of(frame));
  return decode_error(frame);
}

TEST(shared_frame, is_golden_both_ways) {
  Bytes frame = encoded(chunk());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    EXPECT_EQ(packet_of(frame)[i], std::byte{golden[i]}) << "byte " << i;
  }
  SharedFrame back;
  ASSERT_EQ(wire::decode(frame, wire::default_ethertype, back), DecodeError::none);
  const SharedFrame sent = chunk();
  EXPECT_EQ(back.destination, sent.destination);
  EXPECT_EQ(back.source, sent.source);
  EXPECT_EQ(back.dscp, sent.dscp);
  EXPECT_EQ(back.vni, sent.vni);
  EXPECT_EQ(back.source_nid, sent.source_nid);
  EXPECT_EQ(back.tree, sent.tree);
  EXPECT_EQ(back.window, sent.window);
  EXPECT_EQ(back.round, sent.round);
  EXPECT_EQ(back.rank, sent.rank);
  EXPECT_EQ(back.cookie, sent.cookie);
  EXPECT_EQ(back.chunk, sent.chunk);
  EXPECT_EQ(back.bytes, sent.bytes);
  const auto bytes = wire::chunk_of(frame, back);
  EXPECT_EQ(bytes.data(), frame.data() + 62);
  EXPECT_EQ(bytes.size(), 100U);
}

TEST(shared_frame, carries_every_length_there_is) {
  for (std::size_t bytes = 1; bytes <= wire::most_chunk_bytes; bytes += bytes < 100 ? 1 : 997) {
    SharedFrame f = chunk();
    f.bytes = static_cast<std::uint16_t>(bytes);
    const Bytes frame = encoded(f);
    SharedFrame back;
    ASSERT_EQ(wire::decode(frame, wire::default_ethertype, back), DecodeError::none) << bytes;
    ASSERT_EQ(back.bytes, bytes);
    ASSERT_EQ(decode_error(std::span(frame).first(frame.size() - 1)), DecodeError::too_short);
  }
}

TEST(shared_frame, names_the_round_of_what_is_sent_again) {
  EXPECT_EQ(wire::round_of(SequenceNumber{0}), 0x80);
  EXPECT_EQ(wire::round_of(SequenceNumber{0x155}), 0xD5);
  EXPECT_EQ(error_with(wire::shared_offset::round, 0x80), DecodeError::none);
}

TEST(shared_frame, is_refused_with_any_field_that_does_not_fit) {
  EXPECT_EQ(error_with(0, 0x46), DecodeError::wrong_version);
  EXPECT_EQ(error_with(3, 0x97), DecodeError::wrong_length);
  EXPECT_EQ(error_with(3, 0x90), DecodeError::wrong_request);
  EXPECT_EQ(error_with(19, 0xE7), DecodeError::not_multicast);
  EXPECT_EQ(error_with(17, 0x84), DecodeError::wrong_form); // an id
  EXPECT_EQ(error_with(20, 0xCD), DecodeError::wrong_request);
  EXPECT_EQ(error_with(30, 0x78), DecodeError::wrong_request);
  EXPECT_EQ(error_with(31, 0x01), DecodeError::wrong_form);
  EXPECT_EQ(error_with(21, 0x01), DecodeError::wrong_chunk);
  EXPECT_EQ(error_with(40, 0x01), DecodeError::wrong_chunk);
  EXPECT_EQ(error_with(45, 0x60), DecodeError::wrong_chunk); // 96 bytes in 104
  EXPECT_EQ(error_with(45, 0x69), DecodeError::wrong_chunk); // 105 bytes in 104
}

TEST(shared_frame, and_reduction_frames_are_never_taken_for_each_other) {
  wire::ReductionFrame reduction;
  wire::WideFrame wide;
  const Bytes frame = encoded(chunk());
  EXPECT_EQ(wire::decode(frame, wire::default_ethertype, reduction), DecodeError::wrong_length);
  EXPECT_EQ(wire::decode(frame, wire::default_ethertype, wide), DecodeError::not_multicast);
  EXPECT_TRUE(wire::is_shared(wire::FabricAddress::shared(TreeNumber{7})));
  EXPECT_FALSE(wire::is_shared(wire::FabricAddress::multicast(TreeNumber{7}, ReductionId{0})));
  EXPECT_EQ(wire::FabricAddress::shared(TreeNumber{7}).tree(), TreeNumber{7});
}

} // namespace
} // namespace tributary::test::shared
