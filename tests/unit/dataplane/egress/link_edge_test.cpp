// The 802.1Q tag at the edge of a link between switches.

#include "dataplane/egress/link_edge.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace tributary::egress {
namespace {

constexpr std::uint32_t length = 64;

/// A frame of `length` bytes with four in front of it and nothing behind it.
struct Buffer {
  Buffer() {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i);
    }
    wire::store_be<std::uint16_t>(frame() + 12, wire::default_ethertype);
  }
  [[nodiscard]] std::byte* frame() { return bytes.data() + wire::vlan_tag_bytes; }
  std::vector<std::byte> bytes = std::vector<std::byte>(wire::vlan_tag_bytes + length);
};

TEST(LinkEdge, WritesTheTagBehindTheAddressesAndLeavesTheRest) {
  Buffer buffer;
  const std::vector<std::byte> before(buffer.frame(), buffer.frame() + length);
  const std::byte* tagged = LinkEdge(0x0ABC).depart(buffer.frame(), TrafficClass{5});
  ASSERT_EQ(tagged, buffer.bytes.data());
  EXPECT_EQ(std::memcmp(tagged, before.data(), 12), 0);
  EXPECT_EQ(tagged[12], std::byte{0x81});
  EXPECT_EQ(tagged[13], std::byte{0x00});
  EXPECT_EQ(tagged[14], std::byte{0xAA}) << "priority 5, not drop eligible, VLAN id 0xABC";
  EXPECT_EQ(tagged[15], std::byte{0xBC});
  EXPECT_EQ(std::memcmp(tagged + 16, before.data() + 12, length - 12), 0);
}

TEST(LinkEdge, ArrivalUndoesDepartureForEachClass) {
  const LinkEdge edge(100);
  for (std::uint8_t c = 0; c < traffic_classes; ++c) {
    Buffer buffer;
    const std::vector<std::byte> before(buffer.frame(), buffer.frame() + length);
    std::byte* tagged = edge.depart(buffer.frame(), TrafficClass{c});
    const LinkEdge::Arrival arrival = edge.arrive(tagged, length + 4);
    EXPECT_FALSE(arrival.refused);
    EXPECT_EQ(arrival.frame, buffer.frame());
    EXPECT_EQ(arrival.length, length);
    EXPECT_EQ(arrival.traffic_class, TrafficClass{c});
    EXPECT_EQ(std::memcmp(arrival.frame, before.data(), length), 0);
  }
}

TEST(LinkEdge, AFrameWithoutTagIsOfClassZeroAndAsItWas) {
  Buffer buffer;
  const auto before = buffer.bytes;
  const LinkEdge::Arrival arrival = LinkEdge(100).arrive(buffer.frame(), length);
  EXPECT_FALSE(arrival.refused);
  EXPECT_EQ(arrival.frame, buffer.frame());
  EXPECT_EQ(arrival.length, length);
  EXPECT_EQ(arrival.traffic_class, TrafficClass{0});
  EXPECT_EQ(buffer.bytes, before);
}

TEST(LinkEdge, APriorityTagAndADropEligibleOneAreRead) {
  Buffer buffer;
  std::byte* tagged = LinkEdge(0).depart(buffer.frame(), TrafficClass{6});
  tagged[14] |= std::byte{0x10}; // drop eligible
  const LinkEdge::Arrival arrival = LinkEdge(100).arrive(tagged, length + 4);
  EXPECT_FALSE(arrival.refused);
  EXPECT_EQ(arrival.traffic_class, TrafficClass{6});
}

TEST(LinkEdge, AnotherVlanIsRefusedByNameAndAsItWas) {
  Buffer buffer;
  std::byte* tagged = LinkEdge(101).depart(buffer.frame(), TrafficClass{6});
  const auto before = buffer.bytes;
  const LinkEdge::Arrival arrival = LinkEdge(100).arrive(tagged, length + 4);
  EXPECT_EQ(arrival.refused, DropReason::foreign_vlan);
  EXPECT_EQ(arrival.frame, tagged);
  EXPECT_EQ(buffer.bytes, before);
}

TEST(LinkEdge, AFrameThatEndsWithinItsTagIsRefusedByName) {
  Buffer buffer;
  std::byte* tagged = LinkEdge(100).depart(buffer.frame(), TrafficClass{6});
  for (std::uint32_t cut = 0; cut < 18; ++cut) {
    std::vector<std::byte> frame(tagged, tagged + cut); // reading beyond it would be found
    const LinkEdge::Arrival arrival = LinkEdge(100).arrive(frame.data(), cut);
    EXPECT_EQ(arrival.refused.has_value(), cut >= 14) << cut;
    if (arrival.refused) {
      EXPECT_EQ(arrival.refused, DropReason::bad_tag);
    }
  }
  EXPECT_FALSE(LinkEdge(100).arrive(tagged, 18).refused);
}

TEST(LinkEdge, ASecondTagStays) {
  Buffer buffer;
  wire::store_be<std::uint16_t>(buffer.frame() + 12, wire::vlan_ethertype);
  std::byte* tagged = LinkEdge(100).depart(buffer.frame(), TrafficClass{1});
  const LinkEdge::Arrival arrival = LinkEdge(100).arrive(tagged, length + 4);
  EXPECT_EQ(wire::ethertype_of(arrival.frame), wire::vlan_ethertype);
}

} // namespace
} // namespace tributary::egress
