// The raw socket on a veth pair in a namespace of its own.
#include "endpoint/transport/raw_socket.hpp"
#include "pair_test.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

namespace tributary::transport::test {
namespace {

using Kind = TransportError::Kind;
constexpr std::uint16_t ethertype = wire::default_ethertype;
constexpr std::size_t ample_buffer = 1U << 20;

class RawSocketTest : public PairTest {};

wire::ReductionFrame numbered(std::uint32_t number) {
  wire::ReductionFrame frame;
  frame.destination = wire::port_mac(Nid{0x777}); // nobody's address here
  frame.source = wire::host_mac(Nid{left_nid});
  frame.source_nid = Nid{left_nid};
  frame.rank = number;
  return frame;
}

void send(RawSocket& socket, std::uint32_t first, std::uint32_t count) {
  collective::Outbox outbox;
  for (std::uint32_t i = first; i < first + count; ++i) {
    if (!outbox.push(numbered(i))) {
      socket.send(outbox);
      ASSERT_TRUE(outbox.push(numbered(i)));
    }
  }
  socket.send(outbox);
  EXPECT_TRUE(outbox.empty());
}

/// The numbers of all frames that wait. veth delivers before sendmmsg returns or shortly after.
std::vector<std::uint32_t> receive_all(RawSocket& socket) {
  std::vector<std::uint32_t> numbers;
  constexpr std::uint64_t long_enough_ns = 100'000'000;
  socket.wait(long_enough_ns, false);
  while (socket.receive([&](std::span<const std::byte> bytes) {
    wire::ReductionFrame frame;
    if (wire::decode(bytes, ethertype, frame) == wire::DecodeError::none) {
      numbers.push_back(frame.rank);
    }
  }) > 0) {
    socket.wait(long_enough_ns, false);
  }
  return numbers;
}

void open(const std::string& interface) { RawSocket socket(interface, ethertype, ample_buffer); }

TEST_F(RawSocketTest, FramesCrossInOrderWhateverTheirDestinationAddress) {
  RawSocket left("left", ethertype, ample_buffer);
  RawSocket right("right", ethertype, ample_buffer);
  send(left, 0, 200);
  std::vector<std::uint32_t> expected(200);
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    expected[i] = i;
  }
  EXPECT_EQ(receive_all(right), expected);
  EXPECT_EQ(left.address(), wire::host_mac(Nid{left_nid}));
}

TEST_F(RawSocketTest, OutgoingFramesAreHeardNeitherByTheSenderNorBesideIt) {
  RawSocket sender("left", ethertype, ample_buffer);
  RawSocket beside("left", ethertype, ample_buffer);
  RawSocket right("right", ethertype, ample_buffer);
  send(sender, 0, 3);
  EXPECT_EQ(receive_all(right).size(), 3U);
  EXPECT_FALSE(sender.readable());
  EXPECT_FALSE(beside.readable());
}

TEST_F(RawSocketTest, OtherEtherTypesAreNotHeard) {
  RawSocket left("left", ethertype, ample_buffer);
  RawSocket other("right", ethertype + 1, ample_buffer);
  RawSocket right("right", ethertype, ample_buffer);
  send(left, 0, 1);
  EXPECT_EQ(receive_all(right).size(), 1U);
  EXPECT_FALSE(other.readable());
}

TEST_F(RawSocketTest, OtherInterfacesAreNotHeard) {
  PrivateNetwork::run("ip link add third type veth peer name fourth && ip link set third up && ip "
                      "link set fourth up");
  {
    RawSocket left("left", ethertype, ample_buffer);
    RawSocket right("right", ethertype, ample_buffer);
    RawSocket fourth("fourth", ethertype, ample_buffer);
    send(left, 0, 1);
    EXPECT_EQ(receive_all(right).size(), 1U);
    EXPECT_FALSE(fourth.readable());
  }
  PrivateNetwork::run("ip link del third");
}

TEST_F(RawSocketTest, PromiscuousModeEndsWithTheSocket) {
  const auto promiscuity = [] {
    std::FILE* pipe = ::popen("ip -d link show right | grep -o 'promiscuity [0-9]*'", "r");
    char line[64] = {};
    const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
    ::pclose(pipe);
    return read ? std::string(line) : std::string();
  };
  EXPECT_EQ(promiscuity(), "promiscuity 0\n");
  {
    RawSocket right("right", ethertype, ample_buffer);
    EXPECT_EQ(promiscuity(), "promiscuity 1\n");
  }
  EXPECT_EQ(promiscuity(), "promiscuity 0\n");
}

TEST_F(RawSocketTest, MissingInterfaceIsNamed) {
  std::string message;
  EXPECT_EQ(failure_of(open, "nosuch0", message), Kind::no_interface);
  EXPECT_NE(message.find("'nosuch0' does not exist"), std::string::npos) << message;
  EXPECT_NE(message.find("ip link"), std::string::npos) << message;
  EXPECT_EQ(failure_of(open, "", message), Kind::no_interface);
  EXPECT_EQ(failure_of(open, "a-name-longer-than-the-kernel-takes", message), Kind::no_interface);
}

TEST_F(RawSocketTest, InterfaceThatIsDownIsNamedWithTheCommandThatHelps) {
  PrivateNetwork::run("ip link set left down");
  std::string message;
  EXPECT_EQ(failure_of(open, "left", message), Kind::interface_down);
  EXPECT_NE(message.find("ip link set left up"), std::string::npos) << message;
}

TEST_F(RawSocketTest, MissingCapabilityIsNamed) {
  EXPECT_EXIT(open_as_nobody(open, "left"), testing::ExitedWithCode(0), "CAP_NET_RAW");
}

TEST_F(RawSocketTest, GoingDownIsReportedAndComingUpAgainIsEnough) {
  RawSocket left("left", ethertype, ample_buffer);
  RawSocket right("right", ethertype, ample_buffer);
  PrivateNetwork::run("ip link set left down");
  collective::Outbox outbox;
  ASSERT_TRUE(outbox.push(numbered(1)));
  try {
    left.send(outbox);
    FAIL() << "sent through an interface that is down";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), Kind::interface_down);
  }
  EXPECT_EQ(outbox.size(), 1U) << "what could not be sent stays";
  PrivateNetwork::run("ip link set left up");
  PrivateNetwork::wait_for_carrier("left");
  left.send(outbox);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(receive_all(right), (std::vector<std::uint32_t>{1}));
}

TEST_F(RawSocketTest, GoingAwayIsReported) {
  RawSocket left("left", ethertype, ample_buffer);
  PrivateNetwork::remove_pair();
  collective::Outbox outbox;
  ASSERT_TRUE(outbox.push(numbered(1)));
  try {
    left.send(outbox);
    FAIL() << "sent through an interface that is gone";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), Kind::no_interface);
  }
}

TEST_F(RawSocketTest, FramesTheKernelDroppedAreCounted) {
  RawSocket left("left", ethertype, ample_buffer);
  RawSocket right("right", ethertype, 1); // the smallest buffer the kernel gives
  constexpr std::uint32_t sent = 2000;
  send(left, 0, sent);
  const std::size_t received = receive_all(right).size();
  EXPECT_LT(received, sent);
  EXPECT_EQ(right.kernel_drops(), sent - received);
  EXPECT_EQ(right.kernel_drops(), sent - received) << "reading does not start over";
}

TEST_F(RawSocketTest, LongFramesAreCutAndShortOnesKeepTheirLength) {
  RawSocket left("left", ethertype, ample_buffer);
  RawSocket right("right", ethertype, ample_buffer);
  std::vector<std::byte> frame(1000, std::byte{0xAB});
  wire::write_ethernet_header(frame.data(), {}, {}, ethertype);
  ASSERT_EQ(::send(left.fd(), frame.data(), 1000, 0), 1000);
  ASSERT_EQ(::send(left.fd(), frame.data(), 70, 0), 70);
  std::vector<std::size_t> lengths;
  right.wait(50'000'000, false);
  while (lengths.size() < 2 && right.receive([&](std::span<const std::byte> bytes) {
    lengths.push_back(bytes.size());
  }) > 0) {
  }
  ASSERT_EQ(lengths.size(), 2U);
  EXPECT_GE(lengths[0], wire::reduction_frame_bytes);
  EXPECT_EQ(lengths[1], 70U);
}

} // namespace
} // namespace tributary::transport::test
