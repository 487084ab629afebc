// Two trees for one group: disjoint where the fabric permits it, and reported as shared where it
// does not.
#include "controlplane/multicast/twins.hpp"

#include "controlplane/multicast/comparison/checker.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/topology/builders.hpp"
#include "tests/unit/controlplane/multicast/switches_of.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tributary::multicast {
namespace {

using topology::build_model;
using topology::Model;

/// What two trees share, counted without the code under test.
std::pair<std::set<LinkId>, std::set<SwitchId>> shared(const Graph& graph, const Twins& twins,
                                                       const std::vector<SwitchId>& members) {
  const auto parts = [&](const Tree& tree) {
    std::pair<std::set<LinkId>, std::set<SwitchId>> all;
    all.second.insert(tree.root_switch);
    for (const LinkId c : tree.links) {
      all.first.insert(c);
      all.second.insert(graph[c].ends[0].at);
      all.second.insert(graph[c].ends[1].at);
    }
    for (const SwitchId m : members) {
      all.second.erase(m);
    }
    return all;
  };
  const auto a = parts(twins.first);
  const auto b = parts(twins.second);
  std::pair<std::set<LinkId>, std::set<SwitchId>> both;
  std::set_intersection(a.first.begin(), a.first.end(), b.first.begin(), b.first.end(),
                        std::inserter(both.first, both.first.end()));
  std::set_intersection(a.second.begin(), a.second.end(), b.second.begin(), b.second.end(),
                        std::inserter(both.second, both.second.end()));
  return both;
}

class TwinsOn : public testing::TestWithParam<const char*> {
protected:
  Model model = build_model(GetParam());
  test::Random random{test::seed()};

  std::vector<HostId> some_hosts(std::size_t most) {
    std::vector<HostId> hosts(2 + random() % (most - 1));
    for (HostId& h : hosts) {
      h = HostId{static_cast<std::uint32_t>(random() % model.graph.hosts().size())};
    }
    return hosts;
  }
};

TEST_P(TwinsOn, BothSpanTheMembersAndWhatTheyShareIsSaid) {
  Planner planner(model.graph, {.seed = test::seed()});
  comparison::Checker checker(model.graph);
  for (int round = 0; round < 40; ++round) {
    const auto hosts = some_hosts(8);
    const auto members = switches_of(model.graph, hosts);
    const Twins twins = planner.plan_twins(hosts).value();
    EXPECT_EQ(checker.find_fault(members, twins.first, comparison::Height::any), std::nullopt);
    EXPECT_EQ(checker.find_fault(members, twins.second, comparison::Height::any), std::nullopt);
    const auto [links, switches] = shared(model.graph, twins, members);
    EXPECT_TRUE(std::ranges::equal(links, twins.shared_links));
    EXPECT_TRUE(std::ranges::equal(switches, twins.shared_switches));
    planner.release(twins.first);
    planner.release(twins.second);
    ASSERT_EQ(planner.efi().max, 0U);
  }
}

TEST_P(TwinsOn, PairsOfSwitchesThatTwoPathsJoinGetBoth) {
  // Two members: two disjoint paths exist exactly when no single link or switch cuts them apart.
  Planner planner(model.graph, {});
  std::size_t joined_twice = 0;
  for (int round = 0; round < 20; ++round) {
    const std::vector hosts{
        HostId{static_cast<std::uint32_t>(random() % 2)},
        HostId{static_cast<std::uint32_t>(model.graph.hosts().size() - 1 - random() % 2)}};
    const auto members = switches_of(model.graph, hosts);
    const Twins twins = planner.plan_twins(hosts).value();
    EXPECT_TRUE(twins.disjoint());
    EXPECT_FALSE(twins.first.links.empty());
    joined_twice += twins.disjoint() ? 1U : 0U;
  }
  EXPECT_GT(joined_twice, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, TwinsOn,
                         testing::Values("ft3:4", "ft3:8", "tft:4,4,4,4,8,2", "torus:4x4x4x2",
                                         "dragonfly:4,2,2"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

/// Switches in a row, each with one host, joined as a list of pairs says.
struct Drawn {
  Graph graph;
  std::vector<HostId> hosts;

  Drawn(std::uint32_t switches,
        std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> pairs,
        std::uint32_t with_hosts) {
    for (std::uint32_t s = 0; s < switches; ++s) {
      graph.add_switch({.name = fmt::format("s{}", s), .ports = 16});
      if (s < with_hosts) {
        hosts.push_back(graph.add_host(
            {.name = fmt::format("h{}", s), .nid = Nid{s}, .at = {SwitchId{s}, 15}}));
      }
    }
    std::vector<topology::Port> used(switches, 0);
    for (const auto& [a, b] : pairs) {
      graph.connect({SwitchId{a}, used[a]++}, {SwitchId{b}, used[b]++});
    }
  }
};

TEST(Twins, TwoSpinesCarryOneTreeEach) {
  // Leaves 0 to 3, spines 4 and 5.
  const Drawn fabric(6, {{0, 4}, {1, 4}, {2, 4}, {3, 4}, {0, 5}, {1, 5}, {2, 5}, {3, 5}}, 4);
  Planner planner(fabric.graph, {});
  const Twins twins = planner.plan_twins(fabric.hosts).value();
  EXPECT_TRUE(twins.disjoint());
  EXPECT_NE(twins.first.root_switch, twins.second.root_switch);
  EXPECT_EQ(twins.first.height, 1U);
  EXPECT_EQ(twins.second.height, 1U);
  EXPECT_EQ(planner.efi().max, 1U);
}

TEST(Twins, TwinsOfManyGroupsSpreadOverAllSpines) {
  // Leaves 0 and 1, spines 2 to 5.
  const Drawn fabric(6, {{0, 2}, {1, 2}, {0, 3}, {1, 3}, {0, 4}, {1, 4}, {0, 5}, {1, 5}}, 2);
  Planner planner(fabric.graph, {});
  for (int g = 0; g < 10; ++g) {
    ASSERT_TRUE(planner.plan_twins(fabric.hosts).value().disjoint());
  }
  EXPECT_EQ(planner.efi().max, 5U);
}

TEST(Twins, OneSpineIsSharedAndNamed) {
  const Drawn fabric(3, {{0, 2}, {1, 2}}, 2);
  Planner planner(fabric.graph, {});
  const Twins twins = planner.plan_twins(fabric.hosts).value();
  EXPECT_EQ(twins.shared_links, (std::vector{LinkId{0}, LinkId{1}}));
  EXPECT_EQ(twins.shared_switches, (std::vector{SwitchId{2}}));
}

TEST(Twins, ParallelLinksOfTheOnlySpineAreNotShared) {
  const Drawn fabric(3, {{0, 2}, {0, 2}, {1, 2}, {1, 2}}, 2);
  Planner planner(fabric.graph, {});
  const Twins twins = planner.plan_twins(fabric.hosts).value();
  EXPECT_TRUE(twins.shared_links.empty());
  EXPECT_EQ(twins.shared_switches, (std::vector{SwitchId{2}}));
}

TEST(Twins, OnlyTheBridgeIsSharedWhereTheFabricHasOne) {
  // Members 0 and 1; two paths each up to a bridge 4 - 5.
  const Drawn fabric(8, {{0, 2}, {0, 3}, {2, 4}, {3, 4}, {4, 5}, {5, 6}, {5, 7}, {6, 1}, {7, 1}},
                     2);
  Planner planner(fabric.graph, {});
  const Twins twins = planner.plan_twins(fabric.hosts).value();
  EXPECT_EQ(twins.shared_links, (std::vector{LinkId{4}}));
  EXPECT_EQ(twins.shared_switches, (std::vector{SwitchId{4}, SwitchId{5}}));
}

TEST(Twins, AFirstTreeThatIsInTheWayMakesRoom) {
  // The shortest path 0 - 2 - 3 - 1 uses up both middle switches; two longer paths are apart:
  // 0 - 2 - 5 - 6 - 1 and 0 - 4 - 7 - 3 - 1.
  const Drawn fabric(8, {{0, 2}, {2, 3}, {3, 1}, {2, 5}, {5, 6}, {6, 1}, {0, 4}, {4, 7}, {7, 3}},
                     2);
  Planner planner(fabric.graph, {});
  const auto alone = planner.plan(fabric.hosts);
  ASSERT_EQ(alone->links.size(), 3U) << "the shortest path is not what this test needs";
  planner.release(*alone);
  EXPECT_TRUE(planner.plan_twins(fabric.hosts)->disjoint());
}

TEST(Twins, MembersThatAreNotConnectedHaveNone) {
  const Drawn fabric(3, {{0, 2}}, 2);
  Planner planner(fabric.graph, {});
  EXPECT_EQ(planner.plan_twins(fabric.hosts).has_value(), false);
}

} // namespace
} // namespace tributary::multicast
