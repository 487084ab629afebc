// Trees that change, and many concurrent transactions.
#include "coordinator_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::transaction {
namespace {

using test::mesh_tree;

// ---- changing ----

TEST_F(CoordinatorTest, AChangeTellsOnlySwitchesWhoseTableChanges) {
  install_chain();
  // 2 moves from 1 to 0: 1 stays as a leaf.
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {2, 0}, {3, 1}}));
  EXPECT_FALSE(fabric.channels[3].down.empty());
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).purpose, Purpose::change);
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U);
  EXPECT_EQ(at(s3).trees.at(7).parent, 1U);

  const auto again = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {2, 0}, {3, 2}}));
  EXPECT_TRUE(fabric.channels[0].down.empty()) << "the root's switch keeps its entry";
  fabric.run();
  EXPECT_EQ(ended(again).result, Result::committed);
  EXPECT_EQ(at(s3).trees.at(7).parent, 2U);
}

TEST_F(CoordinatorTest, AChangeIsNotDelayedByASwitchThatOnlyLosesTheTree) {
  install_chain();
  fabric.channels[1].frozen = true; // it is dead, and the channel has not detected it yet
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {2, 0}}));
  fabric.run();
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U) << "the new tree is in force";
  EXPECT_EQ(fabric.outcome(number), nullptr) << "the old one is not gone";
  fabric.advance(5 * ns_per_second);
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s1}));
}

TEST_F(CoordinatorTest, SwitchesThatChangePlacesAreEmptiedFirst) {
  install_chain();
  bool both = false;
  bool neither = false;
  const auto look = [&](const control::Change&) {
    const bool one = has_tree(s1) && at(s1).trees.at(7).parent == 2U;
    const bool two = has_tree(s2) && at(s2).trees.at(7).parent == 1U;
    both = both || (one && two);
    neither = neither || (!has_tree(s1) && !has_tree(s2));
  };
  for (const SwitchId s : {s0, s1, s2}) {
    at(s).on_change = look;
  }
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {2, 0}, {1, 2}}));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_FALSE(both) << "1 -> 2 -> 1";
  EXPECT_TRUE(neither);
  EXPECT_EQ(at(s1).trees.at(7).parent, 2U);
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U);
}

TEST_F(CoordinatorTest, AnEntryThatCouldCloseALoopWithALostSwitchWaitsForIt) {
  install_chain(); // 2 -> 1 -> 0
  const auto number = fabric.set_tree(mesh_tree(tree7, vni, {{0, 0}, {2, 0}, {1, 2}}));
  for (const SwitchId s : {s0, s1, s2}) { // all prepare both halves
    fabric.deliver_down(s.value);
    fabric.deliver_down(s.value);
    fabric.deliver_up(s.value);
    fabric.deliver_up(s.value);
  }
  fabric.break_channel(s2); // decided; 2 still points to 1
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(ended(number).out_of_sync, (std::vector{s1, s2}));
  EXPECT_EQ(at(s2).trees.at(7).parent, 1U) << "it keeps its tables";
  EXPECT_FALSE(has_tree(s1)) << "1 -> 2 would be a loop";
  fabric.connect(s2);
  fabric.run();
  EXPECT_EQ(at(s2).trees.at(7).parent, 0U);
  EXPECT_EQ(at(s1).trees.at(7).parent, 2U);
  EXPECT_TRUE(fabric.out_of_sync(tree7).empty());
}

// ---- many at the same time ----

TEST_F(CoordinatorTest, TransactionsOnOneTreeRunOneAfterAnother) {
  const auto first = fabric.set_tree(chain(1));
  const auto next = fabric.set_tree(chain(2));
  const auto last = fabric.remove_tree(tree7);
  const auto views = fabric.coordinator->transactions();
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(views[0].state, TransactionState::preparing);
  EXPECT_EQ(views[0].waits_for.size(), 3U);
  EXPECT_EQ(views[1].state, TransactionState::queued);
  fabric.run();
  EXPECT_EQ(ended(first).result, Result::committed);
  EXPECT_EQ(ended(next).purpose, Purpose::change);
  EXPECT_EQ(ended(last).result, Result::committed);
  EXPECT_EQ(holders(), 0U);
}

TEST_F(CoordinatorTest, TransactionsOnDifferentTreesDoNotWaitForEachOther) {
  fabric.set_tree(mesh_tree(TreeNumber{1}, vni, {{0, 0}, {1, 0}}));
  const auto other = fabric.set_tree(mesh_tree(TreeNumber{2}, vni, {{2, 2}, {3, 2}}));
  fabric.channels[0].frozen = true;
  fabric.run();
  EXPECT_EQ(ended(other).result, Result::committed);
}

TEST_F(CoordinatorTest, EndedTransactionsAreShownTheLatestFirst) {
  install_chain();
  fabric.remove_tree(tree7);
  fabric.run();
  const auto views = fabric.coordinator->transactions();
  ASSERT_GE(views.size(), 2U);
  EXPECT_TRUE(std::any_of(views.begin(), views.end(), [](const TransactionView& v) {
    return v.purpose == Purpose::remove && v.text == "tree 7 is removed" && v.waits_for.empty();
  }));
  EXPECT_EQ(views.back().purpose, Purpose::install);
  EXPECT_EQ(name(views.back().state), "committed");
}

} // namespace
} // namespace tributary::transaction
