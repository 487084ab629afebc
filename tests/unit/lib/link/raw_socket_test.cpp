// The raw socket on a veth pair in a namespace of its own.
#include "lib/link/raw_socket.hpp"

#include "frames.hpp"
#include "lib/link/link_error.hpp"
#include "pair_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::link::test {
namespace {

using testing::HasSubstr;
using Kind = LinkError::Kind;

class RawSocketTest : public PairTest {};

void open(const std::string& interface) { RawSocket port(interface, ethertype); }

/// As the host library has its port.
constexpr RawSocket::Options short_frames{.bypass_queueing = false,
                                          .hears = true,
                                          .receive_buffer_bytes = std::size_t{1} << 20,
                                          .longest_frame = 128,
                                          .frames_at_once = Port::longest_burst};
constexpr RawSocket::Options only_sends{.bypass_queueing = false,
                                        .hears = false,
                                        .receive_buffer_bytes = 0,
                                        .longest_frame = 256,
                                        .frames_at_once = 4};

TEST_F(RawSocketTest, FramesCrossInOrderAndAreCounted) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 200));
  EXPECT_EQ(receive_numbers(right, 200), numbers(0, 200));
  EXPECT_EQ(left.counts().sent_frames, 200U);
  EXPECT_EQ(left.counts().sent_bytes, 200 * number_frame_bytes);
  EXPECT_EQ(right.counts().received_frames, 200U);
  EXPECT_EQ(right.counts().receive_drops, 0U);
  EXPECT_EQ(receive_numbers(left, 0).size(), 0U) << "heard what it sent itself";
  EXPECT_EQ(left.address(), wire::host_mac(Nid{left_nid}));
  EXPECT_EQ(left.description(), "raw socket on left");
}

TEST_F(RawSocketTest, BothWaysOfQueueingCarryTheFrames) {
  RawSocket left("left", ethertype, {.bypass_queueing = false});
  RawSocket right("right", ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 70));
  EXPECT_EQ(receive_numbers(right, 70), numbers(0, 70));
}

TEST_F(RawSocketTest, LongestFrameFollowsTheMtuUpToNineThousand) {
  EXPECT_EQ(RawSocket("left", ethertype).longest_frame(), 1514U);
  PrivateNetwork::run("ip link set left mtu 9000 && ip link set right mtu 9000");
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype);
  ASSERT_EQ(left.longest_frame(), 9014U);
  std::vector<std::byte> frame(left.longest_frame());
  for (std::size_t i = 0; i < frame.size(); ++i) {
    frame[i] = static_cast<std::byte>(i * 7);
  }
  wire::write_ethernet_header(frame.data(), {}, {}, ethertype);
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
  EXPECT_EQ(RawSocket("lo", ethertype).longest_frame(), 9230U);
}

TEST_F(RawSocketTest, FramesWhoseEndLiesElsewhereCrossWhole) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype);
  std::vector<std::byte> end(1000);
  for (std::size_t i = 0; i < end.size(); ++i) {
    end[i] = static_cast<std::byte>(i * 7);
  }
  constexpr std::uint32_t header = 62;
  std::vector<std::vector<std::byte>> sent;
  for (std::size_t n = 0; n < 40; ++n) { // more than leave in one call
    std::byte* room = left.room();
    ASSERT_NE(room, nullptr);
    std::vector<std::byte>& frame = sent.emplace_back(header, static_cast<std::byte>(n));
    wire::write_ethernet_header(frame.data(), {}, {}, ethertype);
    std::copy(frame.begin(), frame.end(), room);
    // Some are whole, and the others end at different places.
    const std::size_t bytes = n % 4 == 0 ? 0 : end.size() - n;
    frame.insert(frame.end(), end.begin(), end.begin() + static_cast<std::ptrdiff_t>(bytes));
    left.push(header, std::span(end).first(bytes));
  }
  left.flush();
  left.keep_unsent();
  EXPECT_EQ(receive_frames(right, sent.size()), sent);
}

/// A socket as the host agent hands one over: the kernel writes the headers.
PacketSocket opened_for_another(const std::string& interface) {
  PacketSocket opened(interface,
                      PacketSocket::Hearing{.ethertype = ethertype, .buffer_bytes = 1U << 20},
                      PacketSocket::Header::of_kernel);
  return PacketSocket(interface, std::move(opened).release());
}

TEST_F(RawSocketTest, FramesWhoseHeadersTheKernelWritesCrossWholeFromTheInterfacesAddress) {
  RawSocket left(opened_for_another("left"), RawSocket::Options());
  RawSocket right("right", ethertype);
  std::vector<std::byte> end(1000, std::byte{0xE5});
  std::vector<Frame> sent;
  for (std::size_t n = 0; n < 100; ++n) { // more than leave in one call
    Frame& frame = sent.emplace_back(numbered(n, 62));
    std::byte* room = left.room();
    ASSERT_NE(room, nullptr);
    std::copy(frame.begin(), frame.end(), room);
    const auto rest = std::span(end).first(n % 3 == 0 ? 0 : n);
    left.push(62, rest);
    frame.insert(frame.end(), rest.begin(), rest.end());
    wire::write_ethernet_header(frame.data(), wire::port_mac(Nid{0x777}),
                                wire::host_mac(Nid{left_nid}), ethertype);
  }
  left.flush();
  left.keep_unsent();
  EXPECT_EQ(receive_frames(right, sent.size()), sent);
}

TEST_F(RawSocketTest, FramesWhoseHeadersTheKernelKeepsArriveWholeAtTheInterfacesAddress) {
  RawSocket left("left", ethertype);
  RawSocket right(opened_for_another("right"), short_frames);
  right.enlarge(1514, 0);
  std::vector<Frame> sent;
  for (std::size_t n = 0; n < 100; ++n) {
    sent.push_back(numbered(n, n % 2 == 0 ? 60 : 1514));
    wire::write_ethernet_header(sent.back().data(), wire::host_mac(Nid{right_nid}),
                                wire::host_mac(Nid{left_nid}), ethertype);
    ASSERT_TRUE(push(left, sent.back()));
  }
  left.flush();
  EXPECT_EQ(receive_frames(right, sent.size()), sent);
  EXPECT_EQ(right.counts().received_cut, 0U);
}

TEST_F(RawSocketTest, TheKernelChangesNothingInAFrameWhoseHeaderItWrites) {
  // A checksum that the kernel makes would be written into any two bytes of the frame, and segments
  // would get numbers of their own, both after the rules for what leaves an interface.
  const PacketSocket socket("left", std::nullopt, PacketSocket::Header::of_kernel);
  const int on = 1;
  EXPECT_NE(::setsockopt(socket.fd(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on), 0);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(RawSocketTest, FrameLongerThanTheMtuIsAnErrorThatSaysSo) {
  RawSocket left("left", ethertype);
  PrivateNetwork::run("ip link set left mtu 500");
  std::byte* room = left.room();
  ASSERT_NE(room, nullptr);
  wire::write_ethernet_header(room, {}, {}, ethertype);
  left.push(1000);
  try {
    left.flush();
    FAIL() << "sent";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), Kind::system);
    EXPECT_THAT(error.what(), HasSubstr("ip link set left mtu"));
  }
  EXPECT_EQ(left.pending(), 1U);
  EXPECT_EQ(left.counts().sent_frames, 0U);
}

TEST_F(RawSocketTest, MissingInterfaceIsNamedWithThoseThereAre) {
  std::string message;
  EXPECT_EQ(failure_of(open, "nosuch0", message), Kind::no_interface);
  EXPECT_THAT(message, HasSubstr("'nosuch0' does not exist"));
  EXPECT_THAT(message, HasSubstr("lo"));
  EXPECT_THAT(message, HasSubstr("left"));
  EXPECT_THAT(message, HasSubstr("right"));
}

TEST_F(RawSocketTest, InterfaceThatIsDownIsNamedWithTheCommandThatHelps) {
  PrivateNetwork::run("ip link set left down");
  std::string message;
  EXPECT_EQ(failure_of(open, "left", message), Kind::interface_down);
  EXPECT_THAT(message, HasSubstr("ip link set left up"));
}

TEST_F(RawSocketTest, MissingCapabilityIsNamed) {
  EXPECT_EXIT(open_without_privileges(open, "left"), testing::ExitedWithCode(0), "CAP_NET_RAW");
}

TEST_F(RawSocketTest, GoingDownWhileSendingIsAnErrorAndComingUpAgainIsEnough) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype);
  EXPECT_EQ(left.error(), "");
  PrivateNetwork::run("ip link set left down");
  EXPECT_THAT(left.error(), HasSubstr("ip link set left up"));
  EXPECT_THAT(right.error(), HasSubstr("no carrier"));
  try {
    send_numbers(left, 0, 1);
    FAIL() << "sent through an interface that is down";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), Kind::interface_down);
  }
  EXPECT_EQ(left.pending(), 1U) << "what could not be sent stays";
  PrivateNetwork::run("ip link set left up");
  PrivateNetwork::wait_for_carrier("left");
  left.flush();
  EXPECT_EQ(receive_numbers(right, 1), numbers(0, 1));
  EXPECT_EQ(left.error(), "");
}

TEST_F(RawSocketTest, InterfaceRemovedWhileSendingIsAnError) {
  RawSocket left("left", ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 5));
  PrivateNetwork::remove_pair();
  EXPECT_THAT(left.error(), HasSubstr("is gone"));
  try {
    send_numbers(left, 5, 1);
    FAIL() << "sent through an interface that is gone";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), Kind::no_interface);
  }
  try {
    while (!left.receive().empty()) {
    }
    FAIL() << "received from an interface that is gone";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), Kind::no_interface);
  }
}

TEST_F(RawSocketTest, WithoutCarrierFramesAreRefusedAndKept) {
  RawSocket left("left", ethertype);
  PrivateNetwork::run("ip link set right down");
  EXPECT_FALSE(send_numbers(left, 0, 3));
  EXPECT_EQ(left.counts().sent_frames, 0U);
  EXPECT_EQ(left.pending(), 3U);
  EXPECT_EQ(left.counts().send_refusals, 1U);
  PrivateNetwork::run("ip link set right up");
  PrivateNetwork::wait_for_carrier("left");
  RawSocket right("right", ethertype);
  left.flush();
  EXPECT_EQ(receive_numbers(right, 3), numbers(0, 3));
}

TEST_F(RawSocketTest, SharersGetEachFrameOnceAndAFlowInOrderAtOneOfThem) {
  RawSocket left("left", ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 10));
  // The words behind the number.
  const Spread spread{.first_word = 8, .second_word = 12, .by = "flow and nothing"};
  const auto sharers = RawSocket::sharing("right", ethertype, 3, spread);
  ASSERT_EQ(sharers.size(), 3U);
  EXPECT_EQ(sharers[2]->description(),
            "raw sockets on right (3 queues, spread by flow and nothing)");
  constexpr std::uint32_t flows = 64;
  constexpr std::uint64_t rounds = 20;
  for (std::uint64_t i = 0; i < flows * rounds; ++i) {
    Frame frame = numbered(i);
    wire::store_be(frame.data() + wire::ethernet_header_bytes + 8,
                   static_cast<std::uint32_t>(0x10000 + i % flows));
    ASSERT_TRUE(push(left, frame));
  }
  left.flush();
  ASSERT_EQ(left.pending(), 0U);
  std::map<std::uint64_t, std::size_t> home; // of each flow
  std::map<std::uint64_t, std::uint64_t> next;
  for (std::size_t sharer = 0; sharer < 3; ++sharer) {
    std::size_t received = 0;
    for (auto frames = sharers[sharer]->receive(); !frames.empty();
         frames = sharers[sharer]->receive()) {
      for (const FrameView& frame : frames) {
        const std::uint64_t number = number_in(frame);
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

TEST_F(RawSocketTest, FramesTheKernelDroppedAreCountedExactly) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype, {.receive_buffer_bytes = 1});
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

TEST_F(RawSocketTest, FramesLongerThanTheRoomAreCutAndCounted) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype, short_frames);
  ASSERT_EQ(right.longest_frame(), 128U);
  const std::vector<std::size_t> lengths{60, 127, 128, 129, 1514};
  for (const std::size_t length : lengths) {
    ASSERT_TRUE(push(left, numbered(length, length)));
  }
  left.flush();
  const std::vector<Frame> received = receive_frames(right, lengths.size());
  ASSERT_EQ(received.size(), lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Frame expected = numbered(lengths[i], lengths[i]);
    expected.resize(std::min<std::size_t>(lengths[i], 128));
    EXPECT_EQ(received[i], expected) << lengths[i];
  }
  EXPECT_EQ(right.counts().received_cut, 2U);
  EXPECT_EQ(right.counts().received_frames, lengths.size());
  EXPECT_EQ(right.counts().received_bytes, 60U + 127 + 3 * 128);
}

TEST_F(RawSocketTest, OutgoingFramesAreHeardNeitherByTheSenderNorBesideIt) {
  RawSocket sender("left", ethertype);
  RawSocket beside("left", ethertype);
  RawSocket right("right", ethertype);
  ASSERT_TRUE(send_numbers(sender, 0, 3));
  EXPECT_EQ(receive_numbers(right, 3), numbers(0, 3));
  EXPECT_TRUE(sender.receive().empty());
  EXPECT_TRUE(beside.receive().empty());
}

TEST_F(RawSocketTest, OtherEtherTypesAreNotHeard) {
  RawSocket left("left", ethertype);
  RawSocket other("right", ethertype + 1);
  RawSocket right("right", ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 1));
  EXPECT_EQ(receive_numbers(right, 1), numbers(0, 1));
  EXPECT_TRUE(other.receive().empty());
}

TEST_F(RawSocketTest, OtherInterfacesAreNotHeard) {
  PrivateNetwork::run("ip link add third type veth peer name fourth && ip link set third up && ip "
                      "link set fourth up");
  {
    RawSocket left("left", ethertype);
    RawSocket right("right", ethertype);
    RawSocket fourth("fourth", ethertype);
    ASSERT_TRUE(send_numbers(left, 0, 1));
    EXPECT_EQ(receive_numbers(right, 1), numbers(0, 1));
    EXPECT_TRUE(fourth.receive().empty());
  }
  PrivateNetwork::run("ip link del third");
}

/// "promiscuity 1", as `ip` says it.
std::string promiscuity() {
  std::FILE* pipe = ::popen("ip -d link show right | grep -o 'promiscuity [0-9]*'", "r");
  char line[64] = {};
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  ::pclose(pipe);
  return read ? std::string(line) : std::string();
}

TEST_F(RawSocketTest, PromiscuousModeEndsWithTheSocket) {
  EXPECT_EQ(promiscuity(), "promiscuity 0\n");
  {
    RawSocket right("right", ethertype);
    EXPECT_EQ(promiscuity(), "promiscuity 1\n");
  }
  EXPECT_EQ(promiscuity(), "promiscuity 0\n");
}

TEST_F(RawSocketTest, OneThatOnlySendsHearsNothingAndLeavesTheInterfaceAsItIs) {
  RawSocket left("left", ethertype);
  RawSocket right("right", ethertype, only_sends);
  EXPECT_EQ(promiscuity(), "promiscuity 0\n");
  RawSocket hears("right", ethertype);
  ASSERT_TRUE(send_numbers(left, 0, 2));
  EXPECT_EQ(receive_numbers(hears, 2), numbers(0, 2));
  EXPECT_TRUE(right.receive().empty());
  ASSERT_TRUE(send_numbers(right, 5, 9));
  EXPECT_EQ(receive_numbers(left, 9), numbers(5, 9));
}

TEST_F(RawSocketTest, OneThatOnlySendsMayBeOpenedBeforeTheInterfaceIsUp) {
  PrivateNetwork::run("ip link set left down");
  RawSocket left("left", ethertype, only_sends);
  try {
    send_numbers(left, 0, 1);
    FAIL() << "sent through an interface that is down";
  } catch (const LinkError& error) {
    EXPECT_EQ(error.kind(), Kind::interface_down);
  }
  PrivateNetwork::run("ip link set left up");
  PrivateNetwork::wait_for_carrier("left");
  RawSocket right("right", ethertype);
  left.flush();
  EXPECT_EQ(receive_numbers(right, 1), numbers(0, 1));
}

} // namespace
} // namespace tributary::link::test
