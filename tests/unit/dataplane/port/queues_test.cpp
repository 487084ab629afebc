// Several queues of one port: which devices have them, how a NIC distributes frames over them, and
// that each carries frames.
#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/port/port_device.hpp"
#include "dataplane/port/receive_spread.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/dataplane/port/network_namespace.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>

namespace tributary::port::test {
namespace {

using ::testing::HasSubstr;

config::Port port_of(config::PortKind kind) {
  config::Port port;
  port.name = "p0";
  port.kind = kind;
  port.interface = "near";
  port.ring = "of one queue";
  return port;
}

std::string refusal_of(const config::Port& port, std::uint16_t queues) {
  try {
    PortDevice(port, shared_eal(), queues);
  } catch (const PortError& error) {
    return error.what();
  }
  return "";
}

TEST(ReceiveSpread, prefers_addresses_then_payload_then_ip_and_says_which) {
  constexpr std::uint64_t all = RTE_ETH_RSS_ETH | RTE_ETH_RSS_L2_PAYLOAD | RTE_ETH_RSS_IP;
  EXPECT_EQ(receive_spread(all).hash_fields, RTE_ETH_RSS_ETH);
  EXPECT_EQ(receive_spread(all).by, "Ethernet addresses");
  EXPECT_TRUE(receive_spread(all).suits_the_fabric);
  EXPECT_EQ(receive_spread(all & ~RTE_ETH_RSS_ETH).hash_fields, RTE_ETH_RSS_L2_PAYLOAD);
  const ReceiveSpread ip = receive_spread(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_UDP);
  EXPECT_EQ(ip.hash_fields, RTE_ETH_RSS_IPV4) << "only what is offered";
  EXPECT_FALSE(ip.suits_the_fabric) << "the fabric's frames have no IP";
  EXPECT_EQ(receive_spread(0).hash_fields, 0U);
}

TEST(PortQueues, null_port_sends_on_each_of_its_queues) {
  PortDevice port(port_of(config::PortKind::null), shared_eal(), 3);
  EXPECT_EQ(port.receive_queues(), 3U);
  for (std::uint16_t queue = 0; queue < 3; ++queue) {
    rte_mbuf* frame = allocate(shared_eal().pool());
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(port.transmit_on(queue, &frame, 1), 1U);
    EXPECT_EQ(port.receive_from(queue, &frame, 1), 0U);
  }
}

TEST(PortQueues, device_with_fewer_is_refused_with_the_number_it_has) {
  EXPECT_THAT(refusal_of(port_of(config::PortKind::ring), 2),
              HasSubstr("2 queues are asked for, and such a port has 1"));
  EXPECT_THAT(refusal_of(port_of(config::PortKind::memif), 4),
              HasSubstr("4 queues are asked for, and such a port has 1"));
}

class QueuesOfInterface : public ::testing::Test {
protected:
  void SetUp() override {
    if (!namespace_.unavailable().empty()) {
      GTEST_SKIP() << namespace_.unavailable();
    }
    namespace_.add_pair();
  }
  NetworkNamespace namespace_;
};

TEST_F(QueuesOfInterface, af_xdp_names_what_the_interface_has_and_the_command_for_more) {
  const std::string said = refusal_of(port_of(config::PortKind::af_xdp), 4);
  EXPECT_THAT(said, HasSubstr("has 1 queue, and 4 are asked for"));
  EXPECT_THAT(said, HasSubstr("ethtool -L near combined 4"));
}

TEST_F(QueuesOfInterface, af_packet_sends_on_each_and_loses_none_whichever_receives) {
  PortDevice port(port_of(config::PortKind::af_packet), shared_eal(), 2);
  EXPECT_THAT(port.description(), HasSubstr("2 queues"));
  const PacketSocket far("far", wire::default_ethertype);
  std::vector<std::byte> bytes(94);
  for (std::uint16_t i = 0; i < 50; ++i) {
    wire::write_ethernet_header(bytes.data(), wire::port_mac(Nid{i}), wire::host_mac(Nid{1}),
                                wire::default_ethertype);
    far.send(bytes);
    rte_mbuf* frame = allocate(shared_eal().pool());
    ASSERT_NE(frame, nullptr);
    std::memcpy(rte_pktmbuf_append(frame, 94), bytes.data(), bytes.size());
    const std::uint16_t queue = i % 2;
    ASSERT_EQ(port.transmit_on(queue, &frame, 1), 1U);
  }
  int received = 0;
  int echoed = 0;
  tributary::test::eventually([&] {
    for (std::uint16_t queue = 0; queue < 2; ++queue) {
      rte_mbuf* frame = nullptr;
      while (port.receive_from(queue, &frame, 1) == 1) {
        received +=
            wire::ethertype_of(rte_pktmbuf_mtod(frame, const std::byte*)) == wire::default_ethertype
                ? 1
                : 0;
        give_back(frame);
      }
    }
    echoed += far.receive() ? 1 : 0;
    return received >= 50 && echoed >= 50;
  });
  EXPECT_EQ(received, 50);
  EXPECT_EQ(echoed, 50);
}

} // namespace
} // namespace tributary::port::test
