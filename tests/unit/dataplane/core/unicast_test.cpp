// Unicast frames by the manager's routes: places, virtual channels, flows, spares, reasons. Each
// frame is explained first: `explain` must predict the decision.

#include "dataplane/core/explain.hpp"
#include "tests/support/random_routes.hpp"
#include "tests/unit/dataplane/core/test_switch.hpp"

#include <array>
#include <map>
#include <memory>
#include <string>

namespace tributary::core::test {
namespace {

using forwarding_table::Action;

constexpr PortNumber host{0};
constexpr PortNumber other_host{1};
constexpr PortSet up_ports{0b001100};    ///< 2 and 3: first choices of routes
constexpr PortSet spare_ports{0b110000}; ///< 4 and 5
constexpr Nid far{100};                  ///< on switch 1
constexpr Nid nowhere{900};

/// Switch 0, with hosts at ports 0 and 1. Frames from hosts go to switch 1 by ports 2 and 3, and by
/// 4 and 5 without these; frames from a switch rise by one virtual channel.
forwarding_table::Routes leaf_routes() {
  forwarding_table::Routes r;
  r.epoch = 1;
  r.table = {.self = 0,
             .destinations = 3,
             .vcs = 2,
             .words = 1,
             .classes = {0, 0, 1, 1, 1, 1},
             .row_of = {0, 0, 1, 1},
             .rows = {0, 1, 3, 0, 2, 3},
             .actions = {Action{}, Action{.ports = 1, .spares = 2, .spare_turns = 1},
                         Action{.ports = 1, .step = 1},
                         Action{.ports = 1, .otherwise = forwarding_table::Outcome::dest_dead}},
             .port_words = {0, up_ports.bits(), spare_ports.bits()}};
  r.hosts = std::make_shared<const forwarding_table::HostRuns>(
      forwarding_table::HostRuns{{40, 10, 0}, {100, 8, 1}, {200, 8, 2}, {300, 8, 9}});
  r.local = {{Nid{40}, 0}, {Nid{41}, 1}};
  r.fabric_ports = {0b111100};
  return r;
}

PortPolicy link(bool tags) {
  PortPolicy policy;
  policy.carries_classes = tags;
  return policy;
}

TablesBuilder tables_with(const forwarding_table::Routes& routes, bool tags = true) {
  TablesBuilder builder;
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port(link(tags && i >= 2)), "");
  }
  EXPECT_EQ(builder.add_route(routed_nid, routed), "");
  EXPECT_EQ(forwarding_table::problem_with(routes, port_count), "");
  builder.set_routes(std::make_shared<const forwarding_table::Routes>(routes));
  return builder;
}

Frame unicast(Nid to, Nid from = Nid{40}, unsigned dscp = 0, unsigned vni = 7) {
  Frame frame{wire::ReductionFrame{}};
  std::byte* p = frame.portals();
  p[wire::portals_offset::dscp_ecn] = static_cast<std::byte>(dscp << 2);
  wire::store_be<std::uint16_t>(p + wire::portals_offset::vni, static_cast<std::uint16_t>(vni));
  wire::store_be<std::uint32_t>(p + wire::portals_offset::sfa,
                                wire::FabricAddress::unicast(from).value);
  wire::store_be<std::uint32_t>(p + wire::portals_offset::dfa,
                                wire::FabricAddress::unicast(to).value);
  frame.fix_checksum();
  return frame;
}

class UnicastByTable : public testing::Test {
protected:
  void SetUp() override { s.adopt(tables_with(leaf_routes())); }

  Decision give(PortNumber in, Frame frame, std::uint8_t traffic_class = 0) {
    FrameView view = frame.view();
    view.traffic_class = traffic_class;
    const Explanation predicted = explain(s.core, in, view);
    why.clear();
    for (const std::string& step : predicted.steps) {
      why += step + '\n';
    }
    const Decision d = s.core.process(in, view, s.now);
    EXPECT_EQ(predicted.decision.action, d.action) << why;
    EXPECT_EQ(predicted.decision.reason, d.reason) << why;
    EXPECT_EQ(predicted.decision.port, d.port) << why;
    EXPECT_EQ(predicted.decision.event, d.event) << why;
    EXPECT_EQ(predicted.decision.traffic_class, d.traffic_class) << why;
    return d;
  }
  bool says(const std::string& text) const { return why.find(text) != std::string::npos; }
  void down(PortSet ports) {
    ports.for_each([&](PortNumber port) { s.core.port_changed(port, false); });
  }

  TestSwitch s;
  std::string why;
};

TEST_F(UnicastByTable, HostsOfTheSwitchAreReachedByTheirPorts) {
  expect_forwarded(give(host, unicast(Nid{41})), other_host, Event::unicast);
  EXPECT_TRUE(says("its host is attached to port 1 of this switch")) << why;
  // From the fabric it keeps its class, so that the same pauses apply.
  const Decision d = give(PortNumber{2}, unicast(Nid{40}, far), 1);
  expect_forwarded(d, host, Event::unicast);
  EXPECT_EQ(d.traffic_class, 1);
}

TEST_F(UnicastByTable, AHostOfTheSwitchThatNobodyKnowsThePortOfHasNoRoute) {
  expect_dropped(s, give(host, unicast(Nid{42})), host, DropReason::no_route);
  EXPECT_TRUE(says("that is this switch, and no port is known of the host")) << why;
}

TEST_F(UnicastByTable, ARouteOfTheFileComesFirst) {
  forwarding_table::Routes routes = leaf_routes();
  routes.local.push_back({routed_nid, 1});
  s.adopt(tables_with(routes));
  expect_forwarded(give(host, unicast(routed_nid)), routed, Event::unicast);
  EXPECT_TRUE(says("a route of the switch's own file leads to port 4")) << why;
}

TEST_F(UnicastByTable, WhatNobodyHasARouteForIsDropped) {
  expect_dropped(s, give(host, unicast(nowhere)), host, DropReason::no_route);
  EXPECT_EQ(give(host, unicast(Nid{300})).reason, DropReason::no_route) << "switch 9 is none";
}

TEST_F(UnicastByTable, HostsInjectInVirtualChannelZeroWhateverTheirClass) {
  const Decision d = give(host, unicast(far), 5);
  EXPECT_EQ(d.action, core::Action::forward);
  EXPECT_TRUE(up_ports.contains(d.port));
  EXPECT_EQ(d.traffic_class, 0);
  EXPECT_TRUE(says("its host is attached to switch 1 (routes of epoch 1; this is switch 0)"))
      << why;
  EXPECT_TRUE(says("it comes from a host, in virtual channel 0 of 2")) << why;
}

TEST_F(UnicastByTable, TheTableRaisesTheVirtualChannelByInputClass) {
  const Decision d = give(PortNumber{4}, unicast(far), 0);
  EXPECT_EQ(d.action, core::Action::forward);
  EXPECT_EQ(d.traffic_class, 1);
  expect_dropped(s, give(PortNumber{4}, unicast(far), 1), PortNumber{4}, DropReason::no_vc);
}

TEST_F(UnicastByTable, AClassThatIsNoVirtualChannelOfTheRoutesIsNoVc) {
  expect_dropped(s, give(PortNumber{2}, unicast(far), 2), PortNumber{2}, DropReason::no_vc);
  EXPECT_TRUE(says("it comes from a switch in class 2, and the routes have 2 virtual channels"))
      << why;
}

TEST_F(UnicastByTable, APortWithoutTagsCarriesVirtualChannelZeroAndNoOther) {
  s.adopt(tables_with(leaf_routes(), false));
  EXPECT_EQ(give(host, unicast(far)).action, core::Action::forward);
  expect_dropped(s, give(PortNumber{4}, unicast(far)), PortNumber{4}, DropReason::no_vc);
  EXPECT_TRUE(says("in virtual channel 1, and frames carry none there")) << why;
}

TEST_F(UnicastByTable, AFlowStaysOnOnePortAndFlowsUseAll) {
  std::map<unsigned, int> ports;
  for (unsigned from = 0; from < 1000; ++from) {
    const Decision first = give(host, unicast(far, Nid{from}));
    EXPECT_EQ(give(host, unicast(far, Nid{from})).port, first.port);
    EXPECT_EQ(first.event, Event::unicast);
    ++ports[first.port.value];
  }
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_NEAR(ports[2], 500, 60);
}

TEST_F(UnicastByTable, VniAndDscpTellFlowsApart) {
  std::map<unsigned, int> by_vni;
  std::map<unsigned, int> by_dscp;
  for (unsigned i = 0; i < 64; ++i) {
    ++by_vni[give(host, unicast(far, Nid{40}, 0, i)).port.value];
    ++by_dscp[give(host, unicast(far, Nid{40}, i)).port.value];
  }
  EXPECT_NEAR(by_vni[2], 32, 14);
  EXPECT_NEAR(by_dscp[2], 32, 14);
}

TEST_F(UnicastByTable, SwitchesInARowChooseIndependently) {
  // The next switch again splits the flows that one switch puts on port 2 in half.
  TestSwitch next;
  forwarding_table::Routes routes = leaf_routes();
  routes.table.self = 2;
  next.adopt(tables_with(routes));
  int same = 0;
  constexpr int flows = 1000;
  for (unsigned from = 0; from < flows; ++from) {
    const PortNumber a = give(host, unicast(far, Nid{from})).port;
    same += next.give(host, unicast(far, Nid{from})).port == a ? 1 : 0;
  }
  EXPECT_NEAR(same, flows / 2, 60);
}

TEST_F(UnicastByTable, ADscpThatMayBeReorderedIsSpreadFrameByFrame) {
  forwarding_table::Routes routes = leaf_routes();
  routes.sprayed_dscps = std::uint64_t{1} << 12;
  s.adopt(tables_with(routes));
  std::map<unsigned, int> ports;
  for (int i = 0; i < 100; ++i) {
    ++ports[give(host, unicast(far, Nid{40}, 12)).port.value];
  }
  EXPECT_NEAR(ports[2], 50, 2);
  EXPECT_TRUE(says("they are spread one by one")) << why;
  const PortNumber one = give(host, unicast(far, Nid{40}, 13)).port;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(give(host, unicast(far, Nid{40}, 13)).port, one);
  }
}

TEST_F(UnicastByTable, SparesStandInWhenTheFirstPortsAreDown) {
  down(PortSet(0b000100));
  expect_forwarded(give(host, unicast(far)), PortNumber{3}, Event::unicast);
  down(up_ports);
  const Decision d = give(host, unicast(far));
  EXPECT_EQ(d.event, Event::detoured);
  EXPECT_TRUE(spare_ports.contains(d.port));
  EXPECT_TRUE(says("a spare: the first ports of its route are down")) << why;
}

TEST_F(UnicastByTable, ReasonsAreToldApart) {
  down(up_ports);
  expect_dropped(s, give(host, unicast(Nid{200})), host, DropReason::dest_dead);
  EXPECT_EQ(s.drops(host, DropReason::dest_dead), 1U);
  down(spare_ports);
  EXPECT_EQ(give(host, unicast(far)).reason, DropReason::no_route);
}

TEST_F(UnicastByTable, APortThatPausesItsClassForTooLongIsGoneRound) {
  s.core.stuck_changed(TrafficClass{0}, PortSet(0b000100));
  expect_forwarded(give(host, unicast(far)), PortNumber{3}, Event::unicast);
  s.core.stuck_changed(TrafficClass{0}, up_ports);
  EXPECT_EQ(give(host, unicast(far)).event, Event::detoured);
  // Another class is not affected: from a switch it leaves in class 1.
  EXPECT_EQ(give(PortNumber{4}, unicast(far)).event, Event::unicast);
  // Without another path it waits there, and the queue drops it with its own reason.
  s.core.stuck_changed(TrafficClass{0}, PortSet(up_ports.bits() | spare_ports.bits()));
  const Decision d = give(host, unicast(far));
  EXPECT_EQ(d.action, core::Action::forward);
  EXPECT_TRUE(up_ports.contains(d.port));
  s.core.stuck_changed(TrafficClass{0}, {});
  EXPECT_EQ(give(host, unicast(far)).event, Event::unicast);
}

TEST_F(UnicastByTable, WhereHigherVirtualChannelsWillDoFlowsUseThemToo) {
  forwarding_table::Routes routes = leaf_routes();
  routes.table.actions[1].rises = true;
  s.adopt(tables_with(routes));
  std::map<unsigned, int> vcs;
  for (unsigned from = 0; from < 400; ++from) {
    ++vcs[give(host, unicast(far, Nid{from})).traffic_class];
  }
  EXPECT_EQ(vcs.size(), 2U);
  EXPECT_NEAR(vcs[1], 200, 50);
  s.adopt(tables_with(routes, false));
  EXPECT_EQ(give(host, unicast(far)).traffic_class, 0);
}

TEST_F(UnicastByTable, OtherRoutesAreInForceWithTheirSnapshot) {
  EXPECT_EQ(give(host, unicast(far)).action, core::Action::forward);
  forwarding_table::Routes routes = leaf_routes();
  routes.epoch = 2;
  routes.table.rows[1] = 0;
  s.adopt(tables_with(routes));
  expect_dropped(s, give(host, unicast(far)), host, DropReason::no_route);
}

TEST(UnicastAtRandom, WhateverRoutesTheSwitchTakesFramesGoSomewhereOrAreCounted) {
  constexpr std::uint64_t seed = 21;
  tributary::Random random(seed);
  TestSwitch s;
  for (int i = 0; i < 200; ++i) {
    forwarding_table::Routes routes = tributary::test::random_routes(port_count, random);
    tributary::test::spoil(routes, random);
    if (!forwarding_table::problem_with(routes, port_count).empty()) {
      continue;
    }
    routes.table.classes.resize(port_count);
    TablesBuilder builder;
    for (std::size_t p = 0; p < port_count; ++p) {
      ASSERT_EQ(builder.add_port(link(random.chance(0.5))), "");
    }
    builder.set_routes(std::make_shared<const forwarding_table::Routes>(routes));
    s.adopt(std::move(builder));
    for (int f = 0; f < 100; ++f) {
      const PortNumber in{static_cast<std::uint8_t>(random.below(port_count))};
      s.core.port_changed(PortNumber{static_cast<std::uint8_t>(random.below(port_count))},
                          random.chance(0.8));
      s.core.stuck_changed(TrafficClass{static_cast<std::uint8_t>(random.below(8))},
                           PortSet(random.next() & random.next()));
      Frame frame = unicast(Nid{static_cast<std::uint32_t>(random.below(3000))},
                            Nid{static_cast<std::uint32_t>(random.below(3000))},
                            static_cast<unsigned>(random.below(64)));
      FrameView view = frame.view();
      view.traffic_class = static_cast<std::uint8_t>(random.below(8));
      const std::uint64_t drops = s.all_drops();
      const Explanation predicted = explain(s.core, in, view);
      const Decision d = s.core.process(in, view, s.now);
      ASSERT_EQ(predicted.decision.action, d.action) << "seed " << seed << ", routes " << i;
      ASSERT_EQ(predicted.decision.port, d.port);
      if (d.action == core::Action::forward) {
        ASSERT_TRUE(s.core.ports_up().contains(d.port));
        ASSERT_EQ(s.all_drops(), drops);
      } else {
        ASSERT_EQ(d.action, core::Action::drop);
        ASSERT_EQ(s.all_drops(), drops + 1);
      }
    }
  }
}

} // namespace
} // namespace tributary::core::test
