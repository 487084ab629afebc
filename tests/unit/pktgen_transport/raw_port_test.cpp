// The raw socket port on a veth pair in a namespace of its own.
#include "pktgen/transport/raw_port.hpp"

#include "frames.hpp"
#include "tests/unit/transport/pair_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tributary::pktgen::test {
namespace {

using testing::HasSubstr;
using transport::TransportError;
using transport::test::failure_of;
using transport::test::open_as_nobody;
using transport::test::PairTest;
using transport::test::PrivateNetwork;
using Kind = TransportError::Kind;

class RawPortTest : public PairTest {};

void open(const std::string& interface) { RawPort port(interface, wire::default_ethertype); }

TEST_F(RawPortTest, FramesCrossInOrderAndAreCounted) {
  RawPort left("left", wire::default_ethertype);
  RawPort right("right", wire::default_ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 200));
  EXPECT_EQ(receive_numbers(right, 200), numbers(0, 200));
  EXPECT_EQ(left.counts().sent_frames, 200U);
  EXPECT_EQ(left.counts().sent_bytes, 200 * number_frame_bytes);
  EXPECT_EQ(right.counts().received_frames, 200U);
  EXPECT_EQ(right.counts().receive_drops, 0U);
  EXPECT_EQ(receive_numbers(left, 0).size(), 0U) << "heard what it sent itself";
  EXPECT_EQ(left.address(), wire::host_mac(Nid{transport::test::left_nid}));
  EXPECT_EQ(left.description(), "raw socket on left");
}

TEST_F(RawPortTest, BothWaysOfQueueingCarryTheFrames) {
  RawPort left("left", wire::default_ethertype, {.bypass_queueing = false});
  RawPort right("right", wire::default_ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 70));
  EXPECT_EQ(receive_numbers(right, 70), numbers(0, 70));
}

TEST_F(RawPortTest, LongestFrameFollowsTheMtuUpToNineThousand) {
  EXPECT_EQ(RawPort("left", wire::default_ethertype).longest_frame(), 1514U);
  PrivateNetwork::run("ip link set left mtu 9000 && ip link set right mtu 9000");
  RawPort left("left", wire::default_ethertype);
  RawPort right("right", wire::default_ethertype);
  ASSERT_EQ(left.longest_frame(), 9014U);
  std::vector<std::byte> frame(left.longest_frame());
  for (std::size_t i = 0; i < frame.size(); ++i) {
    frame[i] = static_cast<std::byte>(i * 7);
  }
  wire::write_ethernet_header(frame.data(), {}, {}, wire::default_ethertype);
  for (int i = 0; i < 3; ++i) {
    std::byte* room = left.room();
    ASSERT_NE(room, nullptr);
    std::copy(frame.begin(), frame.end(), room);
    left.push(left.longest_frame());
  }
  left.flush();
  const auto received = receive_frames(right, 3);
  ASSERT_EQ(received.size(), 3U);
  EXPECT_EQ(received[0], frame);
  EXPECT_EQ(received[2], frame);
  PrivateNetwork::run("ip link set lo up");
  EXPECT_EQ(RawPort("lo", wire::default_ethertype).longest_frame(), 9230U);
}

TEST_F(RawPortTest, FrameLongerThanTheMtuIsAnErrorThatSaysSo) {
  RawPort left("left", wire::default_ethertype);
  PrivateNetwork::run("ip link set left mtu 500");
  std::byte* room = left.room();
  ASSERT_NE(room, nullptr);
  wire::write_ethernet_header(room, {}, {}, wire::default_ethertype);
  left.push(1000);
  try {
    left.flush();
    FAIL() << "sent";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), Kind::system);
    EXPECT_THAT(error.what(), HasSubstr("ip link set left mtu"));
  }
  EXPECT_EQ(left.pending(), 1U);
  EXPECT_EQ(left.counts().sent_frames, 0U);
}

TEST_F(RawPortTest, MissingInterfaceIsNamedWithThoseThereAre) {
  std::string message;
  EXPECT_EQ(failure_of(open, "nosuch0", message), Kind::no_interface);
  EXPECT_THAT(message, HasSubstr("'nosuch0' does not exist"));
  EXPECT_THAT(message, HasSubstr("lo"));
  EXPECT_THAT(message, HasSubstr("left"));
  EXPECT_THAT(message, HasSubstr("right"));
}

TEST_F(RawPortTest, InterfaceThatIsDownIsNamedWithTheCommandThatHelps) {
  PrivateNetwork::run("ip link set left down");
  std::string message;
  EXPECT_EQ(failure_of(open, "left", message), Kind::interface_down);
  EXPECT_THAT(message, HasSubstr("ip link set left up"));
}

TEST_F(RawPortTest, MissingCapabilityIsNamed) {
  EXPECT_EXIT(open_as_nobody(open, "left"), testing::ExitedWithCode(0), "CAP_NET_RAW");
}

TEST_F(RawPortTest, GoingDownWhileSendingIsAnErrorAndComingUpAgainIsEnough) {
  RawPort left("left", wire::default_ethertype);
  RawPort right("right", wire::default_ethertype);
  EXPECT_EQ(left.trouble(), "");
  PrivateNetwork::run("ip link set left down");
  EXPECT_THAT(left.trouble(), HasSubstr("ip link set left up"));
  EXPECT_THAT(right.trouble(), HasSubstr("no carrier"));
  try {
    send_numbers(left, 0, 1);
    FAIL() << "sent through an interface that is down";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), Kind::interface_down);
  }
  EXPECT_EQ(left.pending(), 1U) << "what could not be sent stays";
  PrivateNetwork::run("ip link set left up");
  PrivateNetwork::wait_for_carrier("left");
  left.flush();
  EXPECT_EQ(receive_numbers(right, 1), numbers(0, 1));
  EXPECT_EQ(left.trouble(), "");
}

TEST_F(RawPortTest, InterfaceRemovedWhileSendingIsAnError) {
  RawPort left("left", wire::default_ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 5));
  PrivateNetwork::remove_pair();
  EXPECT_THAT(left.trouble(), HasSubstr("is gone"));
  try {
    send_numbers(left, 5, 1);
    FAIL() << "sent through an interface that is gone";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), Kind::no_interface);
  }
  try {
    while (!left.receive().empty()) {
    }
    FAIL() << "received from an interface that is gone";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), Kind::no_interface);
  }
}

TEST_F(RawPortTest, WithoutCarrierFramesAreRefusedAndKept) {
  RawPort left("left", wire::default_ethertype);
  PrivateNetwork::run("ip link set right down");
  EXPECT_FALSE(send_numbers(left, 0, 3));
  EXPECT_EQ(left.counts().sent_frames, 0U);
  EXPECT_EQ(left.pending(), 3U);
  EXPECT_EQ(left.counts().send_refusals, 1U);
  PrivateNetwork::run("ip link set right up");
  PrivateNetwork::wait_for_carrier("left");
  RawPort right("right", wire::default_ethertype);
  left.flush();
  EXPECT_EQ(receive_numbers(right, 3), numbers(0, 3));
}

TEST_F(RawPortTest, SharersGetEachFrameOnceAndAFlowInOrderAtOneOfThem) {
  RawPort left("left", wire::default_ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 10));
  const auto sharers = RawPort::sharing("right", wire::default_ethertype, 3);
  ASSERT_EQ(sharers.size(), 3U);
  EXPECT_THAT(sharers[2]->description(), HasSubstr("raw sockets on right (3 queues"));
  constexpr std::uint32_t flows = 64;
  constexpr std::uint64_t rounds = 20;
  for (std::uint64_t i = 0; i < flows * rounds; ++i) {
    const auto flow = static_cast<std::uint32_t>(i % flows);
    ASSERT_TRUE(send_numbers(left, i, 1, wire::FabricAddress::unicast(Nid{0x10000 + flow})));
  }
  std::map<std::uint64_t, std::size_t> home; // of each flow
  std::map<std::uint64_t, std::uint64_t> next;
  for (std::size_t sharer = 0; sharer < 3; ++sharer) {
    std::size_t received = 0;
    for (auto frames = sharers[sharer]->receive(); !frames.empty();
         frames = sharers[sharer]->receive()) {
      for (const core::FrameView& frame : frames) {
        const std::uint64_t number = number_in(frame.data);
        const std::uint64_t flow = number % flows;
        EXPECT_EQ(home.emplace(flow, sharer).first->second, sharer) << "flow " << flow;
        EXPECT_EQ(number, flow + flows * next[flow]++) << "in order, and once";
        ++received;
      }
    }
    EXPECT_GT(received, flows * rounds / 10) << "sharer " << sharer;
  }
  for (std::uint64_t flow = 0; flow < flows; ++flow) {
    EXPECT_EQ(next[flow], rounds) << "flow " << flow;
  }
}

TEST_F(RawPortTest, FramesTheKernelDroppedAreCountedExactly) {
  RawPort left("left", wire::default_ethertype);
  RawPort right("right", wire::default_ethertype, {.receive_buffer_bytes = 1});
  constexpr std::uint64_t sent = 2000;
  ASSERT_TRUE(send_numbers(left, 0, sent));
  // All that is there; the buffer is tiny.
  std::size_t received = 0;
  while (const std::size_t more = right.receive().size()) {
    received += more;
  }
  EXPECT_LT(received, sent);
  EXPECT_EQ(right.counts().receive_drops, sent - received);
  EXPECT_EQ(right.counts().receive_drops, sent - received) << "reading does not start over";
}

} // namespace
} // namespace tributary::pktgen::test
