// A scenario's complete transport. One test makes a Transport with DPDK, which starts once per
// process; all others do without.
#include "pktgen/transport/transport.hpp"

#include "frames.hpp"
#include "lib/configuration/diagnostic.hpp"
#include "lib/link/link_error.hpp"
#include "tests/unit/lib/link/private_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::pktgen::transport::test {

using scenario::PortSpec;
using scenario::Scenario;

namespace {

using link::test::PrivateNetwork;
using testing::HasSubstr;

PortSpec raw_on(const std::string& interface) {
  PortSpec spec;
  spec.device.name = interface;
  spec.device.interface = interface;
  return spec;
}

PortSpec device_of(config::PortKind kind) {
  PortSpec spec;
  spec.raw = false;
  spec.device.name = "d";
  spec.device.kind = kind;
  return spec;
}

Scenario unicast_over(std::vector<PortSpec> ports) {
  Scenario scenario;
  scenario.name = "test";
  scenario.traffic.kind = scenario::Kind::unicast;
  scenario.ports = std::move(ports);
  return scenario;
}

template <typename Error> std::string refusal_of(const Scenario& scenario) {
  try {
    Transport transport(scenario);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "opened";
  return {};
}

TEST(TransportTest, DpdkIsAskedForOnlyWhenSomethingNeedsIt) {
  Scenario scenario = unicast_over({raw_on("a"), raw_on("b")});
  EXPECT_TRUE(dpdk_needs(scenario).switches.empty());
  scenario.ports.push_back(device_of(config::PortKind::pci));
  scenario.ports.back().device.pci_address = "0000:01:00.0";
  const config::Config needs = dpdk_needs(scenario);
  ASSERT_EQ(needs.switches.size(), 1U);
  EXPECT_EQ(needs.switches[0].ports[0].pci_address, "0000:01:00.0");
  EXPECT_EQ(needs.switches[0].ports.size(), 1 + 2 * 3U) << "the NIC, and rings to calibrate with";
  scenario.phases.calibrate = false;
  EXPECT_EQ(dpdk_needs(scenario).switches[0].ports.size(), 1U);
}

TEST(TransportTest, PortsThatTheProcessorDoesNotAllowAreNamed) {
  const Scenario scenario = unicast_over(
      {raw_on("a"), device_of(config::PortKind::af_xdp), device_of(config::PortKind::af_packet)});
  EXPECT_TRUE(refused_ports(scenario, config::MemoryOrder::as_written).empty());
  try {
    refused_ports(scenario, config::MemoryOrder::any).throw_if_any("test");
    FAIL() << "nothing was refused";
  } catch (const configuration::ConfigError& error) {
    ASSERT_EQ(error.findings().size(), 1U);
    EXPECT_THAT(error.what(), HasSubstr("port \"d\": af_packet is not safe on this processor"));
    EXPECT_THAT(error.what(), HasSubstr("or a raw socket"));
  }
}

TEST(TransportTest, EachFurtherQueueNeedsTheBuffersOfAPort) {
  Scenario scenario = unicast_over({device_of(config::PortKind::pci), raw_on("a")});
  scenario.phases.calibrate = false;
  const std::size_t before = dpdk_needs(scenario).switches[0].ports.size();
  scenario.ports[0].queues = 4;
  scenario.ports[1].queues = 2; // a raw socket's are the kernel's
  EXPECT_EQ(dpdk_needs(scenario).switches[0].ports.size(), before + 3);
}

TEST(TransportTest, PortOfSeveralQueuesIsAsManyQueuePairsAndOnePort) {
  if (!PrivateNetwork::skip_reason().empty()) {
    GTEST_SKIP() << PrivateNetwork::skip_reason();
  }
  PrivateNetwork::add_pair();
  {
    Scenario scenario = unicast_over({raw_on("left"), raw_on("right")});
    scenario.ports[1].queues = 3;
    const Transport transport(scenario);
    EXPECT_EQ(transport.port_of_queue_pair(), (std::vector<PortIndex>{0, 1, 1, 1}));
    const auto queue_pairs = transport.queue_pairs();
    ASSERT_EQ(queue_pairs.size(), 4U);
    EXPECT_EQ(transport.ports(), (std::vector<Port*>{queue_pairs[0], queue_pairs[1]}));
    for (const Port* queue_pair : {queue_pairs[2], queue_pairs[3]}) {
      EXPECT_EQ(queue_pair->address(), queue_pairs[1]->address());
      EXPECT_EQ(queue_pair->description(), queue_pairs[1]->description());
    }
  }
  PrivateNetwork::remove_pair();
}

TEST(TransportTest, HostedSwitchNeedsBuffersForBothEndsAndAllThreads) {
  Scenario scenario = unicast_over({});
  scenario.hosted.emplace().ports = 5;
  scenario.hosted->workers = 2;
  const config::Config needs = dpdk_needs(scenario);
  ASSERT_EQ(needs.switches.size(), 1U);
  EXPECT_EQ(needs.switches[0].ports.size(), 10U);
  EXPECT_EQ(needs.process.workers, 3U);
}

TEST(TransportTest, MoreDevicesThanDpdkHasRoomForAreRefused) {
  Scenario scenario = unicast_over(std::vector(40, device_of(config::PortKind::null)));
  EXPECT_THAT(refusal_of<configuration::ConfigError>(scenario),
              HasSubstr("40 ports are DPDK devices"));
}

TEST(TransportTest, MissingInterfaceIsRefusedForAnyKindOfPort) {
  EXPECT_THAT(refusal_of<link::LinkError>(unicast_over({raw_on("nosuch0")})),
              HasSubstr("'nosuch0' does not exist"));
  PortSpec device = device_of(config::PortKind::af_xdp);
  device.device.interface = "nosuch1";
  EXPECT_THAT(refusal_of<link::LinkError>(unicast_over({device})),
              HasSubstr("'nosuch1' does not exist"));
}

TEST(TransportTest, MissingCapabilityOfADeviceIsNamed) {
  if (!PrivateNetwork::skip_reason().empty()) {
    GTEST_SKIP() << PrivateNetwork::skip_reason();
  }
  EXPECT_EXIT(
      {
        constexpr uid_t nobody = 65534;
        if (::setresuid(nobody, nobody, nobody) != 0) {
          std::_Exit(3);
        }
        PortSpec device = device_of(config::PortKind::af_xdp);
        device.device.interface = "lo";
        try {
          Transport transport(unicast_over({device}));
          std::_Exit(4);
        } catch (const port::PortError& error) {
          std::fputs(error.what(), stderr);
          std::_Exit(0);
        }
      },
      testing::ExitedWithCode(0), "CAP_NET_ADMIN");
}

TEST(TransportTest, RawPortsNeedNoDpdkAndCalibrateThroughSockets) {
  if (!PrivateNetwork::skip_reason().empty()) {
    GTEST_SKIP() << PrivateNetwork::skip_reason();
  }
  PrivateNetwork::add_pair();
  {
    const Scenario scenario = unicast_over({raw_on("left"), raw_on("right")});
    Transport transport(scenario);
    EXPECT_EQ(transport.probe(), nullptr);
    const auto ports = transport.ports();
    ASSERT_EQ(ports.size(), 2U);
    ASSERT_TRUE(send_numbers(*ports[0], 0, 10));
    EXPECT_EQ(receive_numbers(*ports[1], 10), numbers(0, 10));
    PrivateNetwork::run("ip link set lo down");
    EXPECT_EQ(transport.loop(scenario)->description(), "in its own memory");
    PrivateNetwork::run("ip link set lo up");
    EXPECT_EQ(transport.loop(scenario)->description(), "through raw sockets on lo");
  }
  PrivateNetwork::remove_pair();
}

TEST(TransportTest, HostedSwitchOfAllPortsRunsAnswersAndCalibratesBeside) {
  Scenario scenario = unicast_over({});
  scenario.hosted.emplace().ports = max_ports;
  scenario.hosted->busy = false;
  Transport transport(scenario);
  ASSERT_NE(transport.probe(), nullptr);
  constexpr std::uint32_t last = max_ports - 1;
  const auto to_last = wire::FabricAddress::unicast(Nid{scenario.first_nid + last});
  {
    const auto loop = transport.loop(scenario);
    EXPECT_EQ(loop->description(), "through rings of DPDK");
    ASSERT_TRUE(send_numbers(*loop->ports()[0], 0, 40, to_last));
    loop->turn(TimeNs{1});
    EXPECT_EQ(receive_numbers(*loop->ports()[last], 40), numbers(0, 40));
  }
  const auto ports = transport.ports();
  ASSERT_EQ(ports.size(), max_ports);
  transport.probe()->begin();
  // Along all ports, each to the previous one.
  for (std::size_t p = 0; p < max_ports; ++p) {
    const std::size_t to = (p + last) % max_ports;
    ASSERT_TRUE(send_numbers(
        *ports[p], 100 * p, 100,
        wire::FabricAddress::unicast(Nid{scenario.first_nid + static_cast<std::uint32_t>(to)})));
    EXPECT_EQ(receive_numbers(*ports[to], 100), numbers(100 * p, 100)) << "port " << p;
  }
  EXPECT_EQ(transport.probe()->so_far().received_frames, 100U * max_ports);
}

} // namespace
} // namespace tributary::pktgen::transport::test
