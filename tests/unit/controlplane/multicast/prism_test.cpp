// PRISM-MC over every fabric and pattern: right trees, of the least height without faults, the same
// for the same seed, and as balanced as it claims.
#include "controlplane/multicast/prism.hpp"

#include "controlplane/multicast/comparison/checker.hpp"
#include "controlplane/multicast/comparison/pattern.hpp"
#include "controlplane/topology/builders.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

namespace tributary::multicast {

using comparison::Group;
using comparison::make_groups;

namespace {

using topology::build_model;
using topology::Model;

struct Routed {
  std::vector<Group> groups;
  std::vector<Tree> trees;
  Loads loads;
};

Routed route_all(const Graph& graph, std::vector<Group> groups, std::uint64_t seed) {
  const RoutingView view(graph);
  Distances distances(view);
  Prism prism(view, distances, seed);
  Routed routed{std::move(groups), {}, Loads(view)};
  for (const Group& group : routed.groups) {
    auto tree = prism.route(group, routed.loads);
    routed.trees.push_back(tree.value());
    routed.loads.add(*tree);
  }
  return routed;
}

class PrismOnFabrics : public testing::TestWithParam<std::tuple<const char*, const char*>> {
protected:
  Model model = build_model(std::get<0>(GetParam()));
  std::vector<Group> groups = make_groups(std::get<1>(GetParam()), model, test::seed());
};

TEST_P(PrismOnFabrics, TreesAreRightAndAsLowAsCanBe) {
  const Routed routed = route_all(model.graph, groups, test::seed());
  comparison::Checker checker(model.graph);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    EXPECT_EQ(checker.find_fault(groups[g], routed.trees[g], comparison::Height::least),
              std::nullopt);
  }
  EXPECT_EQ(checker.count(routed.trees).max, routed.loads.max());
}

TEST_P(PrismOnFabrics, TheSameSeedGivesTheSameTrees) {
  EXPECT_EQ(route_all(model.graph, groups, 7).trees, route_all(model.graph, groups, 7).trees);
}

TEST_P(PrismOnFabrics, TreesKeepOffDeadLinks) {
  test::Random random(test::seed());
  for (const std::size_t percent : {1U, 5U, 20U}) {
    const std::size_t links = model.graph.links().size();
    for (std::size_t dead = 0; 100 * dead < percent * links;) {
      const LinkId c{static_cast<std::uint32_t>(random() % links)};
      dead += model.graph[c].up ? 1U : 0U;
      model.graph.set_up(c, false);
    }
    const RoutingView view(model.graph);
    Distances distances(view);
    Prism prism(view, distances, test::seed());
    Loads loads(view);
    comparison::Checker checker(model.graph);
    for (const Group& group : groups) {
      const auto tree = prism.route(group, loads);
      ASSERT_EQ(tree.has_value(), checker.connected(group));
      if (tree) {
        EXPECT_EQ(checker.find_fault(group, *tree, comparison::Height::any), std::nullopt);
        // One link more than it must be; on a Clos fabric two.
        EXPECT_LE(tree->height, checker.least_height(group) + (view.is_clos() ? 2 : 1));
        loads.add(*tree);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PrismOnFabrics,
    testing::Combine(testing::Values("ft3:4", "ft3:8", "tft:4,4,4,4,8,2", "tft:5,4,2,4,4,4",
                                     "torus:4x4x4x2", "torus:6x5x2", "dragonfly:4,2,2",
                                     "dragonfly:4,2,2,absolute", "dragonfly:4,2,2,relative"),
                     testing::Values("4x4", "2x3x2", "~4x4", "rand:40,1,9")),
    [](const auto& instance) {
      std::string name =
          std::string(std::get<0>(instance.param)) + "_" + std::get<1>(instance.param);
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

/// The cost of the cheapest tree of least height, by trying all root switches and, for each, all
/// ways in which members' shortest paths can be chosen.
class CheapestByTrial {
public:
  CheapestByTrial(const RoutingView& view, Distances& distances, const Loads& loads)
      : view_(view), distances_(distances), loads_(loads) {}

  double find(const Group& group) {
    std::uint8_t least = Distances::unreachable;
    const auto eccentricity = [&](SwitchId s) {
      std::uint8_t most = 0;
      for (const SwitchId m : group) {
        most = std::max(most, distances_.between(s, m));
      }
      return most;
    };
    for (SwitchId s{0}; s.value < view_.switch_count(); ++s.value) {
      least = std::min(least, eccentricity(s));
    }
    best_ = 1e30;
    for (SwitchId s{0}; s.value < view_.switch_count(); ++s.value) {
      if (eccentricity(s) == least) {
        root_switch_ = s;
        paid_.assign(view_.switch_count(), false);
        paid_[s.value] = true;
        extend(group, 0, group.front(), 0);
      }
    }
    return best_;
  }

private:
  /// Member `index` is at `at`; the cost so far is `sum`.
  void extend(const Group& group, std::size_t index, SwitchId at, double sum) {
    if (sum >= best_) {
      return;
    }
    if (paid_[at.value]) {
      if (index + 1 == group.size()) {
        best_ = sum;
      } else {
        extend(group, index + 1, group[index + 1], sum);
      }
      return;
    }
    paid_[at.value] = true;
    for (const Arc& arc : view_.arcs(at)) {
      if (distances_.between(arc.to, root_switch_) + 1 == distances_.between(at, root_switch_)) {
        extend(group, index, arc.to, sum + 1 + std::pow(4.0, loads_[arc.link]));
      }
    }
    paid_[at.value] = false;
  }

  const RoutingView& view_;
  Distances& distances_;
  const Loads& loads_;
  SwitchId root_switch_;
  std::vector<bool> paid_;
  double best_ = 0;
};

double cost_of(const Tree& tree, const Loads& loads) {
  double sum = 0;
  for (const LinkId c : tree.links) {
    sum += 1 + std::pow(4.0, loads[c]);
  }
  return sum;
}

TEST(PrismOnClosFabrics, NoTreeOfAFatTreeIsCheaper) {
  // One middle switch of a pod leads to a core switch, so that feeders leave no choice.
  const Model model = build_model("ft3:4");
  const RoutingView view(model.graph);
  Distances distances(view);
  Prism prism(view, distances, 1);
  Loads loads(view);
  CheapestByTrial trial(view, distances, loads);
  for (const Group& group : make_groups("rand:60,2,6", model, test::seed())) {
    const Tree tree = prism.route(group, loads).value();
    ASSERT_NEAR(cost_of(tree, loads), trial.find(group), 1e-3 * cost_of(tree, loads));
    loads.add(tree);
  }
}

TEST(PrismOnClosFabrics, SeveralFeedersCostLittleMoreThanTheCheapestTree) {
  const Model model = build_model("tft:3,3,2,4,4,2");
  const RoutingView view(model.graph);
  Distances distances(view);
  Prism prism(view, distances, 1);
  Loads loads(view);
  CheapestByTrial trial(view, distances, loads);
  for (const Group& group : make_groups("rand:40,2,6", model, test::seed())) {
    const Tree tree = prism.route(group, loads).value();
    ASSERT_LE(cost_of(tree, loads), 2 * trial.find(group));
    loads.add(tree);
  }
}

TEST(PrismOnClosFabrics, GridsLeaveTheLeastLoadThereIs) {
  // Every line of a 32x32 grid over ft3:16 needs two trees on some link (a leaf has 8 links up
  // and takes part in 16 columns).
  const Model model = build_model("ft3:16");
  EXPECT_EQ(route_all(model.graph, make_groups("32x32", model, 1), 1).loads.max(), 2U);
}

/// Two leaves and two spines, each leaf with two links to each spine.
struct Bundles : testing::Test {
  Graph graph;
  std::vector<SwitchId> leaves{graph.add_switch({.name = "leaf0", .ports = 8}),
                               graph.add_switch({.name = "leaf1", .ports = 8})};
  std::vector<SwitchId> spines{graph.add_switch({.name = "spine0", .ports = 8}),
                               graph.add_switch({.name = "spine1", .ports = 8})};
  Bundles() {
    std::uint32_t nid = 0;
    for (std::uint16_t l = 0; l < 2; ++l) {
      graph.add_host({.name = "h" + std::to_string(l), .nid = Nid{nid++}, .at = {leaves[l], 0}});
      for (std::uint16_t s = 0; s < 2; ++s) {
        for (std::uint16_t i = 0; i < 2; ++i) {
          graph.connect({leaves[l], static_cast<topology::Port>(1 + 2 * s + i)},
                        {spines[s], static_cast<topology::Port>(2 * l + i)});
        }
      }
    }
  }
};

TEST_F(Bundles, ParallelLinksShareTheLoad) {
  const Routed routed = route_all(graph, std::vector<Group>(12, leaves), 1);
  for (LinkId c{0}; c.value < graph.links().size(); ++c.value) {
    EXPECT_EQ(routed.loads[c], 3U) << graph.describe(c);
  }
}

TEST_F(Bundles, ADeadLinkOfABundleLeavesTheOther) {
  graph.set_up(LinkId{0}, false);
  const Routed routed = route_all(graph, std::vector<Group>(3, leaves), 1);
  EXPECT_EQ(routed.loads[LinkId{0}], 0U);
  EXPECT_EQ(routed.loads.max(), 1U);
}

TEST_F(Bundles, LeavesWithoutACommonSpineMeetInALeaf) {
  const SwitchId leaf2 = graph.add_switch({.name = "leaf2", .ports = 8});
  graph.add_host({.name = "h2", .nid = Nid{2}, .at = {leaf2, 0}});
  graph.connect({leaf2, 1}, {spines[0], 6});
  graph.connect({leaf2, 2}, {spines[1], 6});
  for (const std::uint32_t c : {0U, 1U, 6U, 7U}) {
    graph.set_up(LinkId{c}, false); // leaf0 to spine0, leaf1 to spine1
  }
  const Group both{leaves[0], leaves[1]};
  const Routed routed = route_all(graph, {both}, 1);
  EXPECT_EQ(routed.trees[0].root_switch, leaf2);
  EXPECT_EQ(routed.trees[0].height, 2U);
  EXPECT_EQ(comparison::Checker(graph).find_fault(both, routed.trees[0], comparison::Height::least),
            std::nullopt);
}

TEST_F(Bundles, OneSwitchNeedsNoLinkAndADeadOneHasNoTree) {
  EXPECT_EQ(route_all(graph, {{leaves[0]}}, 1).trees[0], (Tree{leaves[0], {}, 0}));
  graph.set_up(leaves[0], false);
  const RoutingView view(graph);
  Distances distances(view);
  Prism prism(view, distances, 1);
  const Loads loads(view);
  EXPECT_EQ(prism.route(std::vector{leaves[0]}, loads), std::nullopt);
  EXPECT_EQ(prism.route(leaves, loads), std::nullopt);
}

TEST_F(Bundles, WithoutAnyLinkThereIsNoTree) {
  for (LinkId c{0}; c.value < graph.links().size(); ++c.value) {
    graph.set_up(c, false);
  }
  const RoutingView view(graph);
  Distances distances(view);
  Prism prism(view, distances, 1);
  EXPECT_EQ(prism.route(leaves, Loads(view)), std::nullopt);
}

TEST(CostTable, RisesWithEveryTreeUpToAllThereCanBe) {
  for (std::uint32_t load = 0; load < max_trees; ++load) {
    ASSERT_LT(CostTable::online()(load), CostTable::online()(load + 1)) << load;
  }
  // A hundred thousand of the costliest are still a number.
  EXPECT_LT(CostTable::online()(max_trees) * 1e3F, CostTable::unusable);
}

TEST(CostTable, AroundALoadTheNextTreeCostsEightTimesAsMuch) {
  const CostTable table = CostTable::around(20);
  EXPECT_FLOAT_EQ(table(20), 8 * table(19));
  EXPECT_FLOAT_EQ(table(19), 8 * table(18));
}

} // namespace
} // namespace tributary::multicast
