// Repair: its guarantees for any budget, and its improvement.
#include "controlplane/multicast/repair.hpp"

#include "bench/algorithms/published.hpp"
#include "controlplane/multicast/comparison/checker.hpp"
#include "controlplane/multicast/comparison/pattern.hpp"
#include "controlplane/topology/builders.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::multicast {
namespace {

struct Fabric {
  explicit Fabric(const char* name) : model(topology::build_model(name)) {}

  topology::Model model;
  RoutingView view{model.graph};
  Distances distances{view};
  Prism prism{view, distances, 1};
  Loads loads{view};
  std::vector<RoutedGroup> groups;

  void route(const char* pattern) {
    for (const comparison::Group& group : comparison::make_groups(pattern, model, test::seed())) {
      Tree tree = prism.route(group, loads).value();
      loads.add(tree);
      groups.push_back({group, std::move(tree)});
    }
  }
  /// All groups by their first members' path only: as unbalanced as possible.
  void route_by(Algorithm& algorithm, const char* pattern) {
    const Loads none(view);
    for (const comparison::Group& group : comparison::make_groups(pattern, model, test::seed())) {
      Tree tree = algorithm.route(group, none).value();
      loads.add(tree);
      groups.push_back({group, std::move(tree)});
    }
  }
};

class RepairOnFabrics : public testing::TestWithParam<const char*> {};

TEST_P(RepairOnFabrics, MovesTreesUntilTheFullestLinksAreFewerAndAllTreesStayRight) {
  Fabric fabric(GetParam());
  const auto blind = published::expand("minihop").front().make(fabric.distances, 1);
  fabric.route_by(*blind, "rand:60,2,8");
  const std::uint32_t before = fabric.loads.max();

  const RepairReport report = repair(fabric.prism, fabric.loads, fabric.groups, {});

  EXPECT_EQ(report.max_before, before);
  EXPECT_LT(report.max_after, before) << "nothing was balanced";
  EXPECT_GT(report.moves, 0U);
  comparison::Checker checker(fabric.model.graph);
  std::vector<Tree> trees;
  for (const RoutedGroup& group : fabric.groups) {
    EXPECT_EQ(checker.find_fault(group.members, group.tree, comparison::Height::least),
              std::nullopt);
    trees.push_back(group.tree);
  }
  EXPECT_EQ(checker.count(trees).max, fabric.loads.max()) << "the loads did not follow";
  EXPECT_EQ(report.max_after, fabric.loads.max());
}

TEST_P(RepairOnFabrics, NeverMakesTheLargestLoadLargerWhereverItIsStopped) {
  for (std::uint64_t attempts = 0; attempts < 40; attempts += 3) {
    Fabric fabric(GetParam());
    fabric.route("rand:60,2,8");
    const std::uint32_t before = fabric.loads.max();
    RepairLimits limits;
    limits.attempts = attempts;
    const RepairReport report = repair(fabric.prism, fabric.loads, fabric.groups, limits);
    EXPECT_LE(report.attempts, attempts);
    EXPECT_LE(fabric.loads.max(), before);
  }
}

TEST_P(RepairOnFabrics, LeavesTreesThatAreNotItsOwnAlone) {
  Fabric fabric(GetParam());
  fabric.route("rand:60,2,8");
  const std::uint64_t all = fabric.loads.total();
  std::uint64_t own = 0;
  const auto half = std::span(fabric.groups).first(fabric.groups.size() / 2);
  const std::vector<RoutedGroup> others(fabric.groups.begin() + 30, fabric.groups.end());
  for (const RoutedGroup& group : half) {
    own += group.tree.links.size();
  }
  repair(fabric.prism, fabric.loads, half, {});
  std::uint64_t own_after = 0;
  for (const RoutedGroup& group : half) {
    own_after += group.tree.links.size();
  }
  EXPECT_EQ(fabric.loads.total() - own_after, all - own);
  for (std::size_t g = 0; g < others.size(); ++g) {
    EXPECT_EQ(fabric.groups[30 + g].tree, others[g].tree);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RepairOnFabrics,
                         testing::Values("ft3:4", "tft:4,4,4,4,8,2", "torus:4x4x4x2",
                                         "dragonfly:4,2,2"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Repair, DoesNothingWhenTimeIsOverOrTheBoundIsReached) {
  Fabric fabric("torus:4x4x4x2");
  fabric.route("rand:60,2,8");
  RepairLimits limits;
  limits.time_is_over = [] { return true; };
  EXPECT_EQ(repair(fabric.prism, fabric.loads, fabric.groups, limits).attempts, 0U);
  limits = {};
  limits.lower_bound = fabric.loads.max();
  EXPECT_EQ(repair(fabric.prism, fabric.loads, fabric.groups, limits).attempts, 0U);
}

TEST(Repair, GroupsRoutedAfterwardsSeeOnlineCostsAgain) {
  Fabric fabric("torus:4x4x4x2");
  fabric.route("rand:60,2,8");
  repair(fabric.prism, fabric.loads, fabric.groups, {});
  const Tree& tree = fabric.groups.front().tree;
  float sum = 0;
  for (const LinkId c : tree.links) {
    sum += CostTable::online()(fabric.loads[c]);
  }
  EXPECT_FLOAT_EQ(fabric.prism.cost(tree, fabric.loads), sum);
}

} // namespace
} // namespace tributary::multicast
