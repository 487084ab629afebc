// What a communicator has of a tree: its ids, its moves, how its steps end, and how it is given
// back.
#include "endpoint/mpi/intra_node/fabric_group.hpp"
#include "trees_fixture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace tributary::mpi::intra_node::test {
namespace {

using contexts::Context;
using tributary::test::eventually;
using Outcome = FabricGroup::Outcome;
using std::chrono::milliseconds;

class FabricGroupTest : public TreesFixture {
protected:
  FabricGroupTest() {
    trees.open(here, 0);
    make(first, 0);
  }
  /// The second one of its nodes, which has the first place in the set.
  FabricGroup& begin(const Context& context) {
    return group.emplace(trees, context, std::vector<std::uint32_t>{2, 0, 1}, 1);
  }
  Outcome reduce() {
    return group->begin_reduction(Plan{}, elements.data(), elements.data(), elements.size());
  }
  [[nodiscard]] std::uint32_t contexts_in_use() const { return trees.table().lock()->contexts(); }

  std::array<std::byte, 8> elements{};
  std::optional<FabricGroup> group;
};

TEST_F(FabricGroupTest, ItHasItsIdsOfTheTreeAndGivesThemBack) {
  const Context context = take(first, 72);
  begin(context);
  const auto ranges = fabric.ranges();
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].tree, 7U);
  EXPECT_EQ(ranges[0].twin_tree, TRIBUTARY_NO_TREE);
  EXPECT_EQ(ranges[0].cookie, context.cookie.value) << "not the group's";
  EXPECT_EQ(ranges[0].first_id, 72U);
  EXPECT_EQ(ranges[0].ids, 8U);
  EXPECT_EQ(ranges[0].first_sequence, context.first_sequence().value());
  EXPECT_EQ(ranges[0].rank, 0U);
  EXPECT_EQ(ranges[0].size, 3U);
  EXPECT_EQ(ranges[0].root_rank, 1U);
  EXPECT_TRUE(group->has_wide_frames());
  EXPECT_EQ(contexts_in_use(), 1U);
  group.reset();
  EXPECT_EQ(contexts_in_use(), 0U);
  EXPECT_TRUE(fabric.ranges().empty());
}

TEST_F(FabricGroupTest, AContextThatCannotBeUsedIsFree) {
  fabric.joins.push_back(TRIBUTARY_ERR_MEMORY);
  EXPECT_THROW(begin(take(first)), NoGroup);
  EXPECT_EQ(contexts_in_use(), 0U);
}

TEST_F(FabricGroupTest, AContextOfATreeThatHasEndedIsFree) {
  const Context context = take(first);
  EXPECT_TRUE(trees.table().lock()->ended(first));
  EXPECT_THROW(begin(context), NoGroup);
  EXPECT_EQ(contexts_in_use(), 0U);
  EXPECT_TRUE(fabric.ranges().empty());
}

TEST_F(FabricGroupTest, StepsEndAsTheHostLibrarySays) {
  begin(take(first));
  EXPECT_EQ(reduce(), Outcome::not_yet);
  fabric.waits = {TRIBUTARY_ERR_TIMEOUT};
  EXPECT_EQ(group->wait(milliseconds(0)), Outcome::not_yet);
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::done);

  EXPECT_EQ(group->begin_barrier(), Outcome::not_yet);
  fabric.waits = {TRIBUTARY_ERR_COUNT_MISMATCH};
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::differs);
  EXPECT_EQ(group->error(), "as the test says");

  EXPECT_EQ(group->begin_broadcast(elements.data(), elements.size(), 2), Outcome::not_yet);
  fabric.waits = {TRIBUTARY_ERR_INTERFACE_DOWN};
  EXPECT_EQ(group->wait(milliseconds(1)), Outcome::not_yet) << "the link may come up again";
  fabric.waits = {TRIBUTARY_ERR_MEMBER_MISSING};
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::failed);

  fabric.starts = {TRIBUTARY_ERR_OP_MISMATCH, TRIBUTARY_ERR_GROUP_ENDED};
  EXPECT_EQ(reduce(), Outcome::differs);
  EXPECT_EQ(reduce(), Outcome::failed);
  EXPECT_EQ(group->error(), "as the test says");
  EXPECT_EQ(reduce(), Outcome::not_yet);
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::done);
}

TEST_F(FabricGroupTest, AGroupThatIsClosedDuringAStepAbandonsIt) {
  begin(take(first));
  EXPECT_EQ(reduce(), Outcome::not_yet);
  group->close();
  EXPECT_EQ(fabric.abandoned(), 1);
  EXPECT_TRUE(fabric.ranges().empty());
  EXPECT_EQ(contexts_in_use(), 0U);
  group.reset();
  EXPECT_EQ(contexts_in_use(), 0U) << "it was given back twice";
}

TEST_F(FabricGroupTest, ItMovesWithItsTreeWithoutACall) {
  begin(take(first));
  fabric.moves = {TRIBUTARY_ERR_TREE_IN_USE, TRIBUTARY_ERR_TREE_IN_USE}; // others have yet to move
  fabric.move(name_of(first), 9);
  EXPECT_TRUE(eventually([&] { return fabric.asked_moves().size() == 3; }));
  EXPECT_EQ(fabric.asked_moves(), (std::vector<std::uint32_t>{9, 9, 9}));
  EXPECT_EQ(reduce(), Outcome::not_yet);
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::done);
  EXPECT_EQ(fabric.asked_moves().size(), 3U) << "it moves once";
}

TEST_F(FabricGroupTest, AMoveThatFailsIsTheFaultOfAllLaterCalls) {
  begin(take(first));
  fabric.moves = {TRIBUTARY_ERR_MEMORY};
  fabric.move(name_of(first), 9);
  EXPECT_TRUE(eventually([&] { return fabric.asked_moves().size() == 1; }));
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(reduce(), Outcome::failed);
    EXPECT_EQ(group->error(), "the group was moved to another tree, and cannot follow (error -2)");
  }
}

TEST_F(FabricGroupTest, IdsThatItDoesNotKeepAreFreeAndItMovesWithTheOthers) {
  begin(take(first, 72));
  EXPECT_TRUE(group->keep_ids(2));
  EXPECT_EQ(fabric.ranges()[0].first_id, 72U);
  EXPECT_EQ(fabric.ranges()[0].ids, 2U);
  const contexts::Partition partition(128);
  EXPECT_EQ(known(first)->used_parts(), partition.parts_of({ReductionId{72}, 2}));
  fabric.move(name_of(first), 9);
  EXPECT_TRUE(eventually([&] { return fabric.asked_moves().size() == 1; }));
  EXPECT_EQ(reduce(), Outcome::not_yet);
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::done);
  group.reset();
  EXPECT_EQ(contexts_in_use(), 0U);
}

TEST_F(FabricGroupTest, IdsThatTheHostLibraryStillUsesAreNotFree) {
  begin(take(first, 72));
  fabric.keeps = {TRIBUTARY_ERR_GROUP_ENDED};
  EXPECT_FALSE(group->keep_ids(2));
  EXPECT_EQ(group->error(), "as the test says");
  EXPECT_EQ(known(first)->used_parts(), contexts::Partition(128).parts_of({ReductionId{72}, 8}));
  group->close();
  EXPECT_TRUE(group->keep_ids(2)) << "it has none any more";
  EXPECT_EQ(contexts_in_use(), 0U);
}

TEST_F(FabricGroupTest, AGroupThatHasEndedEndsTheStepThatIsUnderWayAndLaterOnes) {
  begin(take(first));
  EXPECT_EQ(reduce(), Outcome::not_yet);
  fabric.check_returns(name_of(first), TRIBUTARY_ERR_GROUP_ENDED);
  EXPECT_TRUE(eventually([&] { return !fabric.left().empty(); }));
  EXPECT_EQ(group->wait(milliseconds(1000)), Outcome::failed);
  EXPECT_EQ(group->error(),
            "the group of its tree has ended, at the fabric manager or because a node is gone");
  group->close();
  EXPECT_EQ(contexts_in_use(), 0U);
}

TEST_F(FabricGroupTest, OneThatIsGivenUpTakesItsTreeOutOfUse) {
  const Context neighbour = take(first, 80);
  begin(take(first));
  group->give_up();
  EXPECT_EQ(contexts_in_use(), 1U);
  EXPECT_EQ(known(first)->state, contexts::TreeState::retiring);
  EXPECT_FALSE(trees.table().lock()->is_over(neighbour)) << "others keep what they have";
  release(neighbour);
  EXPECT_TRUE(eventually([&] { return !fabric.left().empty(); }));
  EXPECT_FALSE(known(first));
}

TEST_F(FabricGroupTest, ItsStateIsOneLine) {
  begin(take(first));
  EXPECT_EQ(group->state(), "id 64 waits;id 65 waits");
  EXPECT_EQ(group->pieces(), 3U);
}

} // namespace
} // namespace tributary::mpi::intra_node::test
