// Which algorithm a fabric gets, what is refused and why, and how a set follows another one.
#include "controlplane/routes/plan.hpp"

#include "tests/unit/controlplane/routes/fabrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::routes {
namespace {

using test::fabric;
using test::held_by_all;
using test::planned;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using topology::LinkId;
using topology::SwitchId;

Settings with(std::string algorithm, std::uint8_t vcs = 2) {
  return {.algorithm = std::move(algorithm), .vcs = vcs};
}

TEST(RoutesPlan, a_healthy_fat_tree_of_two_dimensions_gets_vtftr_plus) {
  const Plan plan = planned(fabric("kdft:4x3x2"));
  EXPECT_EQ(plan.refused, "");
  EXPECT_EQ(plan.algorithm, "vtftr_plus");
  EXPECT_EQ(plan.shape, "4x3, 1 plane");
  EXPECT_EQ(plan.epoch, 12U);
  EXPECT_EQ(plan.pairs, 12U * 11U);
  EXPECT_EQ(plan.most_hops, 4U);
  EXPECT_EQ(plan.computed, TimeNs{42});
  EXPECT_GE(plan.hottest_load, plan.mean_load);
  EXPECT_THAT(plan.hottest_link, HasSubstr(" port "));
  EXPECT_THAT(plan.parts, SizeIs(1));
}

TEST(RoutesPlan, dead_leaves_stay_with_vtftr_plus_and_a_dead_link_takes_the_phase_search) {
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(SwitchId{5}, false);
  const Plan leaf = planned(graph);
  EXPECT_EQ(leaf.algorithm, "vtftr_plus");
  EXPECT_EQ(leaf.pairs, 15U * 14U);
  EXPECT_EQ(leaf.contents[5], nullptr) << "a dead switch is told nothing";
  graph.set_up(LinkId{0}, false);
  const Plan link = planned(graph);
  EXPECT_EQ(link.refused, "");
  EXPECT_EQ(link.algorithm, "phase_search");
}

TEST(RoutesPlan, three_dimensions_get_the_phase_search_and_other_fabrics_general_routes) {
  EXPECT_EQ(planned(fabric("kdft:3x3x3x1")).algorithm, "phase_search");
  const Plan torus = planned(fabric("torus:4x4x1"));
  EXPECT_EQ(torus.refused, "");
  EXPECT_EQ(torus.algorithm, "general");
  EXPECT_THAT(torus.why, HasSubstr("no fat tree: "));
}

TEST(RoutesPlan, where_a_legal_route_is_missing_general_routes_are_taken_instead) {
  // One plane, two virtual channels: of some links dead the phase search strands pairs.
  topology::Graph graph = fabric("kdft:3x3x1");
  std::uint32_t taken = 0;
  for (std::uint32_t a = 0; a < graph.links().size(); ++a) {
    for (std::uint32_t b = a + 1; b < graph.links().size(); ++b) {
      topology::Graph damaged = graph;
      damaged.set_up(LinkId{a}, false);
      damaged.set_up(LinkId{b}, false);
      const Plan plan = planned(damaged);
      ASSERT_EQ(plan.refused, "");
      if (plan.algorithm == "general" && plan.parts.size() == 1) {
        EXPECT_THAT(plan.why, HasSubstr("have no route"));
        ++taken;
      }
    }
  }
  EXPECT_GT(taken, 0U);
}

TEST(RoutesPlan, an_algorithm_by_name_stands_alone_and_is_refused_with_a_witness) {
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(LinkId{0}, false);
  const Plan vtftr = planned(graph, with("vtftr"));
  EXPECT_THAT(vtftr.refused, HasSubstr("dead"));
  EXPECT_THAT(vtftr.contents, IsEmpty());
  EXPECT_THAT(planned(fabric("torus:4x4x1"), with("phase_search")).refused,
              HasSubstr("in a fat tree every link joins a leaf"));
  // With the diagonal dead no row and no column is clean, and between two rows both corners may be.
  topology::Graph diagonal = fabric("kdft:5x5x1");
  for (const std::uint32_t s : {0U, 6U, 12U, 18U, 24U}) {
    diagonal.set_up(SwitchId{s}, false);
  }
  EXPECT_THAT(planned(diagonal, with("vtftr")).refused, HasSubstr("have no route: leaf"));
  EXPECT_EQ(planned(diagonal, with("vtftr_plus")).refused, "");
}

TEST(RoutesPlan, a_declared_shape_that_the_links_contradict_is_refused) {
  Settings settings;
  settings.shape = shape_named("4x3");
  EXPECT_EQ(planned(fabric("kdft:4x3x1"), settings).refused, "");
  EXPECT_THAT(planned(fabric("kdft:4x4x1"), settings).refused, HasSubstr("declared shape"));
}

TEST(RoutesPlan, more_virtual_channels_than_a_port_carries_are_refused_by_its_name) {
  Request request{.fabric = fabric("kdft:3x3x1"), .settings = {.vcs = 2}};
  request.limit = {.vcs = 1, .where = "leaf0.0 port 1"};
  const Plan plan = make_plan(request, [] { return TimeNs{}; });
  EXPECT_THAT(plan.refused, HasSubstr("2 virtual channels, and leaf0.0 port 1 carries 1"));
}

TEST(RoutesPlan, a_fabric_in_parts_is_routed_part_by_part_and_told_with_names) {
  for (const char* algorithm : {"auto", "general"}) {
    topology::Graph graph = fabric("kdft:3x3x1");
    for (const topology::Hop& hop : graph.hops(SwitchId{4})) {
      graph.set_up(hop.link, false);
    }
    const Plan plan = planned(graph, with(algorithm));
    EXPECT_EQ(plan.refused, "") << algorithm;
    ASSERT_THAT(plan.parts, SizeIs(2));
    EXPECT_THAT(plan.parts[0], SizeIs(8));
    EXPECT_THAT(plan.parts[1], ElementsAre("leaf1.1"));
    EXPECT_EQ(plan.pairs, 8U * 7U);
    EXPECT_EQ(describe_parts(plan.parts), "leaf0.0, leaf0.1, leaf0.2, leaf1.0 and 4 more; leaf1.1");
  }
}

TEST(RoutesPlan, a_fabric_without_hosts_is_refused) {
  topology::Graph graph;
  graph.add_switch({.name = "s0", .ports = 4});
  EXPECT_THAT(planned(graph).refused, HasSubstr("nothing to route to"));
}

TEST(RoutesPlan, what_is_avoided_carries_no_first_choice_though_it_is_up) {
  Request request{.fabric = fabric("kdft:4x4x1"), .settings = with("auto")};
  request.avoided_switches = {SwitchId{16}}; // the root of a line
  const Plan plan = make_plan(request, [] { return TimeNs{}; });
  EXPECT_EQ(plan.refused, "");
  EXPECT_EQ(plan.pairs, 16U * 15U);
  EXPECT_EQ(plan.contents[16], nullptr);
}

TEST(RoutesPlan, on_a_fat_tree_old_and_new_tables_may_meet) {
  const Plan old = planned(fabric("kdft:4x4x1"));
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(SwitchId{5}, false);
  const Plan next = planned(graph, {}, held_by_all(old), 13);
  EXPECT_EQ(next.refused, "");
  EXPECT_EQ(next.change, Change::at_once);
  EXPECT_TRUE(next.contents[0]->may_meet(*old.contents[0]));
  EXPECT_EQ(next.contents[0]->between(), nullptr);
  EXPECT_THAT(next.destinations, testing::Not(IsEmpty()));
}

TEST(RoutesPlan, the_same_fabric_gives_the_same_tables_and_changes_nothing) {
  const Plan old = planned(fabric("kdft:4x4x1"));
  std::vector<HeldRoutes> told = held_by_all(old);
  for (HeldRoutes& one : told) {
    one.routes = nullptr; // as after a restart of the manager: by the digest only
  }
  const Plan next = planned(fabric("kdft:4x4x1"), {}, told, 1000);
  EXPECT_EQ(next.change, Change::at_once);
  EXPECT_THAT(next.destinations, IsEmpty());
  for (std::size_t s = 0; s < next.contents.size(); ++s) {
    EXPECT_TRUE(next.contents[s]->same_as(*old.contents[s]));
  }
}

TEST(RoutesPlan, beside_tables_that_nobody_knows_routes_are_withdrawn_first) {
  const Plan next = planned(fabric("kdft:3x3x1"), {},
                            {{.at = SwitchId{2}, .epoch = 5, .digest = 77, .routes = nullptr}});
  EXPECT_EQ(next.refused, "");
  EXPECT_EQ(next.change, Change::withdrawn);
  ASSERT_TRUE(next.contents[2]->between());
  EXPECT_TRUE(next.contents[2]->between()->may_meet(RoutesContent(5, 77)));
  EXPECT_FALSE(next.contents[2]->may_meet(RoutesContent(5, 77)));
  EXPECT_TRUE(next.contents[2]->may_meet(*next.contents[1]->between()));
}

TEST(RoutesPlan, general_routes_that_may_not_meet_go_through_tables_that_may_meet_both) {
  const topology::Graph graph = fabric("torus:4x4x1");
  const Plan old = planned(graph, with("general", 1));
  std::map<Change, unsigned> changes;
  for (std::uint32_t l = 0; l < graph.links().size(); ++l) {
    topology::Graph damaged = graph;
    damaged.set_up(LinkId{l}, false);
    const Plan next = planned(damaged, with("general", 1), held_by_all(old), 13);
    ASSERT_EQ(next.refused, "");
    ++changes[next.change];
    const auto& content = next.contents[0];
    EXPECT_EQ(next.change == Change::at_once, content->may_meet(*old.contents[0]));
    EXPECT_EQ(next.change == Change::at_once, content->between() == nullptr);
    if (content->between()) {
      EXPECT_TRUE(content->between()->may_meet(*old.contents[0]));
      EXPECT_TRUE(content->may_meet(*content->between()));
      EXPECT_EQ(content->between()->epoch(), 13U);
    }
  }
  EXPECT_GT(changes[Change::in_between], 0U);
  EXPECT_GT(changes[Change::withdrawn], 0U);
}

TEST(RoutesPlan, every_part_is_such_that_its_switch_takes_it) {
  for (const char* model : {"kdft:4x3x2", "kdft:3x3x3x2,2", "torus:4x4x2", "dragonfly:4,2,2"}) {
    const topology::Graph graph = fabric(model);
    const Plan plan = planned(graph);
    ASSERT_EQ(plan.refused, "") << model;
    std::size_t local = 0;
    for (std::uint32_t s = 0; s < plan.contents.size(); ++s) {
      const routing::Routes& routes = *plan.contents[s]->routes();
      EXPECT_EQ(routing::problem_with(routes, graph[SwitchId{s}].ports), "") << model;
      local += routes.local.size();
    }
    EXPECT_EQ(local, graph.hosts().size());
    std::uint32_t in_runs = 0;
    for (const routing::HostRun& run : *plan.contents[0]->routes()->hosts) {
      in_runs += run.count;
      EXPECT_EQ(run.destination, graph[*graph.find_host(Nid{run.first_nid})].at.at.value);
    }
    EXPECT_EQ(in_runs, graph.hosts().size());
  }
}

} // namespace
} // namespace tributary::routes
