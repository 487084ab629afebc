// The kind of each frame of the fabric, and of foreign frames.
#include "dataplane/impairment/frame_kind.hpp"

#include "tributary/wire/link_hello.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::impairment::test {
namespace {

constexpr std::uint16_t fabric = wire::default_ethertype;

Kind kind(std::vector<std::byte> bytes) {
  return kind_of({bytes.data(), static_cast<std::uint32_t>(bytes.size())}, fabric);
}
std::vector<std::byte> of_ethertype(std::uint16_t type, std::size_t length = 64) {
  std::vector<std::byte> bytes(length);
  wire::store_be(bytes.data() + 12, type);
  return bytes;
}
std::vector<std::byte> reduction(std::uint8_t dscp) {
  std::vector<std::byte> bytes(wire::reduction_frame_bytes);
  wire::ReductionFrame frame;
  frame.dscp = dscp;
  frame.tree = TreeNumber{5};
  wire::encode(frame, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
  return bytes;
}

TEST(FrameKind, reduction_frames_are_distinguished_by_who_sent_them) {
  EXPECT_EQ(kind(reduction(wire::dscp_leaf)), Kind::reduction);
  EXPECT_EQ(kind(reduction(wire::dscp_root)), Kind::result);
}

TEST(FrameKind, a_wide_reduction_frame_is_one_too) {
  std::vector<std::byte> bytes(wire::wide_header_bytes + 1408);
  wire::WideFrame frame;
  frame.payload_bytes = 1408;
  const auto encode = [&] {
    wire::encode_header(frame, std::span(bytes).first<wire::wide_header_bytes>());
  };
  encode();
  EXPECT_EQ(kind(bytes), Kind::reduction);
  frame.dscp = wire::dscp_root;
  encode();
  EXPECT_EQ(kind(bytes), Kind::result);
  wire::store_be(bytes.data() + wire::ethernet_header_bytes + wire::portals_offset::request_length,
                 std::uint16_t{49});
  EXPECT_EQ(kind(bytes), Kind::multicast);
}

TEST(FrameKind, a_multicast_that_is_no_reduction_frame_is_multicast) {
  auto other = reduction(wire::dscp_root);
  other.resize(200);
  wire::store_be(other.data() + wire::ethernet_header_bytes + wire::portals_offset::total_length,
                 std::uint16_t{186});
  EXPECT_EQ(kind(other), Kind::multicast);
}

TEST(FrameKind, a_shared_frame_is_multicast_though_it_has_the_lengths_of_a_wide_one) {
  std::vector<std::byte> bytes(wire::shared_header_bytes + 1408);
  wire::SharedFrame frame;
  frame.bytes = 1408;
  wire::encode_header(frame, std::span(bytes).first<wire::shared_header_bytes>());
  EXPECT_EQ(kind(bytes), Kind::multicast);
}

TEST(FrameKind, a_frame_to_one_address_is_unicast) {
  auto bytes = reduction(wire::dscp_leaf);
  wire::store_be(bytes.data() + wire::ethernet_header_bytes + wire::portals_offset::dfa,
                 wire::FabricAddress::unicast(Nid{3}).value);
  EXPECT_EQ(kind(bytes), Kind::unicast);
}

TEST(FrameKind, an_rdma_frame_is_recognised_by_its_command) {
  auto bytes = reduction(wire::dscp_leaf);
  std::byte* packet = bytes.data() + wire::ethernet_header_bytes;
  wire::store_be(packet + wire::portals_offset::dfa, wire::FabricAddress::unicast(Nid{3}).value);
  packet[wire::portals_offset::command] = std::byte{wire::rdma_command};
  EXPECT_EQ(kind(bytes), Kind::rdma);
  bytes.resize(34);
  EXPECT_EQ(kind(bytes), Kind::unicast) << "has no command";
}

TEST(FrameKind, hellos_lldp_and_pause_frames_are_control) {
  EXPECT_EQ(kind(of_ethertype(wire::lldp_ethertype)), Kind::control);
  auto hello = of_ethertype(fabric);
  wire::store_be(hello.data() + wire::ethernet_header_bytes, wire::hello_magic);
  EXPECT_EQ(kind(hello), Kind::control);
  std::vector<std::byte> pause(wire::pause_frame_bytes);
  wire::encode({}, wire::MacAddress{}, std::span<std::byte, wire::pause_frame_bytes>(pause));
  EXPECT_EQ(kind(pause), Kind::control);
}

TEST(FrameKind, what_is_not_of_the_fabric_is_foreign_however_short) {
  EXPECT_EQ(kind(of_ethertype(0x0800)), Kind::foreign);
  EXPECT_EQ(kind(of_ethertype(fabric)), Kind::foreign) << "neither a hello nor a fabric header";
  for (std::size_t length = 0; length < 34; ++length) {
    std::vector<std::byte> bytes = of_ethertype(fabric);
    bytes.resize(length);
    EXPECT_EQ(kind(bytes), Kind::foreign) << length;
  }
  EXPECT_EQ(kind(of_ethertype(wire::vlan_ethertype, 16)), Kind::foreign) << "ends within its tag";
}

TEST(FrameKind, is_that_of_what_a_tag_is_around) {
  auto bytes = reduction(wire::dscp_leaf);
  std::vector<std::byte> tagged(wire::vlan_tag_bytes + bytes.size());
  std::copy(bytes.begin(), bytes.end(), tagged.begin() + wire::vlan_tag_bytes);
  wire::insert_vlan_tag(tagged.data() + wire::vlan_tag_bytes, {TrafficClass{3}, 7});
  EXPECT_EQ(kind(tagged), Kind::reduction);
}

TEST(KindSet, holds_what_was_put_into_it) {
  KindSet set;
  EXPECT_TRUE(set.empty());
  set.insert(Kind::unicast);
  EXPECT_TRUE(set.contains(Kind::unicast));
  EXPECT_FALSE(set.contains(Kind::foreign));
  for (std::size_t i = 0; i < kind_count; ++i) {
    EXPECT_TRUE(KindSet::all().contains(static_cast<Kind>(i)));
    EXPECT_EQ(kind_named(kind_names[i]), static_cast<Kind>(i));
    set.insert(static_cast<Kind>(i));
  }
  EXPECT_EQ(set, KindSet::all());
  EXPECT_FALSE(kind_named("unicats").has_value());
}

} // namespace
} // namespace tributary::impairment::test
