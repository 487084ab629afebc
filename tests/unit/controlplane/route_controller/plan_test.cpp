// The algorithm of a fabric, refusals with their reasons, and how a set follows another one.
#include "controlplane/route_controller/plan.hpp"

#include "controlplane/unicast/graph_network.hpp"
#include "tests/unit/controlplane/route_controller/fabrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::route_controller {
namespace {

using test::fabric;
using test::held_by_all;
using test::planned;
using testing::AllOf;
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

bool may_meet_all(const RoutesContent& content, const Plan& held) {
  for (std::uint32_t s = 0; s < held.contents.size(); ++s) {
    if (held.contents[s] && !content.may_meet(SwitchId{s}, *held.contents[s])) {
      return false;
    }
  }
  return true;
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
  EXPECT_EQ(leaf.contents[5], nullptr) << "a dead switch gets no message";
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

TEST(RoutesPlan, an_algorithm_by_name_that_leaves_pairs_without_a_route_gives_way) {
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(LinkId{0}, false);
  const Plan vtftr = planned(graph, with("vtftr"));
  EXPECT_EQ(vtftr.refused, "");
  EXPECT_EQ(vtftr.algorithm, "general");
  EXPECT_EQ(vtftr.lost, 0U);
  EXPECT_THAT(vtftr.why, AllOf(HasSubstr("vtftr: "), HasSubstr("dead")));
  EXPECT_THAT(planned(fabric("torus:4x4x1"), with("phase_search")).why,
              HasSubstr("in a fat tree every link joins a leaf"));
  // With the diagonal dead no row and no column is clean, and between two rows both corners may be.
  topology::Graph diagonal = fabric("kdft:5x5x1");
  for (const std::uint32_t s : {0U, 6U, 12U, 18U, 24U}) {
    diagonal.set_up(SwitchId{s}, false);
  }
  EXPECT_THAT(planned(diagonal, with("vtftr")).why, HasSubstr("have no route: leaf"));
  EXPECT_EQ(planned(diagonal, with("vtftr_plus")).algorithm, "vtftr_plus");
}

TEST(RoutesPlan, what_is_in_force_stays_as_long_as_it_serves_every_pair) {
  // One of two planes: the tables in force lead around a dead root, and vtftr has no such path.
  const topology::Graph graph = fabric("kdft:4x4x1,2");
  const Plan old = planned(graph, with("vtftr"));
  ASSERT_EQ(old.algorithm, "vtftr");
  for (std::uint32_t s = 16; s < graph.switches().size(); ++s) {
    topology::Graph damaged = graph;
    damaged.set_up(SwitchId{s}, false);
    std::vector<HeldRoutes> held = held_by_all(old);
    std::erase_if(held, [&](const HeldRoutes& one) { return one.at.value == s; });
    const Plan next = planned(damaged, with("vtftr"), held, 13, {SwitchId{s}}, "vtftr");
    EXPECT_EQ(next.held_lost, 0U);
    EXPECT_THAT(next.refused, AllOf(HasSubstr("vtftr routes round dead leaves only"),
                                    HasSubstr("switches keep theirs, with which 0 of 240 pairs")));
  }
}

TEST(RoutesPlan, a_set_that_leaves_fewer_pairs_without_a_route_than_what_is_held_is_taken) {
  // A leaf that restarts without tables, while another is behind a dead link.
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(SwitchId{5}, false);
  const Plan old = planned(graph, with("vtftr_plus"));
  ASSERT_EQ(old.algorithm, "vtftr_plus");
  graph.set_up(SwitchId{5}, true);
  graph.set_up(LinkId{0}, false);
  const Plan next = planned(graph, with("vtftr_plus"), held_by_all(old), 13);
  EXPECT_EQ(next.refused, "");
  EXPECT_EQ(next.lost, 0U);
  ASSERT_TRUE(next.held_lost);
  EXPECT_GE(*next.held_lost, 30U) << "from and to the leaf that has no table";
  EXPECT_NE(next.contents[5], nullptr);
}

TEST(RoutesPlan, a_dead_switch_holds_up_nothing_and_one_without_a_channel_is_planned_with) {
  const topology::Graph graph = fabric("torus:4x4x1");
  const Plan old = planned(graph, with("general", 1));
  std::map<std::string, unsigned> algorithms;
  for (std::uint32_t l = 0; l < graph.links().size(); ++l) {
    topology::Graph damaged = graph;
    damaged.set_up(LinkId{l}, false);
    for (const bool is_dead : {true, false}) {
      damaged.set_up(SwitchId{5}, !is_dead);
      const Plan next = planned(damaged, with("general", 1), held_by_all(old), 13, {SwitchId{5}});
      if (!is_dead && !next.refused.empty()) {
        // No set is better than the held one, as long as that switch keeps its old table.
        EXPECT_GT(next.lost, 0U);
        EXPECT_LE(next.held_lost, next.lost);
        EXPECT_THAT(next.refused, HasSubstr("switches keep theirs, with which"));
        continue;
      }
      ASSERT_EQ(next.refused, "");
      EXPECT_TRUE(!is_dead || next.lost == 0);
      const auto& content = next.contents[0];
      EXPECT_TRUE(content->may_meet(SwitchId{5}, *old.contents[5]))
          << "what is begun gets all its way, whatever is in between";
      algorithms[next.algorithm] += is_dead ? 0 : 1;
      EXPECT_EQ(may_meet_all(*content, old), next.change == Change::at_once);
    }
  }
  EXPECT_GT(algorithms["general"] + algorithms["spanning_tree"], 0U);
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

TEST(RoutesPlan, a_fabric_in_parts_is_routed_part_by_part_and_reported_with_names) {
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

TEST(RoutesPlan, no_table_lists_a_port_to_what_is_down_or_avoided) {
  // Between leaf 9 and leaf 3 both corners are out of use: a root's row or column replaces them.
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(SwitchId{11}, false);
  Request request{.fabric = graph, .settings = with("auto")};
  request.avoided_switches = {SwitchId{1}};
  const Plan plan = make_plan(request, [] { return TimeNs{}; });
  ASSERT_EQ(plan.refused, "");
  EXPECT_EQ(plan.algorithm, "vtftr_plus");
  for (std::uint32_t s = 16; s < graph.switches().size(); ++s) {
    const forwarding_table::SwitchTable& table = plan.contents[s]->routes()->table;
    for (const topology::Hop& hop : graph.hops(SwitchId{s})) {
      if (hop.to == SwitchId{1} || hop.to == SwitchId{11}) {
        for (const std::uint64_t word : table.port_words) {
          EXPECT_EQ(word >> hop.port & 1U, 0U) << graph[SwitchId{s}].name << " port " << hop.port;
        }
      }
    }
  }
}

TEST(RoutesPlan, on_a_fat_tree_old_and_new_tables_may_meet) {
  const Plan old = planned(fabric("kdft:4x4x1"));
  topology::Graph graph = fabric("kdft:4x4x1");
  graph.set_up(SwitchId{5}, false);
  const Plan next = planned(graph, {}, held_by_all(old), 13);
  EXPECT_EQ(next.refused, "");
  EXPECT_EQ(next.change, Change::at_once);
  EXPECT_TRUE(next.contents[0]->may_meet(SwitchId{0}, *old.contents[0]));
  EXPECT_EQ(next.contents[0]->between(), nullptr);
  EXPECT_THAT(next.destinations, testing::Not(IsEmpty()));
}

TEST(RoutesPlan, the_same_fabric_gives_the_same_tables_and_changes_nothing) {
  const Plan old = planned(fabric("kdft:4x4x1"));
  std::vector<HeldRoutes> held = held_by_all(old);
  for (HeldRoutes& one : held) {
    one.routes = nullptr; // as after a restart of the manager: by the digest only
  }
  const Plan next = planned(fabric("kdft:4x4x1"), {}, held, 1000);
  EXPECT_EQ(next.change, Change::at_once);
  EXPECT_THAT(next.destinations, IsEmpty());
  for (std::size_t s = 0; s < next.contents.size(); ++s) {
    EXPECT_TRUE(next.contents[s]->same_as(*old.contents[s]));
  }
}

TEST(RoutesPlan, beside_unknown_tables_routes_are_withdrawn_first) {
  const Plan next = planned(fabric("kdft:3x3x1"), {},
                            {{.at = SwitchId{2}, .epoch = 5, .digest = 77, .routes = nullptr}});
  EXPECT_EQ(next.refused, "");
  EXPECT_EQ(next.change, Change::withdrawn);
  ASSERT_TRUE(next.contents[2]->between());
  EXPECT_TRUE(next.contents[2]->between()->may_meet(SwitchId{2}, RoutesContent(5, 77)));
  EXPECT_FALSE(next.contents[2]->may_meet(SwitchId{2}, RoutesContent(5, 77)));
  EXPECT_TRUE(next.contents[2]->may_meet(SwitchId{1}, *next.contents[1]->between()));
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
    EXPECT_EQ(next.change == Change::at_once, may_meet_all(*content, old));
    EXPECT_EQ(next.change == Change::at_once, content->between() == nullptr);
    if (content->between()) {
      EXPECT_TRUE(content->between()->may_meet(SwitchId{0}, *old.contents[0]));
      EXPECT_TRUE(content->may_meet(SwitchId{0}, *content->between()));
      EXPECT_EQ(content->between()->epoch(), 13U);
    }
  }
  EXPECT_GT(changes[Change::in_between], 0U);
  EXPECT_GT(changes[Change::withdrawn], 0U);
}

TEST(RoutesPlan, a_bare_switch_is_no_root_of_the_tables_in_between) {
  for (const char* model : {"torus:4x4x1", "torus:6x1", "dragonfly:4,2,2"}) {
    topology::Graph graph = fabric(model);
    graph.add_switch({.name = "bare", .ports = 4});
    const Plan old = planned(graph, with("general", 1));
    for (std::uint32_t l = 0; l < graph.links().size(); ++l) {
      topology::Graph damaged = graph;
      damaged.set_up(LinkId{l}, false);
      const Plan next = planned(damaged, with("general", 1), held_by_all(old), 13);
      EXPECT_EQ(next.refused, "") << model << " without link " << l;
      EXPECT_EQ(next.pairs, old.pairs);
    }
  }
}

TEST(RoutesPlan, a_switch_without_ports_yet_is_planned_beside_a_fat_tree) {
  topology::Graph graph = fabric("kdft:3x3x1");
  const Plan before = planned(graph);
  const auto bare = graph.add_switch({.name = "bare", .ports = 0});
  const unicast::Network network = unicast::network_of(graph);
  const Plan plan = planned(graph);
  EXPECT_EQ(plan.refused, "");
  EXPECT_EQ(plan.pairs, before.pairs);
  EXPECT_EQ(unicast::port_states(graph, network).of(bare.value).size(),
            forwarding_table::group_words(0));
}

TEST(RoutesPlan, every_part_is_such_that_its_switch_takes_it) {
  for (const char* model : {"kdft:4x3x2", "kdft:3x3x3x2,2", "torus:4x4x2", "dragonfly:4,2,2"}) {
    const topology::Graph graph = fabric(model);
    const Plan plan = planned(graph);
    ASSERT_EQ(plan.refused, "") << model;
    std::size_t local = 0;
    for (std::uint32_t s = 0; s < plan.contents.size(); ++s) {
      const forwarding_table::Routes& routes = *plan.contents[s]->routes();
      EXPECT_EQ(forwarding_table::problem_with(routes, graph[SwitchId{s}].ports), "") << model;
      local += routes.local.size();
    }
    EXPECT_EQ(local, graph.hosts().size());
    std::uint32_t in_runs = 0;
    for (const forwarding_table::HostRun& run : *plan.contents[0]->routes()->hosts) {
      in_runs += run.count;
      EXPECT_EQ(run.destination, graph[*graph.find_host(Nid{run.first_nid})].at.at.value);
    }
    EXPECT_EQ(in_runs, graph.hosts().size());
  }
}

} // namespace
} // namespace tributary::route_controller
