// The checker finds each kind of error in a tree.
#include "controlplane/multicast/comparison/checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::multicast {

using comparison::Checker;

namespace {

using testing::HasSubstr;

/// A ring of six switches, 0 - 1 - ... - 5 - 0, with link i from switch i onward, and 6 alone.
struct Ring : testing::Test {
  Graph graph;
  Ring() {
    for (std::uint32_t s = 0; s < 7; ++s) {
      graph.add_switch({.name = "s" + std::to_string(s), .ports = 2});
    }
    for (std::uint32_t s = 0; s < 6; ++s) {
      graph.connect({SwitchId{s}, 1}, {SwitchId{(s + 1) % 6}, 0});
    }
  }
  std::vector<SwitchId> members{SwitchId{0}, SwitchId{2}};

  static Tree tree(std::uint32_t root_switch, std::vector<std::uint32_t> links,
                   std::uint32_t height) {
    Tree made{SwitchId{root_switch}, {}, height};
    for (const std::uint32_t c : links) {
      made.links.push_back(LinkId{c});
    }
    return made;
  }
  [[nodiscard]] std::string fault(const Tree& tree,
                                  comparison::Height height = comparison::Height::least) const {
    return Checker(graph).find_fault(members, tree, height).value_or("");
  }
};

TEST_F(Ring, ARightTreeHasNoFault) { EXPECT_EQ(fault(tree(1, {0, 1}, 1)), ""); }

TEST_F(Ring, ATreeThatIsHigherThanNeededIsOnlyRightWhereThatIsAllowed) {
  EXPECT_EQ(fault(tree(0, {0, 1}, 2), comparison::Height::any), "");
  EXPECT_THAT(fault(tree(0, {0, 1}, 2)), HasSubstr("height is 2, and 1 is possible"));
}

TEST_F(Ring, EachFaultIsNamed) {
  EXPECT_THAT(fault(tree(1, {0}, 1)), HasSubstr("the member's switch s2 is not in it"));
  EXPECT_THAT(fault(tree(1, {0, 3}, 1)), HasSubstr("2 of its 4 switches are not connected"));
  EXPECT_THAT(fault(tree(1, {0, 1, 2}, 1)), HasSubstr("it goes to s3, where it has no member"));
  EXPECT_THAT(fault(tree(1, {0, 1, 2, 3, 4, 5}, 1)), HasSubstr("a loop: 6 links on 6"));
  EXPECT_THAT(fault(tree(1, {0, 0, 1}, 1)), HasSubstr("occurs twice"));
  EXPECT_THAT(fault(tree(1, {0, 9}, 1)), HasSubstr("no link 9"));
  EXPECT_THAT(fault(tree(1, {0, 1}, 2)), HasSubstr("says its height is 2, but it is 1"));
  EXPECT_THAT(fault(tree(6, {0, 1}, 1)), HasSubstr("not connected with its root switch"));
}

TEST_F(Ring, DeadLinksMakeTreesWrongAndLeastHeightsLarger) {
  graph.set_up(LinkId{1}, false);
  EXPECT_THAT(fault(tree(1, {0, 1}, 1)), HasSubstr("s1 port 1 - s2 port 0 is not usable"));
  EXPECT_EQ(Checker(graph).least_height(members), 2U);
  EXPECT_EQ(fault(tree(4, {2, 3, 4, 5}, 2)), "");
}

TEST_F(Ring, PartsAreToldApart) {
  Checker checker(graph);
  EXPECT_TRUE(checker.connected(members));
  EXPECT_FALSE(checker.connected(std::vector{SwitchId{0}, SwitchId{6}}));
  EXPECT_TRUE(checker.connected(std::vector{SwitchId{6}}));
}

TEST_F(Ring, LoadsAreCountedAgain) {
  const comparison::CountedLoads counted =
      Checker(graph).count(std::vector{tree(1, {0, 1}, 1), tree(2, {1, 2}, 1)});
  EXPECT_EQ(counted.max, 2U);
  EXPECT_DOUBLE_EQ(counted.mean, 4.0 / 6);
}

} // namespace
} // namespace tributary::multicast
