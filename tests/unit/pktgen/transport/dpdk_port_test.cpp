// Ports of DPDK buffers: sent frames arrive, and every buffer returns to the pool.
#include "pktgen/transport/dpdk_port.hpp"

#include "frames.hpp"
#include "lib/link/raw_socket.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"
#include "tests/unit/lib/link/private_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

namespace tributary::pktgen::transport::test {
namespace {

using link::test::PrivateNetwork;
using port::test::shared_eal;
using testing::HasSubstr;

constexpr wire::MacAddress address = wire::host_mac(Nid{0x123});

config::Port port_of(config::PortKind kind) {
  config::Port port;
  port.name = "p0";
  port.kind = kind;
  return port;
}

/// Expects that no buffer is missing at the end.
class DpdkPortTest : public testing::Test {
protected:
  void TearDown() override { EXPECT_EQ(shared_eal().free_buffers(), free_before_); }

private:
  std::uint32_t free_before_ = shared_eal().free_buffers();
};

TEST_F(DpdkPortTest, RingCarriesFramesBothWays) {
  DpdkPort left(ring_end("pair"), shared_eal(), address);
  DpdkPort right(ring_end("pair"), shared_eal(), address);
  ASSERT_TRUE(send_numbers(left, 0, 500));
  ASSERT_TRUE(send_numbers(right, 1000, 3));
  EXPECT_EQ(receive_numbers(right, 500), numbers(0, 500));
  EXPECT_EQ(receive_numbers(left, 3), numbers(1000, 3));
  EXPECT_EQ(left.address(), address);
  EXPECT_EQ(left.longest_frame(), config::default_longest_frame);
  EXPECT_EQ(left.description(), "ring pair");
}

TEST_F(DpdkPortTest, FullRingRefusesAndLosesNothing) {
  DpdkPort left(ring_end("full"), shared_eal(), address);
  DpdkPort right(ring_end("full"), shared_eal(), address);
  std::uint64_t pushed = 0;
  while (push_number(left, pushed)) {
    ++pushed;
  }
  EXPECT_GE(pushed, port::RingLinks::frames_per_ring - 1);
  EXPECT_GT(left.counts().send_refusals, 0U);
  Numbers received = receive_numbers(right, left.counts().sent_frames);
  left.flush();
  const Numbers rest = receive_numbers(right, pushed - received.size());
  received.insert(received.end(), rest.begin(), rest.end());
  EXPECT_EQ(received, numbers(0, pushed));
}

TEST_F(DpdkPortTest, FramesUnderWayAndHeldComeBackWhenPortsClose) {
  DpdkPort left(ring_end("closing"), shared_eal(), address);
  DpdkPort right(ring_end("closing"), shared_eal(), address);
  ASSERT_TRUE(send_numbers(left, 0, 100));
  ASSERT_TRUE(push_number(left, 100));
  EXPECT_EQ(right.receive().size(), Port::burst);
}

TEST_F(DpdkPortTest, ThirdEndOfALinkIsRefused) {
  DpdkPort left(ring_end("two"), shared_eal(), address);
  DpdkPort right(ring_end("two"), shared_eal(), address);
  EXPECT_THROW(DpdkPort(ring_end("two"), shared_eal(), address), port::PortError);
}

TEST_F(DpdkPortTest, NullTakesAllAndGivesNothing) {
  DpdkPort port(port_of(config::PortKind::null), shared_eal(), address);
  ASSERT_TRUE(send_numbers(port, 0, 1000));
  EXPECT_EQ(port.counts().sent_frames, 1000U);
  EXPECT_TRUE(port.receive().empty());
  EXPECT_EQ(port.error(), "");
}

TEST_F(DpdkPortTest, SharersOfADeviceSendOnTheirOwn) {
  const auto sharers = DpdkPort::sharing(port_of(config::PortKind::null), shared_eal(), address, 3);
  ASSERT_EQ(sharers.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(send_numbers(*sharers[i], 0, 10 * (i + 1)));
    EXPECT_EQ(sharers[i]->counts().sent_frames, 10 * (i + 1));
    EXPECT_TRUE(sharers[i]->receive().empty());
    EXPECT_EQ(sharers[i]->address(), sharers[0]->address()) << "one port to the switch";
  }
}

TEST_F(DpdkPortTest, PcapReadsBackWhatItWrote) {
  const std::string file = testing::TempDir() + "pktgen-" + std::to_string(::getpid()) + ".pcap";
  {
    config::Port out = port_of(config::PortKind::pcap);
    out.tx_file = file;
    DpdkPort port(out, shared_eal(), address);
    ASSERT_TRUE(send_numbers(port, 0, 77));
  }
  {
    config::Port in = port_of(config::PortKind::pcap);
    in.rx_file = file;
    DpdkPort port(in, shared_eal(), address);
    EXPECT_EQ(receive_numbers(port, 77), numbers(0, 77));
  }
  std::filesystem::remove(file);
}

TEST_F(DpdkPortTest, RingWithOneEndSaysThatNobodyIsThere) {
  DpdkPort port(ring_end("alone"), shared_eal(), address);
  EXPECT_EQ(port.address(), address) << "a ring has no address of its own";
  EXPECT_THAT(port.error(), HasSubstr("no peer is connected"));
  {
    DpdkPort peer(ring_end("alone"), shared_eal(), address);
    EXPECT_EQ(port.error(), "");
    ASSERT_TRUE(send_numbers(port, 0, 9));
    EXPECT_EQ(receive_numbers(peer, 9), numbers(0, 9));
  }
  EXPECT_THAT(port.error(), HasSubstr("no peer is connected"));
}

TEST_F(DpdkPortTest, PacketSocketDeviceExchangesFramesWithTheKernel) {
  if (!PrivateNetwork::skip_reason().empty()) {
    GTEST_SKIP() << PrivateNetwork::skip_reason();
  }
  PrivateNetwork::add_pair();
  {
    config::Port device = port_of(config::PortKind::af_packet);
    device.interface = "left";
    DpdkPort left(device, shared_eal(), address);
    link::RawSocket right("right", wire::default_ethertype);
    EXPECT_EQ(left.longest_frame(), 1514U);
    EXPECT_EQ(left.address(), wire::host_mac(Nid{link::test::left_nid}));
    ASSERT_TRUE(send_numbers(left, 0, 100));
    EXPECT_EQ(receive_numbers(right, 100), numbers(0, 100));
    ASSERT_TRUE(send_numbers(right, 0, 50));
    EXPECT_EQ(receive_numbers(left, 50), numbers(0, 50));
    EXPECT_EQ(left.error(), "");
    PrivateNetwork::run("ip link set left down");
    EXPECT_THAT(left.error(), HasSubstr("ip link set left up"));
    PrivateNetwork::remove_pair();
    EXPECT_THAT(left.error(), HasSubstr("is gone"));
  }
}

} // namespace
} // namespace tributary::pktgen::transport::test
