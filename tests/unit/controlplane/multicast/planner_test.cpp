// The planner as the manager uses it: groups come and go, elements fail, the loads balance.
#include "controlplane/multicast/planner.hpp"

#include "bench/algorithms/published.hpp"
#include "controlplane/multicast/comparison/checker.hpp"
#include "controlplane/topology/builders.hpp"
#include "tests/unit/controlplane/multicast/switches_of.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace tributary::multicast {
namespace {

using topology::build_model;
using topology::Model;

std::vector<HostId> random_hosts(test::Random& random, const Graph& graph, std::size_t most) {
  std::vector<HostId> hosts(1 + random() % most);
  for (HostId& h : hosts) {
    h = HostId{static_cast<std::uint32_t>(random() % graph.hosts().size())};
  }
  return hosts;
}

struct Installed {
  std::vector<HostId> members;
  Tree tree;
};

PlannerSettings settings(std::string_view algorithm, std::uint64_t seed) {
  const comparison::Compared one = published::expand(algorithm).front();
  return {.seed = seed,
          .make = [one, seed](Distances& distances) { return one.make(distances, seed); }};
}

class PlannerWith : public testing::TestWithParam<std::string_view> {};

TEST_P(PlannerWith, GroupsComeAndGoAndLinksFailAndComeBackAndTheLoadsBalance) {
  test::Random random(test::seed());
  std::size_t replanned = 0;
  for (const char* fabric : {"ft3:4", "torus:3x3x3x2", "dragonfly:4,2,2"}) {
    Model model = build_model(fabric);
    Graph& graph = model.graph;
    Planner planner(graph, settings(GetParam(), test::seed()));
    std::vector<Installed> installed;
    for (int step = 0; step < 200; ++step) {
      const auto what = random() % 10;
      if (what < 5) {
        const auto members = random_hosts(random, graph, 9);
        auto tree = planner.plan(members);
        ASSERT_EQ(tree.has_value(),
                  planner.parts(members).size() == 1 && graph[graph[members.front()].at.at].up);
        if (tree) {
          ASSERT_TRUE(planner.intact(*tree));
          ASSERT_EQ(comparison::Checker(graph).find_fault(switches_of(graph, members), *tree,
                                                          comparison::Height::any),
                    std::nullopt);
          installed.push_back({members, std::move(*tree)});
        }
      } else if (what < 8 && !installed.empty()) {
        const std::size_t leaving = random() % installed.size();
        planner.release(installed[leaving].tree);
        std::swap(installed[leaving], installed.back());
        installed.pop_back();
      } else {
        const LinkId c{static_cast<std::uint32_t>(random() % graph.links().size())};
        graph.set_up(c, !graph[c].up);
        planner.topology_changed();
        for (Installed& group : installed) {
          if (!planner.intact(group.tree)) {
            if (auto other = planner.replan(group.tree, group.members)) {
              ASSERT_TRUE(planner.intact(*other));
              group.tree = std::move(*other);
              ++replanned;
            }
          }
        }
      }
      std::vector<std::uint32_t> counted(graph.links().size(), 0);
      for (const Installed& group : installed) {
        for (const LinkId c : group.tree.links) {
          ++counted[c.value];
        }
      }
      for (LinkId c{0}; c.value < counted.size(); ++c.value) {
        ASSERT_EQ(planner.efi(c), counted[c.value]) << graph.describe(c);
      }
    }
    for (const Installed& group : installed) {
      planner.release(group.tree);
    }
    EXPECT_EQ(planner.efi().max, 0U);
    EXPECT_TRUE(planner.efi().fullest.empty());
  }
  EXPECT_GT(replanned, 0U) << "no failure touched a tree";
}

TEST_P(PlannerWith, TheSameCallsGiveTheSameTrees) {
  const Model model = build_model("dragonfly:4,2,2");
  Planner one(model.graph, settings(GetParam(), 5));
  Planner other(model.graph, settings(GetParam(), 5));
  test::Random random(test::seed());
  for (int i = 0; i < 50; ++i) {
    const auto members = random_hosts(random, model.graph, 9);
    EXPECT_EQ(one.plan(members), other.plan(members));
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlannerWith,
                         testing::Values("minihop", "minihop_new", "sssp", "sssp_new",
                                         "fulb_rooted", "prism"),
                         [](const auto& instance) { return std::string(instance.param); });

/// Leaves with two hosts each, every leaf joined to every spine by as many links as asked for.
struct LeafSpine {
  Graph graph;
  std::vector<SwitchId> leaves;
  std::vector<SwitchId> spines;
  std::vector<HostId> hosts;

  LeafSpine(std::uint16_t leaf_count, std::uint16_t spine_count, std::uint16_t bundle = 1) {
    for (std::uint16_t l = 0; l < leaf_count; ++l) {
      leaves.push_back(graph.add_switch({.name = fmt::format("leaf{}", l), .ports = 64}));
      for (std::uint16_t h = 0; h < 2; ++h) {
        const auto number = static_cast<std::uint32_t>(2 * l + h);
        hosts.push_back(graph.add_host(
            {.name = fmt::format("h{}", number), .nid = Nid{number}, .at = {leaves[l], h}}));
      }
    }
    for (std::uint16_t s = 0; s < spine_count; ++s) {
      spines.push_back(graph.add_switch({.name = fmt::format("spine{}", s), .ports = 64}));
      for (std::uint16_t l = 0; l < leaf_count; ++l) {
        for (std::uint16_t i = 0; i < bundle; ++i) {
          graph.connect({leaves[l], static_cast<topology::Port>(2 + s * bundle + i)},
                        {spines[s], static_cast<topology::Port>(l * bundle + i)});
        }
      }
    }
  }
};

TEST(Planner, AnEmptyFabricAndAnEmptyGroupHaveNoTree) {
  Graph graph;
  Planner planner(graph, {});
  EXPECT_EQ(planner.plan({}), std::nullopt);
  EXPECT_EQ(planner.efi().max, 0U);
  // The graph may grow without a notification; the planner detects it.
  const SwitchId only = graph.add_switch({.name = "only", .ports = 4});
  const HostId host = graph.add_host({.name = "h", .nid = Nid{1}, .at = {only, 0}});
  EXPECT_EQ(planner.plan(std::vector{host}), (Tree{only, {}, 0}));
}

TEST(Planner, MembersOnOneSwitchNeedNoLink) {
  const LeafSpine fabric(2, 2);
  Planner planner(fabric.graph, {});
  const std::vector together{fabric.hosts[0], fabric.hosts[1], fabric.hosts[0]};
  EXPECT_EQ(planner.plan(together), (Tree{fabric.leaves[0], {}, 0}));
  const auto twins = planner.plan_twins(together);
  ASSERT_TRUE(twins);
  EXPECT_TRUE(twins->disjoint());
  EXPECT_EQ(planner.efi().max, 0U);
}

TEST(Planner, TwoSwitchesShareTheLoadOverParallelLinks) {
  Graph graph;
  const SwitchId a = graph.add_switch({.name = "a", .ports = 8});
  const SwitchId b = graph.add_switch({.name = "b", .ports = 8});
  const HostId ha = graph.add_host({.name = "ha", .nid = Nid{1}, .at = {a, 7}});
  const HostId hb = graph.add_host({.name = "hb", .nid = Nid{2}, .at = {b, 7}});
  for (topology::Port p = 0; p < 3; ++p) {
    graph.connect({a, p}, {b, p});
  }
  Planner planner(graph, {});
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(planner.plan(std::vector{ha, hb}));
  }
  EXPECT_EQ(planner.efi().max, 2U);
  EXPECT_DOUBLE_EQ(planner.efi().mean, 2.0);
  EXPECT_EQ(planner.efi().fullest.size(), 3U);
}

TEST(Planner, AHostOnASpineMakesNoDifferenceToWhatWorks) {
  LeafSpine fabric(3, 2);
  const HostId guest =
      fabric.graph.add_host({.name = "guest", .nid = Nid{99}, .at = {fabric.spines[0], 63}});
  Planner planner(fabric.graph, {});
  const std::vector members{fabric.hosts[0], fabric.hosts[2], guest};
  const auto tree = planner.plan(members);
  ASSERT_TRUE(tree);
  EXPECT_EQ(comparison::Checker(fabric.graph)
                .find_fault(switches_of(fabric.graph, members), *tree, comparison::Height::least),
            std::nullopt);
}

TEST(Planner, OnlyTreesOverTheBrokenLinkAreTouched) {
  LeafSpine fabric(16, 4);
  Planner planner(fabric.graph, {});
  test::Random random(test::seed());
  std::vector<Installed> installed;
  for (int g = 0; g < 1000; ++g) {
    const auto members = random_hosts(random, fabric.graph, 16);
    installed.push_back({members, planner.plan(members).value()});
  }
  const LinkId broken{5};
  const std::uint32_t touched = planner.efi(broken);
  ASSERT_GT(touched, 0U);
  fabric.graph.set_up(broken, false);
  planner.topology_changed();
  std::uint32_t replanned = 0;
  for (Installed& group : installed) {
    if (!planner.intact(group.tree)) {
      group.tree = planner.replan(group.tree, group.members).value();
      ++replanned;
    }
  }
  EXPECT_EQ(replanned, touched);
  EXPECT_EQ(planner.efi(broken), 0U);
}

TEST(Planner, AnAdoptedTreeTakesLoadAsIfPlannedHere) {
  const LeafSpine fabric(2, 2);
  Planner before(fabric.graph, {});
  const std::vector members{fabric.hosts[0], fabric.hosts[2]};
  const Tree tree = before.plan(members).value();
  Planner after(fabric.graph, {});
  after.adopt(tree);
  EXPECT_EQ(after.efi(tree.links.front()), 1U);
  EXPECT_NE(after.plan(members)->root_switch, tree.root_switch) << "the other spine is free";
}

TEST(Planner, WhenThereIsNoPathNowTheOldTreeKeepsItsLoad) {
  LeafSpine fabric(2, 1);
  Planner planner(fabric.graph, {});
  const std::vector members{fabric.hosts[0], fabric.hosts[2]};
  const Tree tree = planner.plan(members).value();
  fabric.graph.set_up(fabric.spines[0], false);
  planner.topology_changed();
  EXPECT_FALSE(planner.intact(tree));
  EXPECT_EQ(planner.replan(tree, members), std::nullopt);
  EXPECT_EQ(planner.efi(tree.links.front()), 1U);
}

TEST(Planner, PartsSayWhoIsCutOff) {
  LeafSpine fabric(3, 1);
  fabric.graph.set_up(LinkId{2}, false); // leaf2
  Planner planner(fabric.graph, {});
  const auto& h = fabric.hosts;
  EXPECT_EQ(planner.parts(std::vector{h[0], h[4], h[2], h[5]}),
            (std::vector<std::vector<HostId>>{{h[0], h[2]}, {h[4], h[5]}}));
  EXPECT_EQ(planner.plan(std::vector{h[0], h[4]}), std::nullopt);
  fabric.graph.set_up(fabric.leaves[0], false);
  fabric.graph.set_up(fabric.leaves[1], false);
  planner.topology_changed();
  EXPECT_EQ(planner.parts(std::vector{h[0], h[1], h[2]}),
            (std::vector<std::vector<HostId>>{{h[0], h[1]}, {h[2]}}));
}

TEST(Planner, IdleRepairMovesOnlyTheGroupsItIsGiven) {
  Model model = build_model("torus:4x4x2");
  Planner planner(model.graph, settings("minihop", 1));
  test::Random random(test::seed());
  std::vector<PlannedGroup> groups;
  for (int g = 0; g < 60; ++g) {
    const auto members = random_hosts(random, model.graph, 8);
    groups.push_back({members, planner.plan(members).value()});
  }
  const Tree in_use = groups.front().tree;
  const std::uint32_t before = planner.efi().max;
  const std::size_t moved = planner.improve(std::span(groups).subspan(1), 500);
  EXPECT_GT(moved, 0U);
  EXPECT_LT(planner.efi().max, before);
  EXPECT_EQ(groups.front().tree, in_use);
  for (const PlannedGroup& group : groups) {
    EXPECT_EQ(comparison::Checker(model.graph)
                  .find_fault(switches_of(model.graph, group.members), group.tree,
                              comparison::Height::least),
              std::nullopt);
    planner.release(group.tree);
  }
  EXPECT_EQ(planner.efi().max, 0U);
}

} // namespace
} // namespace tributary::multicast
