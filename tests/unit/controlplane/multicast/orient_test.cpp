// A tree oriented from its root, against a slow count.
#include "controlplane/multicast/tree.hpp"

#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

namespace tributary::multicast {
namespace {

using topology::Port;

/// A graph that is a random tree of switches, with hosts here and there; some links are doubled,
/// so that a tree must name its ports exactly.
struct RandomTree {
  Graph graph;
  Tree tree;
  std::vector<HostId> hosts;

  RandomTree(test::Random& random, std::uint32_t switches) {
    const Port ports = 64;
    std::vector<Port> used(switches, 0);
    for (std::uint32_t s = 0; s < switches; ++s) {
      graph.add_switch({.name = fmt::format("s{}", s), .ports = ports});
      if (s == 0) {
        continue;
      }
      std::uint32_t other = static_cast<std::uint32_t>(random() % s);
      while (used[other] >= 40) {
        other = static_cast<std::uint32_t>(random() % s);
      }
      const std::size_t bundle = 1 + random() % 2;
      const std::size_t chosen = random() % bundle;
      for (std::size_t i = 0; i < bundle; ++i) {
        const LinkId c = graph.connect({SwitchId{s}, used[s]++}, {SwitchId{other}, used[other]++});
        if (i == chosen) {
          tree.links.push_back(c);
        }
      }
    }
    for (std::uint32_t s = 0; s < switches; ++s) {
      for (std::size_t i = random() % 3; i > 0; --i) {
        const auto nid = static_cast<std::uint32_t>(hosts.size());
        hosts.push_back(graph.add_host(
            {.name = fmt::format("h{}", nid), .nid = Nid{nid}, .at = {SwitchId{s}, used[s]++}}));
      }
    }
    std::shuffle(tree.links.begin(), tree.links.end(), random);
  }
};

/// What `orient` promises, by plain recursion over the undirected tree.
class SlowOrientation {
public:
  SlowOrientation(const Graph& graph, const Tree& tree, const std::set<HostId>& members,
                  HostId root)
      : graph_(graph), tree_(tree), members_(members), root_(root) {
    visit(graph[root].at.at, graph[root].at.port, 0);
  }
  std::map<SwitchId, TreePart> parts;

private:
  ContributionCount visit(SwitchId at, Port parent, std::uint32_t depth) {
    TreePart part{at, parent, {}, 0, depth};
    for (const HostId h : members_) {
      if (h != root_ && graph_[h].at.at == at) {
        part.children.push_back(graph_[h].at.port);
        ++part.wait_count;
      }
    }
    for (const LinkId c : tree_.links) {
      for (int side = 0; side < 2; ++side) {
        const auto& here = graph_[c].ends[side];
        const auto& there = graph_[c].ends[1 - side];
        if (here.at == at && here.port != parent) {
          if (const ContributionCount below = visit(there.at, there.port, depth + 1); below > 0) {
            part.children.push_back(here.port);
            part.wait_count += below;
          }
        }
      }
    }
    std::sort(part.children.begin(), part.children.end());
    if (part.wait_count > 0 || depth == 0) {
      parts.emplace(at, part);
    }
    return part.wait_count;
  }

  const Graph& graph_;
  const Tree& tree_;
  const std::set<HostId>& members_;
  HostId root_;
};

TEST(Orient, AgreesWithPlainRecursionOnRandomTrees) {
  test::Random random(test::seed());
  for (int round = 0; round < 300; ++round) {
    RandomTree fabric(random, 1 + static_cast<std::uint32_t>(random() % 30));
    if (fabric.hosts.empty()) {
      continue;
    }
    std::vector<HostId> members = fabric.hosts;
    std::shuffle(members.begin(), members.end(), random);
    members.resize(1 + random() % members.size());
    const HostId root = members[random() % members.size()];
    const std::set<HostId> as_set(members.begin(), members.end());

    const std::vector<TreePart> parts = orient(fabric.graph, fabric.tree, members, root);
    const SlowOrientation expected(fabric.graph, fabric.tree, as_set, root);

    ASSERT_EQ(parts.size(), expected.parts.size());
    EXPECT_EQ(parts.front().wait_count, members.size() - 1);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ASSERT_EQ(parts[i], expected.parts.at(parts[i].at)) << "round " << round << " part " << i;
      EXPECT_TRUE(i == 0 || parts[i - 1].depth <= parts[i].depth);
    }
  }
}

/// leaf0 and leaf1 below a spine, two hosts on each leaf.
struct TwoLeaves : testing::Test {
  Graph graph;
  SwitchId leaf0 = graph.add_switch({.name = "leaf0", .ports = 8});
  SwitchId leaf1 = graph.add_switch({.name = "leaf1", .ports = 8});
  SwitchId spine = graph.add_switch({.name = "spine", .ports = 8});
  HostId h0 = graph.add_host({.name = "h0", .nid = Nid{0}, .at = {leaf0, 0}});
  HostId h1 = graph.add_host({.name = "h1", .nid = Nid{1}, .at = {leaf0, 1}});
  HostId h2 = graph.add_host({.name = "h2", .nid = Nid{2}, .at = {leaf1, 0}});
  HostId h3 = graph.add_host({.name = "h3", .nid = Nid{3}, .at = {leaf1, 1}});
  LinkId up0 = graph.connect({leaf0, 7}, {spine, 0});
  LinkId up1 = graph.connect({leaf1, 7}, {spine, 1});
  Tree tree{spine, {up0, up1}, 1};
};

TEST_F(TwoLeaves, TheRootsSwitchWaitsForAllOthersAndTheFarLeafForItsOwn) {
  const std::vector<TreePart> parts = orient(graph, tree, std::vector{h3, h0, h2, h1}, h1);
  EXPECT_EQ(parts, (std::vector<TreePart>{
                       {leaf0, 1, {0, 7}, 3, 0}, {spine, 0, {1}, 2, 1}, {leaf1, 7, {0, 1}, 2, 2}}));
}

TEST_F(TwoLeaves, AMemberNamedTwiceCountsOnce) {
  EXPECT_EQ(orient(graph, tree, std::vector{h0, h2, h2, h0}, h0),
            orient(graph, tree, std::vector{h0, h2}, h0));
}

TEST_F(TwoLeaves, ABranchWithoutMembersIsLeftOut) {
  const std::vector<TreePart> parts = orient(graph, tree, std::vector{h0, h1}, h0);
  EXPECT_EQ(parts, (std::vector<TreePart>{{leaf0, 0, {1}, 1, 0}}));
}

TEST_F(TwoLeaves, AGroupOfOneHostIsItsSwitchAlone) {
  EXPECT_EQ(orient(graph, Tree{leaf0, {}, 0}, std::vector{h0}, h0),
            (std::vector<TreePart>{{leaf0, 0, {}, 0, 0}}));
}

TEST_F(TwoLeaves, AStrangeRootAnUnreachedMemberAndALoopAreRefused) {
  EXPECT_THROW((void)orient(graph, tree, std::vector{h0, h2}, h1), std::invalid_argument);
  EXPECT_THROW((void)orient(graph, Tree{spine, {up0}, 1}, std::vector{h0, h2}, h0),
               std::invalid_argument);
  const LinkId second = graph.connect({leaf0, 6}, {spine, 2});
  EXPECT_THROW((void)orient(graph, Tree{spine, {up0, up1, second}, 1}, std::vector{h0, h2}, h0),
               std::invalid_argument);
}

} // namespace
} // namespace tributary::multicast
