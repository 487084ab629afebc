#include "controlplane/unicast/route_error.hpp"
#include "tools/simulator/experiment/draw_faults.hpp"
#include "tools/simulator/experiment/probe.hpp"
#include "tools/simulator/experiment/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tributary::simulator::experiment {
namespace {

using engine::Drop;
using testing::HasSubstr;
using unicast::Faults;
using unicast::Shape;

Experiment small() {
  Experiment e;
  e.topology = "kdft:4x4x4";
  e.warm_up_ns = 2'000;
  e.measure_ns = 10'000;
  return e;
}

std::string refusal(const Experiment& experiment) {
  try {
    const Prepared prepared(experiment);
    return "";
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

TEST(probe_latencies, are_those_of_figure_5_within_a_nanosecond) {
  const auto probed = probe_latencies({});
  ASSERT_EQ(probed.size(), 4U);
  const std::vector<std::pair<double, std::uint32_t>> published{
      {237, 4}, {237, 4}, {307, 6}, {377, 8}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(probed[i].ns, published[i].first, 1.0) << probed[i].name;
    EXPECT_EQ(probed[i].links, published[i].second) << probed[i].name;
  }
  EXPECT_THAT(probed[1].route, HasSubstr("leaf0.1 -vc0- root0:0.1:0 -vc0- leaf1.1 -vc1- "));
  EXPECT_THAT(probed[2].route, HasSubstr("-vc1- leaf2.2"));
}

TEST(probe_latencies, follow_the_times_of_the_switches) {
  Experiment slow;
  slow.hop_ns = 70;
  EXPECT_NEAR(probe_latencies(slow)[3].ns, 97 + 8 * 70, 1.0);
}

TEST(run, the_same_seed_gives_the_same_figures_and_another_one_others) {
  const Prepared prepared(small());
  const Result a = run(prepared, 0.7, 5, {});
  const Result b = run(prepared, 0.7, 5, {});
  const Result c = run(prepared, 0.7, 6, {});
  EXPECT_EQ(a.all.injected, b.all.injected);
  EXPECT_EQ(a.all.events, b.all.events);
  EXPECT_EQ(a.latency.mean, b.latency.mean);
  EXPECT_EQ(a.hottest_link_load, b.hottest_link_load);
  EXPECT_NE(a.latency.mean, c.latency.mean);
}

TEST(run, below_saturation_accepts_what_is_offered) {
  const Result r = run(Prepared(small()), 0.3, 1, {});
  EXPECT_EQ(r.verdict, Verdict::complete);
  EXPECT_NEAR(r.accepted, 0.3, 0.015);
  EXPECT_EQ(r.all.injected, r.all.delivered + r.all.all_dropped() + r.in_flight);
  // Uniform traffic: a share of 12/15 of it needs a link along each dimension, both directions.
  EXPECT_NEAR(r.mean_link_load, 0.3 * 12 / 15, 0.02);
}

TEST(run, a_load_beyond_saturation_is_marked_and_one_below_is_not) {
  const Prepared prepared(small());
  EXPECT_EQ(run(prepared, 0.3, 1, {}).verdict, Verdict::complete);
  EXPECT_EQ(run(prepared, 1.0, 1, {}).verdict, Verdict::saturated);

  Experiment longer = small();
  longer.measure_ns *= 4;
  EXPECT_EQ(run(Prepared(longer), 0.45, 1, {}).verdict, Verdict::complete);
  EXPECT_EQ(run(Prepared(longer), 0.7, 1, {}).verdict, Verdict::saturated);
}

TEST(run, spread_by_credits_accepts_as_much_beyond_saturation_as_at_it) {
  Experiment e = small();
  e.topology = "kdft:8x8"; // eight leaves with as many roots
  e.algorithm = "phase_search";
  e.switches.spread = Spread::credits;
  const double most = run(Prepared(e), 0.6, 1, {}).accepted;
  const double beyond = run(Prepared(e), 1.0, 1, {}).accepted;
  EXPECT_GT(beyond, 0.96 * most);
  e.switches.spread = Spread::packet;
  EXPECT_GT(beyond, run(Prepared(e), 1.0, 1, {}).accepted);
}

TEST(run, policies_raise_what_is_accepted) {
  Experiment e = small();
  e.switches.queueing = Queueing::voq;
  const double safe = run(Prepared(e), 1.0, 1, {}).accepted;
  e.routes.policy = unicast::Policy::fast;
  EXPECT_GT(run(Prepared(e), 1.0, 1, {}).accepted, 1.02 * safe);
}

TEST(run, the_watchdog_ends_algorithm_a_with_the_circle) {
  Experiment e = small();
  e.topology = "kdft:8x8x8";
  e.algorithm = "algorithm_a";
  e.faults = 2;
  e.measure_ns = 250'000;
  const Result r = run(Prepared(e), 1.0, 1, {});
  EXPECT_EQ(r.verdict, Verdict::deadlock);
  EXPECT_GE(r.circle.size(), 4U);
  EXPECT_GE(r.stuck_buffers, r.circle.size());
  EXPECT_THAT(r.circle.front(), HasSubstr(" vc 0"));
}

TEST(run, a_leaf_that_dies_costs_only_what_is_counted_and_new_tables_end_the_losses) {
  Experiment e = small();
  e.later = {parse_timed_fault("4us=leaf:1,2")};
  e.manager_delay_ns = 2'000;
  e.table_spread_ns = 500;
  const Result r = run(Prepared(e), 0.5, 1, {});
  const auto dropped = [&](Drop reason) { return r.all.dropped[static_cast<std::size_t>(reason)]; };
  EXPECT_EQ(r.verdict, Verdict::complete);
  EXPECT_GT(dropped(Drop::lost_in_dead_switch), 0U);
  EXPECT_GT(dropped(Drop::dest_dead), 0U);
  EXPECT_EQ(dropped(Drop::no_vc) + dropped(Drop::no_route), 0U);
  EXPECT_EQ(r.all.injected, r.all.delivered + r.all.all_dropped() + r.in_flight);

  Experiment slow = e;
  slow.manager_delay_ns = 6'000;
  const Result s = run(Prepared(slow), 0.5, 1, {});
  EXPECT_GT(s.all.dropped[static_cast<std::size_t>(Drop::dest_dead)], 2 * dropped(Drop::dest_dead));
}

TEST(run, roots_and_links_that_die_are_passed_by) {
  Experiment e = small();
  e.algorithm = "phase_search";
  e.later = {parse_timed_fault("3us=root:1:0,0:2"), parse_timed_fault("5us=link:2,2:0:1")};
  const Result r = run(Prepared(e), 0.4, 1, {});
  EXPECT_EQ(r.verdict, Verdict::complete);
  EXPECT_GT(r.all.dropped[static_cast<std::size_t>(Drop::lost_on_dead_link)], 0U);
  EXPECT_EQ(r.all.dropped[static_cast<std::size_t>(Drop::no_route)], 0U);
  EXPECT_GT(r.accepted, 0.37);
}

TEST(prepared, any_topology_is_routed_by_general) {
  Experiment e = small();
  e.topology = "torus:4x4x2";
  e.algorithm = "general";
  const Result r = run(Prepared(e), 0.1, 1, {});
  EXPECT_EQ(r.verdict, Verdict::complete);
  EXPECT_NEAR(r.accepted, 0.1, 0.015);
  e.algorithm = "vtftr";
  EXPECT_THAT(refusal(e), HasSubstr("only --algorithm general"));
}

TEST(prepared, what_cannot_be_is_refused_with_what_and_what_to_do) {
  const auto with = [](auto&& change) {
    Experiment e = small();
    change(e);
    return refusal(e);
  };
  EXPECT_EQ(with([](Experiment&) {}), "");
  EXPECT_THAT(with([](Experiment& e) { e.topology = "kdft:4"; }), HasSubstr("kdft"));
  EXPECT_THAT(with([](Experiment& e) { e.algorithm = "best"; }), HasSubstr("vtftr_plus"));
  EXPECT_THAT(with([](Experiment& e) { e.faults = 15; }), HasSubstr("room for 14"));
  EXPECT_THAT(with([](Experiment& e) { e.dead = {parse_part("leaf:4,0")}; }),
              HasSubstr("coordinate 0 goes from 0 to 3"));
  EXPECT_THAT(with([](Experiment& e) { e.dead = {parse_part("leaf:1")}; }),
              HasSubstr("has 2 coordinates"));
  EXPECT_THAT(with([](Experiment& e) { e.dead = {parse_part("root:0:1,1:4")}; }),
              HasSubstr("planes from 0 to 3"));
  EXPECT_THAT(with([](Experiment& e) { e.dead = {parse_part("root:0:1,1:0")}; }),
              HasSubstr("use phase_search"));
  EXPECT_THAT(with([](Experiment& e) {
                e.topology = "kdft:4x4x4,2";
                e.planes = 2;
              }),
              HasSubstr("twice"));
  EXPECT_THAT(with([](Experiment& e) {
                e.switches.flow_control = FlowControl::pause;
                e.switches.buffer = 3;
              }),
              HasSubstr("--buffer"));
  EXPECT_THAT(with([](Experiment& e) {
                e.dead = {parse_part("leaf:1,1")};
                e.later = {parse_timed_fault("1us=leaf:1,1")};
              }),
              HasSubstr("dead already"));
  EXPECT_THAT(with([](Experiment& e) { e.tick_ns = 1e-9; }), HasSubstr("--tick"));
}

TEST(parse, says_how_parts_and_times_are_written) {
  for (const char* text : {"leaf", "leaf:", "leaf:a,b", "leaf:1,", "spine:1", "root:1,1:0", ""}) {
    EXPECT_THROW(static_cast<void>(parse_part(text)), ExperimentError) << text;
  }
  for (const char* text : {"", "5", "us", "-1us", "5 us", "2s", "nanus"}) {
    EXPECT_THROW(static_cast<void>(parse_ns(text)), ExperimentError) << text;
  }
  EXPECT_EQ(parse_ns("1.5us"), 1500);
  EXPECT_THROW(static_cast<void>(parse_timed_fault("leaf:1,1")), ExperimentError);
  const Part link = parse_part("link:3,4:1:2");
  EXPECT_EQ(link.kind, Part::Kind::link);
  EXPECT_EQ(link.place, (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(link.dimension, 1U);
  EXPECT_EQ(link.plane, 2U);
}

TEST(draw_dead_leaves, are_laid_out_as_asked) {
  const Shape shape = Shape::grid(8, 6);
  const auto lines = [&](Layout layout, std::uint32_t count) {
    Random random(3);
    const Faults faults = draw_dead_leaves(shape, count, layout, random);
    std::set<std::uint32_t> rows;
    std::set<std::uint32_t> columns;
    faults.leaves.for_each([&](std::size_t leaf) {
      rows.insert(shape.coordinate(static_cast<std::uint32_t>(leaf), 1));
      columns.insert(shape.coordinate(static_cast<std::uint32_t>(leaf), 0));
    });
    EXPECT_EQ(faults.leaves.count(), count);
    return std::make_pair(rows.size(), columns.size());
  };
  EXPECT_EQ(lines(Layout::row, 5), std::make_pair(std::size_t{1}, std::size_t{5}));
  EXPECT_EQ(lines(Layout::column, 8), std::make_pair(std::size_t{8}, std::size_t{1}));
  EXPECT_EQ(lines(Layout::all, 6), std::make_pair(std::size_t{6}, std::size_t{6}));
  Random random(3);
  EXPECT_THROW(static_cast<void>(draw_dead_leaves(shape, 7, Layout::all, random)), ExperimentError);
}

} // namespace
} // namespace tributary::simulator::experiment
