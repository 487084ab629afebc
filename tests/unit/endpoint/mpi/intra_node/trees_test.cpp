// The trees that a process keeps: joined, moved, ended and left at the fabric manager, and what the
// table of the node knows of them.
#include "endpoint/mpi/intra_node/trees.hpp"
#include "tests/support/killed_process.hpp"
#include "trees_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tributary::mpi::intra_node::test {
namespace {

using contexts::TreeName;
using contexts::TreeState;
using tributary::test::eventually;
using Names = std::vector<std::string>;

class TreesTest : public TreesFixture {
protected:
  TreesTest() { trees.open(here, 0); }
};

/// The reason, or "" if it is ready.
std::string reason_of(Trees& trees, TreeName tree, Refusal* cause = nullptr) {
  try {
    trees.wait_for(tree);
  } catch (const NoGroup& refused) {
    if (cause != nullptr) {
      *cause = refused.cause();
    }
    return refused.what();
  }
  return "";
}

TEST_F(TreesTest, ATreeIsJoinedByNameWithoutIdsAndReadyForTheNode) {
  make(first, 0);
  const auto joined = fabric.joined();
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].name, "mpi-0000000000000101");
  EXPECT_EQ(joined[0].rank, 2U);
  EXPECT_EQ(joined[0].size, 3U);
  EXPECT_EQ(joined[0].ids, TRIBUTARY_NO_IDS);
  const auto tree = known(first);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->state, TreeState::ready);
  EXPECT_EQ(tree->keeper, here);
  EXPECT_EQ(tree->facts.tree, TreeNumber{7});
  EXPECT_EQ(tree->facts.slots, 128U);
  EXPECT_EQ(tree->facts.payload, 1408U);
  EXPECT_EQ(tree->facts.root_rank, 1U);
  EXPECT_FALSE(tree->facts.has_twin);
  trees.leave_all();
  EXPECT_EQ(fabric.left(), Names{name_of(first)});
  EXPECT_FALSE(known(first));
}

TEST_F(TreesTest, WhoWaitsForATreeWaitsUntilItIsReady) {
  fabric.hold();
  want(first, 0);
  std::atomic<bool> is_done{false};
  std::thread waiter([&] {
    trees.wait_for(first);
    is_done = true;
  });
  EXPECT_TRUE(eventually([&] { return !fabric.joined().empty(); }));
  EXPECT_FALSE(is_done);
  EXPECT_FALSE(is_ready(first));
  fabric.release();
  waiter.join();
  EXPECT_TRUE(is_ready(first));
}

TEST_F(TreesTest, ARefusedTreeIsVacantAgainAndItsReasonIsKnown) {
  fabric.answer(name_of(first), TRIBUTARY_ERR_MANAGER_REFUSED);
  want(first, 0);
  Refusal cause = Refusal::other;
  const std::string why = reason_of(trees, first, &cause);
  EXPECT_NE(why.find("no group of 3 nodes: as the test says"), std::string::npos) << why;
  EXPECT_EQ(cause, Refusal::manager_refused);
  EXPECT_FALSE(known(first));
  const auto lock = trees.table().lock();
  EXPECT_TRUE(lock->is_vacant(*lock->open(nodes), 0));
  EXPECT_FALSE(lock->may_grow(*lock->open(nodes))) << "one was refused a moment ago";
}

TEST_F(TreesTest, ATreeWithoutUsesMakesRoomForOneThatIsRefused) {
  make(first, 0);
  fabric.answer(name_of(second), TRIBUTARY_ERR_MANAGER_REFUSED);
  want(second, 1);
  EXPECT_EQ(reason_of(trees, second), "");
  EXPECT_TRUE(is_ready(second));
  EXPECT_FALSE(known(first));
  EXPECT_EQ(fabric.left(), Names{name_of(first)});
}

TEST_F(TreesTest, OnlyARefusalOfTheManagerMakesRoomAndOnlyOnce) {
  make(first, 0);
  fabric.answer(name_of(second), TRIBUTARY_ERR_NOT_READY);
  want(second, 1);
  EXPECT_NE(reason_of(trees, second), "");
  EXPECT_TRUE(is_ready(first)) << "members that do not come are no limit";
  fabric.answer(name_of(TreeName{3}), TRIBUTARY_ERR_MANAGER_REFUSED);
  fabric.answer(name_of(TreeName{3}), TRIBUTARY_ERR_MANAGER_REFUSED);
  want(TreeName{3}, 2);
  EXPECT_NE(reason_of(trees, TreeName{3}), "");
  EXPECT_EQ(fabric.joined().size(), 4U) << "it was asked for a third time";
}

TEST_F(TreesTest, ATreeInUseMakesNoRoom) {
  make(first, 0);
  const contexts::Context context = take(first);
  fabric.answer(name_of(second), TRIBUTARY_ERR_MANAGER_REFUSED);
  want(second, 1);
  EXPECT_NE(reason_of(trees, second), "");
  EXPECT_TRUE(is_ready(first));
  EXPECT_TRUE(fabric.left().empty());
  release(context);
}

TEST_F(TreesTest, NoTreeMakesRoomWhenTheProgramEnds) {
  make(first, 0);
  trees.make_no_room();
  fabric.answer(name_of(second), TRIBUTARY_ERR_MANAGER_REFUSED);
  want(second, 1);
  EXPECT_NE(reason_of(trees, second), "");
  EXPECT_TRUE(is_ready(first));
}

TEST_F(TreesTest, MovesAreWrittenIntoTheTable) {
  make(first, 0);
  const std::uint64_t before = trees.table().version();
  fabric.move(name_of(first), 9);
  EXPECT_TRUE(eventually([&] { return known(first)->moves == 1; }));
  EXPECT_EQ(known(first)->facts.tree, TreeNumber{9});
  EXPECT_GT(trees.table().version(), before);
}

TEST_F(TreesTest, ATreeThatMovesToOneWithOtherRangesHasEnded) {
  make(first, 0);
  fabric.move(name_of(first), 9, 64);
  EXPECT_TRUE(eventually([&] { return !fabric.left().empty(); }));
  EXPECT_FALSE(known(first));
}

TEST_F(TreesTest, AGroupThatEndsEndsItsTreeAndOneThatIsDownDoesNot) {
  make(first, 0);
  make(second, 1);
  const contexts::Context context = take(first);
  fabric.check_returns(name_of(second), TRIBUTARY_ERR_INTERFACE_DOWN);
  fabric.check_returns(name_of(first), TRIBUTARY_ERR_GROUP_ENDED);
  EXPECT_TRUE(eventually([&] { return !fabric.left().empty(); }));
  EXPECT_EQ(fabric.left(), Names{name_of(first)});
  EXPECT_TRUE(trees.table().lock()->is_over(context));
  EXPECT_TRUE(is_ready(second));
  EXPECT_NE(reason_of(trees, first).find("has ended"), std::string::npos);
  release(context);
  EXPECT_FALSE(known(first));
}

TEST_F(TreesTest, ATreeThatWasWithdrawnIsLeftWhenItsLastContextIsFree) {
  make(first, 0);
  make(second, 1);
  const contexts::Context context = take(first);
  EXPECT_TRUE(trees.table().lock()->withdraw(first));
  fabric.move(name_of(second), 9);
  EXPECT_TRUE(eventually([&] { return known(second)->moves == 1; })) << "it was looked at";
  EXPECT_TRUE(fabric.left().empty());
  release(context);
  EXPECT_TRUE(eventually([&] { return !fabric.left().empty(); }));
  EXPECT_FALSE(known(first));
}

TEST_F(TreesTest, AUserThatIsNotDoneIsToldAgain) {
  struct User final : TreeUser {
    std::atomic<int> looks{0};
    bool look() override { return ++looks == 3; }
  } user;
  trees.add(user);
  make(first, 0); // changes the table
  EXPECT_TRUE(eventually([&] { return user.looks == 3; }));
  trees.remove(user);
  fabric.move(name_of(first), 9);
  EXPECT_TRUE(eventually([&] { return known(first)->moves == 1; }));
  EXPECT_EQ(user.looks, 3);
}

TEST_F(TreesTest, TreesAreJoinedAgainAfterAllWereLeft) {
  make(first, 0);
  trees.leave_all();
  trees.open(here, 0);
  make(second, 0);
  EXPECT_TRUE(is_ready(second));
}

TEST_F(TreesTest, PagesAreKnownByTheSetOfNodesAndNotForMoreThanATableHas) {
  EXPECT_EQ(trees.page_of(nodes), 0U);
  trees.learn_page(nodes, 3);
  EXPECT_EQ(trees.page_of(nodes), 3U);
  for (std::uint64_t set = 1000; set < 2000; ++set) {
    trees.learn_page(contexts::NodeSet{set}, 1);
  }
  EXPECT_EQ(trees.page_of(contexts::NodeSet{1999}), 0U);
  trees.learn_page(nodes, 4);
  EXPECT_EQ(trees.page_of(nodes), 4U);
}

TEST(Trees, WithoutTheNodesMemoryNothingIsOpened) {
  const FakeFabric fabric;
  Trees trees({.interface = "fabric0", .join_limit = std::chrono::seconds(1)});
  trees.has_no_table("/dev/shm has no room");
  try {
    trees.open(here, 0);
    FAIL() << "it is open";
  } catch (const NoGroup& refused) {
    EXPECT_EQ(refused.cause(), Refusal::no_shared_memory);
    EXPECT_STREQ(refused.what(), "/dev/shm has no room");
  }
}

/// A process of the node has asked for two trees; its place in the set of the second is unknown.
class AdoptedTest : public TreesFixture {
protected:
  static constexpr contexts::ProcessId other{2};
  AdoptedTest()
      : table_name("/tributary-test-trees-" + std::to_string(getpid()) + "-" +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name()),
        process([this] {
          static const auto table = node::SharedTable::attach(table_name, 2, other);
          const auto lock = table.lock();
          lock.set_place(nodes, place);
          static_cast<void>(lock->assign(*lock->open(nodes), 0, first, other));
          static_cast<void>(lock->ready(first, {.tree = TreeNumber{3}, .slots = 128}));
          const contexts::NodeSet unknown{78};
          static_cast<void>(lock->assign(*lock->open(unknown), 0, second, other));
        }) {
    trees.use(node::SharedTable::attach(table_name, 2, here));
  }

  std::string table_name;
  tributary::test::KilledProcess process;
};

TEST_F(AdoptedTest, TheTreeOfAProcessThatDiedIsJoinedInItsPlace) {
  trees.open(here, 0);
  EXPECT_EQ(known(first)->keeper, other);
  const contexts::Context context = take(first);
  process.end();
  EXPECT_TRUE(eventually([&] { return known(first)->moves == 1; }))
      << "the new keeper's facts are not in the table";
  const auto joined = fabric.joined();
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].name, name_of(first));
  EXPECT_EQ(joined[0].rank, place.place);
  EXPECT_EQ(joined[0].size, place.nodes);
  EXPECT_EQ(known(first)->keeper, here);
  EXPECT_EQ(known(first)->facts.tree, TreeNumber{7});
  EXPECT_FALSE(trees.table().lock()->is_over(context)) << "contexts live on";
  EXPECT_TRUE(eventually([&] { return !known(second); })) << "the node's place is not known";
  release(context);
}

TEST_F(AdoptedTest, ATreeThatCannotBeAdoptedHasEndedForItsUsers) {
  fabric.answer(name_of(first), TRIBUTARY_ERR_NOT_READY);
  trees.open(here, 0);
  const contexts::Context context = take(first);
  process.end();
  EXPECT_TRUE(eventually([&] { return trees.table().lock()->is_over(context); }));
  release(context);
}

} // namespace
} // namespace tributary::mpi::intra_node::test
