// The path from host to host, as people see it.
#include "controlplane/route_controller/path.hpp"

#include "tests/unit/controlplane/route_controller/fabrics.hpp"

#include <gtest/gtest.h>

namespace tributary::route_controller {
namespace {

using topology::HostId;
using topology::SwitchId;

TEST(RoutesPath, it_leads_from_link_to_link_to_the_host) {
  const topology::Graph graph = test::fabric("kdft:4x4x1,2");
  const Plan plan = test::planned(graph);
  const Path path = path_between(test::tables_of(plan), graph, HostId{0}, HostId{15});
  EXPECT_EQ(path.end, forwarding_table::Outcome::deliver);
  ASSERT_EQ(path.hops.size(), 5U) << "leaf, root, leaf, root, leaf";
  EXPECT_EQ(path.hops.front().at, graph[HostId{0}].at.at);
  EXPECT_EQ(path.hops.front().in, graph[HostId{0}].at.port);
  EXPECT_EQ(path.hops.front().others.size(), 1U) << "two planes";
  EXPECT_EQ(path.hops.back().at, graph[HostId{15}].at.at);
  EXPECT_EQ(path.hops.back().out, graph[HostId{15}].at.port);
  for (std::size_t i = 0; i + 1 < path.hops.size(); ++i) {
    const auto link = graph.link_at({path.hops[i].at, path.hops[i].out});
    ASSERT_TRUE(link);
    EXPECT_EQ(link, graph.link_at({path.hops[i + 1].at, path.hops[i + 1].in}));
    EXPECT_LE(path.hops[i].vc, path.hops[i + 1].vc);
  }
  EXPECT_FALSE(path.hops[1].spares.empty()) << "a root has columns that stand in";
}

TEST(RoutesPath, two_hosts_of_one_switch_are_one_hop_apart) {
  const topology::Graph graph = test::fabric("kdft:3x3x2");
  const Path path =
      path_between(test::tables_of(test::planned(graph)), graph, HostId{0}, HostId{1});
  EXPECT_EQ(path.end, forwarding_table::Outcome::deliver);
  ASSERT_EQ(path.hops.size(), 1U);
  EXPECT_EQ(path.hops.front().out, graph[HostId{1}].at.port);
}

TEST(RoutesPath, it_goes_round_what_has_died_since_or_says_why_not) {
  topology::Graph graph = test::fabric("kdft:4x4x1");
  const HeldTables tables = test::tables_of(test::planned(graph));
  const Path before = path_between(tables, graph, HostId{0}, HostId{15});
  graph.set_up(before.hops[2].at, false);
  const Path after = path_between(tables, graph, HostId{0}, HostId{15});
  EXPECT_EQ(after.end, forwarding_table::Outcome::deliver);
  EXPECT_GT(after.hops.size(), before.hops.size());
  graph.set_up(graph[HostId{15}].at.at, false);
  const Path dead = path_between(tables, graph, HostId{0}, HostId{15});
  EXPECT_EQ(dead.end, forwarding_table::Outcome::dest_dead);
}

TEST(RoutesPath, a_switch_without_routes_ends_it) {
  const topology::Graph graph = test::fabric("kdft:3x3x1");
  HeldTables tables = test::tables_of(test::planned(graph));
  tables[graph[HostId{0}].at.at.value] = {};
  const Path path = path_between(tables, graph, HostId{0}, HostId{8});
  EXPECT_EQ(path.end, forwarding_table::Outcome::no_route);
  EXPECT_FALSE(path.unknown);
  EXPECT_EQ(path.hops.size(), 1U);
}

TEST(RoutesPath, it_goes_by_what_each_switch_holds_and_ends_where_that_is_not_known) {
  const topology::Graph graph = test::fabric("kdft:3x3x1");
  HeldTables tables = test::tables_of(test::planned(graph));
  const Path path = path_between(tables, graph, HostId{0}, HostId{8});
  ASSERT_GT(path.hops.size(), 2U);
  EXPECT_EQ(path.hops[1].epoch, 12U);
  tables[path.hops[1].at.value] = {.epoch = 7, .routes = nullptr};
  const Path unknown = path_between(tables, graph, HostId{0}, HostId{8});
  EXPECT_TRUE(unknown.unknown);
  ASSERT_EQ(unknown.hops.size(), 2U);
  EXPECT_EQ(unknown.hops[1].epoch, 7U);
}

} // namespace
} // namespace tributary::route_controller
