// The arrays that routing uses match the graph.
#include "controlplane/multicast/routing_view.hpp"

#include "controlplane/topology/builders.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace tributary::multicast {
namespace {

/// Links added in an order that is not that of the ports: a - b twice, b - c, and d alone.
struct FourSwitches : testing::Test {
  Graph graph;
  SwitchId a = graph.add_switch({.name = "a", .ports = 8});
  SwitchId b = graph.add_switch({.name = "b", .ports = 8});
  SwitchId c = graph.add_switch({.name = "c", .ports = 8});
  SwitchId d = graph.add_switch({.name = "d", .ports = 8});
  LinkId bc = graph.connect({b, 5}, {c, 1});
  LinkId high = graph.connect({a, 7}, {b, 3});
  LinkId low = graph.connect({a, 2}, {b, 4});
  HostId host = graph.add_host({.name = "h", .nid = Nid{1}, .at = {a, 0}});

  [[nodiscard]] static std::vector<LinkId> links(const RoutingView& view, SwitchId s) {
    std::vector<LinkId> all;
    for (const Arc& arc : view.arcs(s)) {
      all.push_back(arc.link);
    }
    return all;
  }
};

TEST_F(FourSwitches, ArcsGoByPortAndParallelLinksStayApart) {
  const RoutingView view(graph);
  EXPECT_EQ(links(view, a), (std::vector{low, high}));
  EXPECT_EQ(links(view, b), (std::vector{high, low, bc}));
  EXPECT_TRUE(view.arcs(d).empty());
  EXPECT_EQ(view.host_count(a), 1U);
}

TEST_F(FourSwitches, WhatIsDownHasNoArcsButKeepsItsLevel) {
  graph.set_up(low, false);
  graph.set_up(c, false);
  const RoutingView view(graph);
  EXPECT_EQ(links(view, b), (std::vector{high}));
  EXPECT_FALSE(view.usable(bc));
  EXPECT_FALSE(view.usable(c));
  EXPECT_EQ(view.level(c), 2U);
  EXPECT_EQ(view.level(d), RoutingView::none);
}

TEST_F(FourSwitches, AViewMadeOfTheOneBeforeIsTheSameAsOneMadeOfTheGraphAlone) {
  std::optional<RoutingView> last;
  const auto check = [&] {
    last = RoutingView(graph, last ? &*last : nullptr);
    const RoutingView fresh(graph);
    ASSERT_EQ(last->switch_count(), fresh.switch_count());
    ASSERT_EQ(last->link_count(), fresh.link_count());
    EXPECT_EQ(last->is_clos(), fresh.is_clos());
    for (SwitchId s{0}; s.value < fresh.switch_count(); ++s.value) {
      EXPECT_EQ(links(*last, s), links(fresh, s)) << s.value;
      EXPECT_EQ(last->level(s), fresh.level(s)) << s.value;
      EXPECT_EQ(last->part(s), fresh.part(s)) << s.value;
      EXPECT_EQ(last->host_count(s), fresh.host_count(s)) << s.value;
    }
    for (LinkId link{0}; link.value < fresh.link_count(); ++link.value) {
      EXPECT_EQ(last->ends(link), fresh.ends(link));
      EXPECT_EQ(last->usable(link), fresh.usable(link));
    }
  };
  check();
  graph.set_up(low, false);
  check();
  graph.set_up(c, false);
  check();
  graph.set_up(low, true);
  graph.move_host(host, {c, 0}); // other levels
  check();
  graph.set_up(c, true);
  graph.connect({d, 0}, {b, 0}); // other wiring
  check();
  graph.add_switch({.name = "e", .ports = 8});
  check();
  graph.add_host({.name = "h2", .nid = Nid{2}, .at = {c, 2}}); // the same levels
  check();
}

TEST_F(FourSwitches, PartsAreWhatUsableLinksConnect) {
  EXPECT_TRUE(RoutingView(graph).connected(std::vector{c, a}));
  EXPECT_FALSE(RoutingView(graph).connected(std::vector{a, d}));
  graph.set_up(bc, false);
  EXPECT_FALSE(RoutingView(graph).connected(std::vector{a, c}));
  EXPECT_TRUE(RoutingView(graph).connected(std::vector{a, b}));
  graph.set_up(d, false);
  EXPECT_FALSE(RoutingView(graph).connected(std::vector{d}));
}

TEST(RoutingView, FatTreesAreClosFabricsAlsoWithDeadLinksAndOthersAreNot) {
  auto fat_tree = topology::build_model("ft3:4");
  fat_tree.graph.set_up(LinkId{0}, false);
  fat_tree.graph.set_up(LinkId{1}, false);
  const RoutingView view(fat_tree.graph);
  EXPECT_TRUE(view.is_clos());
  EXPECT_EQ(view.level(*fat_tree.graph.find_switch("leaf1.1")), 0U);
  EXPECT_EQ(view.level(*fat_tree.graph.find_switch("middle1.1")), 1U);
  EXPECT_EQ(view.level(*fat_tree.graph.find_switch("top3")), 2U);
  EXPECT_FALSE(RoutingView(topology::build_model("torus:3x3x1").graph).is_clos());
  EXPECT_FALSE(RoutingView(topology::build_model("dragonfly:4,2,2").graph).is_clos());
}

} // namespace
} // namespace tributary::multicast
