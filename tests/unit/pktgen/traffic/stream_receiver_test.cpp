// Frames that were altered, or never sent.

#include "tests/unit/pktgen/traffic/stream_world.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace tributary::pktgen::traffic::test {
namespace {

/// A stream of 128-byte frames between two nodes, and the first of them on its way to node 1.
struct OneFrame {
  OneFrame() : traffic(scenario::Kind::unicast, of_128_bytes(), placement_of(2), 9) {
    MemoryPort a(0);
    MemoryPort b(1);
    const std::vector<link::Port*> ports{&a, &b};
    traffic.start(TimeNs{1});
    traffic.begin_measuring(TimeNs{1});
    traffic.generate(ports, TimeNs{2});
    frame = a.sent.at(0);
  }
  bool receive() {
    return traffic.receive(1, {frame.data(), static_cast<std::uint32_t>(frame.size())}, TimeNs{3})
        .ours;
  }
  [[nodiscard]] std::uint64_t figure(std::string_view name) const {
    return traffic.tally(TimeNs{3}).figure(name);
  }
  static scenario::Stream of_128_bytes() {
    scenario::Stream stream = unicast(scenario::Pattern::permutation);
    stream.sizes = {128};
    return stream;
  }
  StreamTraffic traffic;
  Bytes frame;
};

TEST(StreamReceiver, sees_every_flipped_bit_of_a_fabric_header) {
  OneFrame one;
  std::uint64_t flipped = 0;
  for (std::size_t bit = wire::ethernet_header_bytes * 8; bit < stamp_offset * 8; ++bit) {
    one.frame[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_TRUE(one.receive());
    EXPECT_EQ(one.figure("damaged"), ++flipped) << "bit " << bit;
    one.frame[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  EXPECT_EQ(one.traffic.tally(TimeNs{3}).received.frames, 0U);
  EXPECT_TRUE(one.receive());
  EXPECT_EQ(one.traffic.tally(TimeNs{3}).received.frames, 1U) << "whole again";
}

TEST(StreamReceiver, sees_that_a_header_names_another_node_than_the_stamp) {
  OneFrame one;
  std::byte* const fabric = one.frame.data() + wire::ethernet_header_bytes;
  wire::store_be(fabric + wire::portals_offset::dfa,
                 wire::FabricAddress::unicast(Nid{Placement{}.first_nid}).value);
  wire::write_fabric_header_checksum(fabric);
  EXPECT_TRUE(one.receive());
  EXPECT_EQ(one.figure("damaged"), 1U);
}

TEST(StreamReceiver, sees_that_a_frame_was_cut_or_lengthened) {
  for (const std::ptrdiff_t change : {-1, 1}) {
    OneFrame one;
    one.frame.resize(
        static_cast<std::size_t>(static_cast<std::ptrdiff_t>(one.frame.size()) + change));
    EXPECT_TRUE(one.receive());
    EXPECT_EQ(one.figure("damaged"), 1U);
    EXPECT_EQ(one.traffic.tally(TimeNs{3}).received.frames, 0U);
  }
}

TEST(StreamReceiver, calls_frames_of_flows_that_there_are_not_misdelivered_and_asks_for_the_nodes) {
  // Five nodes take three bits: numbers 5 to 7 are not nodes, and their flows are invalid.
  scenario::Stream five = unicast(scenario::Pattern::random, 5);
  five.role = scenario::Role::leaves;
  StreamTraffic receiver(scenario::Kind::unicast, five, placement_of(2), 1);
  Bytes frame(60);
  StreamHeader({}, wire::default_ethertype, Vni{1})
      .write(frame.data(), Nid{0x10000}, wire::FabricAddress::unicast(Nid{0x10006}), 60);
  std::uint64_t count = 0;
  for (const std::uint32_t flow : {6U, 5U << 3, 0xFFFFFFFFU}) {
    write_stamp(frame.data(), {1, flow, 0, TimeNs{1}});
    EXPECT_TRUE(receiver.receive(0, {frame.data(), 60}, TimeNs{2}));
    EXPECT_EQ(receiver.tally(TimeNs{2}).figure("misdelivered"), ++count);
  }
  EXPECT_NE(receiver.tally(TimeNs{2}).remarks.at(0).find("same nodes"), std::string::npos);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
