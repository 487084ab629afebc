#include "tests/unit/include/wire/golden.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tributary::test {
namespace {

std::vector<int> packet_bytes(const Frame& frame) {
  std::vector<int> bytes;
  for (std::size_t i = wire::ethernet_header_bytes; i < frame.size(); ++i) {
    bytes.push_back(std::to_integer<int>(frame[i]));
  }
  return bytes;
}
Frame frame_with(const Packet& packet, const wire::MacAddress& destination,
                 const wire::MacAddress& source) {
  Frame frame;
  wire::write_ethernet_header(frame.data(), destination, source, wire::default_ethertype);
  std::memcpy(packet_of(frame), packet.data(), packet.size());
  return frame;
}

void expect_same(const wire::ReductionFrame& a, const wire::ReductionFrame& b) {
  EXPECT_EQ(a.ethertype, b.ethertype);
  EXPECT_EQ(a.destination, b.destination);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.dscp, b.dscp);
  EXPECT_EQ(a.vni, b.vni);
  EXPECT_EQ(a.source_nid, b.source_nid);
  EXPECT_EQ(a.tree, b.tree);
  EXPECT_EQ(a.reduction, b.reduction);
  EXPECT_EQ(a.signature, b.signature);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.cookie, b.cookie);
  EXPECT_EQ(a.word, b.word);
  EXPECT_EQ(a.payload, b.payload);
}

void expect_golden(const wire::ReductionFrame& fields, const Packet& bytes) {
  const Frame frame = encoded(fields);
  EXPECT_EQ(packet_bytes(frame), std::vector<int>(bytes.begin(), bytes.end()));
  wire::ReductionFrame back;
  ASSERT_EQ(wire::decode(frame_with(bytes, fields.destination, fields.source),
                         wire::default_ethertype, back),
            wire::DecodeError::none);
  expect_same(back, fields);
}

TEST(GoldenFrame, ContributionBothWays) { expect_golden(contribution_frame(), contribution_bytes); }

TEST(GoldenFrame, PreArmBothWays) { expect_golden(pre_arm_frame(), pre_arm_bytes); }

TEST(GoldenFrame, AllFieldsPatternBothWays) {
  EXPECT_EQ(wire::pack(all_fields_word()), all_fields_bits);
  EXPECT_EQ(wire::unpack(all_fields_bits), all_fields_word());
  EXPECT_EQ(wire::FabricAddress::multicast(TreeNumber{8191}, ReductionId{7}).value, 0xFF9CFFFFU);

  wire::ReductionFrame f = contribution_frame();
  f.tree = TreeNumber{8191};
  f.reduction = ReductionId{7};
  f.cookie = Cookie{0x677DFFFF};
  f.word = all_fields_word();
  Frame frame = encoded(f);
  const std::byte* const p = packet_of(frame);
  const std::array<std::uint8_t, 12> header{0x67, 0x7d, 0xff, 0xff, 0xb7, 0x33,
                                            0x55, 0x5f, 0xff, 0xff, 0x87, 0xff};
  EXPECT_EQ(std::memcmp(p + wire::reduction_offset::cookie, header.data(), header.size()), 0);
  EXPECT_EQ(wire::dfa_of(p).value, 0xFF9CFFFFU);
  wire::ReductionFrame back;
  ASSERT_EQ(wire::decode(frame, wire::default_ethertype, back), wire::DecodeError::none);
  expect_same(back, f);
}

TEST(GoldenFrame, EthernetHeaderOfAHostsFrame) {
  const Frame frame = encoded(contribution_frame());
  const std::array<std::uint8_t, 14> header{0x02, 0xfe, 0x00, 0x01, 0x23, 0x45, 0x02,
                                            0x00, 0x00, 0x01, 0x23, 0x45, 0x88, 0xb5};
  EXPECT_EQ(std::memcmp(frame.data(), header.data(), header.size()), 0);
}

TEST(GoldenFrame, PayloadWordsAreSwappedOneByOne) {
  wire::ReductionFrame f = contribution_frame();
  f.payload = {0x0102030405060708, 0, 0, 0xA1A2A3A4A5A6A7A8};
  Frame frame = encoded(f);
  const std::byte* const p = packet_of(frame) + wire::reduction_offset::payload;
  EXPECT_EQ(p[0], std::byte{0x01});
  EXPECT_EQ(p[7], std::byte{0x08});
  EXPECT_EQ(p[24], std::byte{0xA1});
  EXPECT_EQ(p[31], std::byte{0xA8});
}

TEST(GoldenFrame, RankIsTheOneLittleEndianField) {
  wire::ReductionFrame f = contribution_frame();
  f.rank = 0x01020304;
  Frame frame = encoded(f);
  const std::byte* const p = packet_of(frame) + wire::reduction_offset::rank;
  EXPECT_EQ(p[0], std::byte{0x04});
  EXPECT_EQ(p[3], std::byte{0x01});
}

} // namespace
} // namespace tributary::test
