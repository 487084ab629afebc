// A whole switch in this process, its workers in threads of their own, and its probe's figures.
#include "pktgen/transport/hosted_switch.hpp"

#include "frames.hpp"
#include "pktgen/transport/dpdk_port.hpp"
#include "pktgen/transport/switch_for.hpp"
#include "pktgen/transport/switch_probe.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"
#include "tests/unit/lib/service/one_shot_switch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::pktgen::transport::test {

using result::SwitchFigures;
using scenario::Kind;
using scenario::Scenario;

namespace {

using port::test::shared_eal;
using testing::ElementsAre;

Scenario hosted_scenario(Kind kind, std::uint32_t ports, std::uint32_t workers, bool busy) {
  Scenario scenario;
  scenario.name = "test";
  scenario.traffic.kind = kind;
  scenario.traffic.reduce.leaves = ports - 1;
  scenario::Hosted& hosted = scenario.hosted.emplace();
  hosted.ports = ports;
  hosted.workers = workers;
  hosted.busy = busy;
  return scenario;
}

/// The switch, and the generator's ends of its links. It stops before those go.
struct Lab {
  explicit Lab(const Scenario& scenario)
      : hosted(
            std::make_unique<HostedSwitch>(*scenario.hosted, switch_for(scenario), shared_eal())) {
    for (std::size_t p = 0; p < scenario.hosted->ports; ++p) {
      ports.push_back(std::make_unique<DpdkPort>(ring_end(hosted->link(p)), shared_eal(),
                                                 address_of_port(scenario, p)));
    }
    hosted->start();
  }
  std::vector<std::unique_ptr<DpdkPort>> ports;
  std::unique_ptr<HostedSwitch> hosted;
};

struct Workers {
  std::uint32_t count;
  bool busy;
};
class HostedSwitchTest : public testing::TestWithParam<Workers> {};

TEST_P(HostedSwitchTest, ForwardsReplicatesAndGivesEveryBufferBack) {
  const std::uint32_t free = shared_eal().free_buffers();
  {
    Scenario scenario = hosted_scenario(Kind::mixed, 3, GetParam().count, GetParam().busy);
    scenario.parts.resize(2);
    scenario.parts[0].kind = Kind::unicast;
    scenario.parts[1].kind = Kind::multicast;
    Lab lab(scenario);
    ASSERT_TRUE(send_numbers(*lab.ports[0], 0, 300,
                             wire::FabricAddress::unicast(Nid{scenario.first_nid + 2})));
    EXPECT_EQ(receive_numbers(*lab.ports[2], 300), numbers(0, 300));
    ASSERT_TRUE(send_numbers(*lab.ports[0], 0, 100,
                             wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0})));
    EXPECT_EQ(receive_numbers(*lab.ports[1], 100), numbers(0, 100));
    EXPECT_EQ(receive_numbers(*lab.ports[2], 100), numbers(0, 100));
  }
  EXPECT_EQ(shared_eal().free_buffers(), free);
}

TEST_P(HostedSwitchTest, ReducesWhatTheLeavesSend) {
  const Scenario scenario = hosted_scenario(Kind::reduce, 4, GetParam().count, GetParam().busy);
  Lab lab(scenario);
  ASSERT_TRUE(send_reduction(*lab.ports[0], reduction(TreeNumber{0}, true)));
  for (std::uint64_t leaf = 1; leaf < 4; ++leaf) {
    ASSERT_EQ(receive_frames(*lab.ports[leaf], 1).size(), 1U);
    ASSERT_TRUE(send_reduction(*lab.ports[leaf], reduction(TreeNumber{0}, false, 10 * leaf)));
  }
  const auto results = receive_frames(*lab.ports[0], 1);
  ASSERT_EQ(results.size(), 1U);
  wire::ReductionFrame result;
  ASSERT_EQ(wire::decode(results[0], wire::default_ethertype, result), wire::DecodeError::none);
  EXPECT_EQ(result.word.count, 3U);
  EXPECT_EQ(result.payload[0], 60U);
}

INSTANTIATE_TEST_SUITE_P(Workers, HostedSwitchTest,
                         testing::Values(Workers{1, false}, Workers{2, false}, Workers{1, true}));

TEST(SwitchProbeTest, HostedSwitchTellsFramesAndDropsOfTheTimeBetweenTwoLooks) {
  const Scenario scenario = hosted_scenario(Kind::unicast, 2, 1, false);
  Lab lab(scenario);
  const auto to_1 = wire::FabricAddress::unicast(Nid{scenario.first_nid + 1});
  HostedSwitchProbe probe(lab.hosted->workers());
  ASSERT_TRUE(send_numbers(*lab.ports[0], 0, 5, to_1));
  ASSERT_EQ(receive_numbers(*lab.ports[1], 5).size(), 5U);

  probe.begin();
  ASSERT_TRUE(send_numbers(*lab.ports[0], 0, 7, wire::FabricAddress::unicast(Nid{0x777})));
  ASSERT_TRUE(send_numbers(*lab.ports[1], 0, 3, to_1));
  ASSERT_TRUE(send_numbers(*lab.ports[0], 0, 20, to_1));
  ASSERT_EQ(receive_numbers(*lab.ports[1], 20).size(), 20U);
  SwitchFigures figures;
  EXPECT_TRUE(tributary::test::eventually([&] { // port 1 is another ring
    figures = probe.so_far();
    return figures.drops.size() >= 2;
  }));
  EXPECT_EQ(figures.received_frames, 30U);
  EXPECT_EQ(figures.sent_frames, 20U);
  ASSERT_EQ(figures.drops.size(), 2U);
  EXPECT_EQ(figures.drops[0].name, "switch0.port.p0.drop.no_route");
  EXPECT_EQ(figures.drops[0].rise, 7U);
  EXPECT_EQ(figures.drops[1].name, "switch0.port.p1.drop.route_to_ingress");
  EXPECT_EQ(figures.drops[1].rise, 3U);
  EXPECT_GT(figures.cycles_per_frame, 0);
  EXPECT_GT(figures.busy_share, 0);
  EXPECT_LE(figures.busy_share, 1);
}

TEST(SwitchProbeTest, FiguresAreDifferencesByName) {
  const SwitchCounters before{{"s.port.a.rx_frames", 10}, {"s.port.a.drop.no_tree", 4},
                              {"worker.0.cycles", 1000},  {"worker.0.busy_cycles", 100},
                              {"worker.0.frames", 10},    {"s.port.a.drop.runt", 2}};
  const SwitchCounters after{{"s.port.a.rx_frames", 15},   {"s.port.b.rx_frames", 2},
                             {"s.port.a.tx_frames", 6},    {"s.port.a.drop.no_tree", 9},
                             {"s.port.b.drop.no_tree", 6}, {"s.port.a.drop.runt", 2},
                             {"worker.0.cycles", 2000},    {"worker.0.busy_cycles", 350},
                             {"worker.0.frames", 60},      {"worker.0.idle", 3}};
  const SwitchFigures figures = figures_between(before, after);
  EXPECT_EQ(figures.received_frames, 7U);
  EXPECT_EQ(figures.sent_frames, 6U);
  EXPECT_DOUBLE_EQ(figures.busy_share, 0.25);
  EXPECT_DOUBLE_EQ(figures.cycles_per_frame, 5);
  ASSERT_EQ(figures.drops.size(), 2U);
  EXPECT_EQ(figures.drops[0].name, "s.port.b.drop.no_tree");
  EXPECT_EQ(figures.drops[0].rise, 6U);
  EXPECT_EQ(figures.drops[1].rise, 5U);
}

TEST(SwitchProbeTest, FiguresTellWhatDevicesMissedAndWhatEnginesCouldNotArm) {
  const SwitchFigures figures =
      figures_between({{"s.port.a.rx_missed", 10}, {"s.engine.a.arm_failures", 1}},
                      {{"s.port.a.rx_missed", 25},
                       {"s.port.b.rx_missed", 0},
                       {"s.port.b.drop.runt", 2},
                       {"s.engine.a.arm_failures", 4},
                       {"s.engine.b.arm_failures", 5}});
  EXPECT_EQ(figures.arm_failures, 8U);
  ASSERT_EQ(figures.drops.size(), 2U);
  EXPECT_EQ(figures.drops[0].name, "s.port.a.rx_missed");
  EXPECT_EQ(figures.drops[0].rise, 15U);
  EXPECT_EQ(figures.dropped_frames(), 17U);
}

TEST(SwitchProbeTest, RestartedSwitchCountsFromNothing) {
  EXPECT_EQ(
      figures_between({{"s.port.a.rx_frames", 1000}}, {{"s.port.a.rx_frames", 5}}).received_frames,
      5U);
}

TEST(SwitchProbeTest, RunningSwitchIsAskedForItsCountersOverTheSocket) {
  std::vector<std::string> asked;
  SwitchFigures figures;
  {
    const service::test::OneShotSwitch fake([&](int client, const std::string& first_line) {
      const auto answer = [&](const std::string& text) {
        EXPECT_EQ(::send(client, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
      };
      asked.push_back(first_line);
      answer(R"({"ok":true,"result":{"s.port.a.rx_frames":5,"s.port.a.drop.no_tree":1}})"
             "\n");
      asked.push_back(service::test::read_line(client));
      answer(R"({"ok":true,"result":{"s.port.a.rx_frames":9,"s.port.a.drop.no_tree":4}})"
             "\n");
    });
    SocketSwitchProbe probe(fake.path());
    probe.begin();
    figures = probe.so_far();
  }
  EXPECT_EQ(asked, std::vector<std::string>(2, R"({"command":"show","what":"counters"})"));
  EXPECT_EQ(figures.received_frames, 4U);
  ASSERT_EQ(figures.drops.size(), 1U);
  EXPECT_EQ(figures.drops[0].rise, 3U);
}

TEST(SwitchProbeTest, AMissingSwitchAtTheSocketIsAnErrorThatNamesTheOption) {
  try {
    SocketSwitchProbe probe("/nonexistent/switch.sock");
    FAIL();
  } catch (const service::SwitchError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("--switch-socket"));
    EXPECT_THAT(error.what(), testing::HasSubstr("/nonexistent/switch.sock"));
  }
}

} // namespace
} // namespace tributary::pktgen::transport::test
