// Every algorithm on every kind of fabric and pattern: right trees, the same for the same seed.
#include "bench/algorithms/published.hpp"

#include "bench/algorithms/root_choice.hpp"
#include "bench/algorithms/sssp.hpp"
#include "controlplane/multicast/comparison/checker.hpp"
#include "controlplane/multicast/comparison/pattern.hpp"
#include "controlplane/topology/builders.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace tributary::multicast {

using comparison::Group;
using comparison::Height;
using comparison::make_groups;
using published::RootChoice;
using published::RootRule;
using published::RootScan;
using published::Sssp;
using published::SsspSearch;

namespace {

constexpr std::array algorithms{"minihop",
                                "minihop_new",
                                "minihop_new_through",
                                "sssp",
                                "sssp_new",
                                "sssp_new_through",
                                "sssp_new_layered",
                                "sssp_new_layered_through",
                                "fulb_rooted",
                                "fulb_through",
                                "prism"};
constexpr std::array fabrics{
    "ft3:4",     "ft3:8",           "tft:4,4,4,4,8,2", "torus:4x3x2x2",
    "torus:9x2", "dragonfly:4,2,2", "kdft:4x4x2,2",    "dragonfly:3,2,2,absolute",
    "torus:1x2", "tft:1,2,4,2,2,1"};
constexpr std::array patterns{"4x4", "~2x2x4", "rand:30,1,8"};

/// A fabric, and all that is needed to route on it.
struct Bench {
  topology::Model model;
  RoutingView view;
  Distances distances;
  comparison::Checker checker;
  explicit Bench(topology::Model made)
      : model(std::move(made)), view(model.graph), distances(view), checker(model.graph) {}
};

std::vector<std::optional<Tree>> route(Bench& bench, const char* name, std::uint64_t seed,
                                       std::span<const Group> groups) {
  const auto algorithm = published::expand(name).front().make(bench.distances, seed);
  Loads loads(bench.view);
  std::vector<std::optional<Tree>> trees;
  for (const Group& group : groups) {
    trees.push_back(algorithm->route(group, loads));
    if (trees.back()) {
      loads.add(*trees.back());
    }
  }
  return trees;
}

class Algorithms : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Algorithms, MakeRightTreesOfLeastHeightAndTheSameForTheSameSeed) {
  const auto [name, fabric] = GetParam();
  Bench bench(topology::build_model(fabric));
  for (const char* const pattern : patterns) {
    const std::size_t hosts = bench.model.graph.hosts().size();
    const auto groups = make_groups(hosts < 8 && pattern[0] == 'r' ? "rand:30,1,2" : pattern,
                                    bench.model, test::seed());
    const auto trees = route(bench, name, test::seed(), groups);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      ASSERT_TRUE(trees[g]) << pattern << " group " << g;
      EXPECT_EQ(bench.checker.find_fault(groups[g], *trees[g], Height::least).value_or(""), "")
          << pattern << " group " << g;
    }
    EXPECT_EQ(trees, route(bench, name, test::seed(), groups));
  }
}

TEST_P(Algorithms, RouteRoundWhatIsDownAndRefuseOnlyWhatIsNotConnected) {
  const auto [name, fabric] = GetParam();
  test::Random random(test::seed());
  auto model = topology::build_model(fabric);
  for (std::uint32_t c = 0; c < model.graph.links().size(); ++c) {
    model.graph.set_up(LinkId{c}, random() % 5 != 0);
  }
  for (std::uint32_t s = 0; s < model.graph.switches().size(); ++s) {
    model.graph.set_up(SwitchId{s}, random() % 30 != 0);
  }
  Bench bench(std::move(model));
  // Ours may trade height for balance where links are dead.
  const Height height = std::string_view(name) == "prism" ? Height::any : Height::least;
  const auto groups = make_groups("~4x4", bench.model, test::seed());
  const auto trees = route(bench, name, test::seed(), groups);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ASSERT_EQ(trees[g].has_value(), bench.checker.connected(groups[g])) << "group " << g;
    if (trees[g]) {
      EXPECT_EQ(bench.checker.find_fault(groups[g], *trees[g], height).value_or(""), "")
          << "group " << g;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::Combine(testing::ValuesIn(algorithms),
                                          testing::ValuesIn(fabrics)),
                         [](const auto& one) {
                           std::string name =
                               std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

/// Random loads on all links, and some trees rooted here and there.
Loads random_loads(const RoutingView& view, test::Random& random) {
  Loads loads(view);
  for (std::uint32_t c = 0; c < view.link_count(); ++c) {
    for (std::size_t i = random() % 8; i > 0; --i) {
      loads.add({view.ends(LinkId{c})[random() % 2], {LinkId{c}}, 1});
    }
  }
  return loads;
}

TEST(RootChoice, BothScansFindTheSameRoot) {
  test::Random random(test::seed());
  for (const char* const fabric : fabrics) {
    auto model = topology::build_model(fabric);
    if (!model.graph.links().empty()) {
      model.graph.set_up(LinkId{0}, false);
    }
    Bench bench(std::move(model));
    for (int round = 0; round < 20; ++round) {
      const Loads loads = random_loads(bench.view, random);
      const auto group = make_groups("rand:1,1,2", bench.model, random()).front();
      for (const RootRule rule :
           {RootRule::first, RootRule::least_rooted, RootRule::least_through}) {
        RootChoice published(bench.distances, rule, RootScan::published);
        RootChoice vectorised(bench.distances, rule, RootScan::vectorised);
        EXPECT_EQ(published.choose(group, loads), vectorised.choose(group, loads)) << fabric;
      }
    }
  }
}

TEST(RootChoice, TakesTheFirstOfTheLeastLoadedInTheMiddle) {
  // Leaves 0 and 1, middle switches 2 and 3, of one pod; the top is farther from both.
  Bench bench(topology::build_model("tft:1,2,1,2,2,1"));
  const Group group{SwitchId{0}, SwitchId{1}};
  Loads loads(bench.view);
  const auto choose = [&](RootRule rule) {
    return *RootChoice(bench.distances, rule, RootScan::vectorised).choose(group, loads);
  };
  EXPECT_EQ(choose(RootRule::first), SwitchId{2});
  EXPECT_EQ(choose(RootRule::least_rooted), SwitchId{2});
  loads.add({SwitchId{2}, {}, 0});
  EXPECT_EQ(choose(RootRule::first), SwitchId{2});
  EXPECT_EQ(choose(RootRule::least_rooted), SwitchId{3});
  // Two trees with root switches elsewhere pass switch 3.
  const LinkId to_3 = bench.view.arcs(SwitchId{0})[1].link;
  loads.add({SwitchId{0}, {to_3}, 1});
  loads.add({SwitchId{0}, {to_3}, 1});
  EXPECT_EQ(choose(RootRule::least_rooted), SwitchId{3});
  EXPECT_EQ(choose(RootRule::least_through), SwitchId{2});
}

/// What the paths from the root to all members cost, by SSSP-MC's measure.
std::uint64_t cost_of_paths(const RoutingView& view, const Tree& tree, const Group& members,
                            const Loads& loads) {
  std::vector<std::uint64_t> cost(view.switch_count(), ~std::uint64_t{0});
  cost[tree.root_switch.value] = 0;
  for (bool more = true; more;) {
    more = false;
    for (const LinkId c : tree.links) {
      auto [a, b] = view.ends(c);
      if (cost[a.value] == ~std::uint64_t{0}) {
        std::swap(a, b);
      }
      if (cost[a.value] != ~std::uint64_t{0} && cost[b.value] == ~std::uint64_t{0}) {
        cost[b.value] = cost[a.value] + 1'000'000 + loads[c];
        more = true;
      }
    }
  }
  std::uint64_t sum = 0;
  for (const SwitchId m : members) {
    sum += cost[m.value];
  }
  return sum;
}

TEST(Sssp, TheSearchByLayersFindsPathsAsCheapAsDijkstras) {
  test::Random random(test::seed());
  for (const char* const fabric : fabrics) {
    Bench bench(topology::build_model(fabric));
    Sssp heap(bench.distances, RootRule::first, RootScan::vectorised, SsspSearch::heap);
    Sssp layered(bench.distances, RootRule::first, RootScan::vectorised, SsspSearch::layered);
    for (int round = 0; round < 10; ++round) {
      const Loads loads = random_loads(bench.view, random);
      const auto group = make_groups("rand:1,2,2", bench.model, random()).front();
      const Tree one = *heap.route(group, loads);
      const Tree other = *layered.route(group, loads);
      EXPECT_EQ(one.root_switch, other.root_switch);
      EXPECT_EQ(cost_of_paths(bench.view, one, group, loads),
                cost_of_paths(bench.view, other, group, loads));
    }
  }
}

} // namespace
} // namespace tributary::multicast
