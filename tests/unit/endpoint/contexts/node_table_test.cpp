#include "endpoint/contexts/node_table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace tributary::test {
namespace {

using contexts::AgreementId;
using contexts::Context;
using contexts::IdRange;
using contexts::NodeSet;
using contexts::NodeTable;
using contexts::Partition;
using contexts::PartMask;
using contexts::ProcessId;
using contexts::TreeFacts;
using contexts::TreeName;
using contexts::TreeState;

constexpr NodeSet nodes{9};
constexpr ProcessId me{1};
constexpr ProcessId other{2};
constexpr TreeName first{101};
constexpr TreeName second{102};
constexpr TreeFacts facts{.tree = TreeNumber{7}, .slots = 128};

AgreementId agreement(std::uint32_t cookie, ProcessId process = me) {
  return {process, {Cookie{cookie}, 0}};
}

class NodeTableTest : public ::testing::Test {
protected:
  NodeTableTest() : table(std::make_unique<NodeTable>()), pool(*table->open(nodes)) {}

  void make(TreeName name, std::uint32_t entry) {
    ASSERT_TRUE(table->assign(pool, entry, name, me));
    ASSERT_TRUE(table->ready(name, facts));
  }
  Context take(const IdRange& ids, ProcessId process = me, std::uint32_t cookie = 5) {
    EXPECT_TRUE(table->take(pool, 0, Partition(128).parts_of(ids), process, Cookie{cookie}));
    return {nodes, first, ids, Cookie{cookie}};
  }

  std::unique_ptr<NodeTable> table;
  NodeTable::PoolNumber pool;
};

TEST_F(NodeTableTest, a_tree_is_given_out_from_ready_until_is_retired) {
  EXPECT_TRUE(table->is_vacant(pool, 0));
  ASSERT_TRUE(table->assign(pool, 0, first, me));
  EXPECT_FALSE(table->assign(pool, 0, second, me)) << "the entry has a tree";
  EXPECT_EQ(table->free_parts(pool, 0), 0U);
  EXPECT_FALSE(table->ready(first, {.slots = 24})) << "no tree has 24";
  EXPECT_FALSE(table->ready(second, facts));
  EXPECT_TRUE(table->ready(first, facts));
  EXPECT_FALSE(table->ready(first, facts)) << "it is";
  EXPECT_EQ(table->free_parts(pool, 0), Partition(128).whole());
  EXPECT_TRUE(table->retire(first));
  EXPECT_EQ(table->free_parts(pool, 0), 0U);
  EXPECT_FALSE(table->is_vacant(pool, 0));
  EXPECT_TRUE(table->ended(first));
  EXPECT_TRUE(table->is_vacant(pool, 0));
  EXPECT_EQ(table->trees(), 0U);
  EXPECT_EQ(table->find(first), nullptr);
}

TEST_F(NodeTableTest, parts_belong_to_one_context_until_it_is_released) {
  make(first, 0);
  const Context context = take({ReductionId{64}, 8});
  const PartMask parts = Partition(128).parts_of(context.ids);
  EXPECT_EQ(table->free_parts(pool, 0), Partition(128).whole() & ~parts);
  EXPECT_FALSE(table->take(pool, 0, parts, other, Cookie{6}));
  EXPECT_FALSE(
      table->take(pool, 0, Partition(128).parts_of({ReductionId{66}, 2}), other, Cookie{6}));
  EXPECT_FALSE(table->take(pool, 1, parts, me, Cookie{6})) << "a vacant entry";
  EXPECT_EQ(table->contexts(), 1U);

  Context wrong = context;
  wrong.cookie = Cookie{6};
  EXPECT_FALSE(table->release(me, wrong));
  EXPECT_FALSE(table->release(other, context));
  wrong = context;
  wrong.ids.count = 4;
  EXPECT_FALSE(table->release(me, wrong));
  EXPECT_TRUE(table->release(me, context));
  EXPECT_FALSE(table->release(me, context)) << "once";
  EXPECT_EQ(table->free_parts(pool, 0), Partition(128).whole());
}

TEST_F(NodeTableTest, a_context_that_shrinks_frees_its_other_ids) {
  make(first, 0);
  Context context = take({ReductionId{64}, 8});
  EXPECT_FALSE(table->shrink(me, context, 8));
  EXPECT_FALSE(table->shrink(me, context, 0));
  EXPECT_FALSE(table->shrink(other, context, 2));
  EXPECT_TRUE(table->shrink(me, context, 2));
  EXPECT_EQ(context.ids, (IdRange{ReductionId{64}, 2}));
  EXPECT_TRUE(
      table->take(pool, 0, Partition(128).parts_of({ReductionId{66}, 2}), other, Cookie{6}));
  EXPECT_TRUE(table->release(me, context));
  EXPECT_EQ(table->contexts(), 1U);
}

TEST_F(NodeTableTest, contexts_of_a_group_that_ended_are_over_and_hold_its_entry) {
  make(first, 0);
  const Context context = take({ReductionId{64}, 8});
  EXPECT_FALSE(table->is_over(context));
  EXPECT_TRUE(table->ended(first));
  EXPECT_TRUE(table->is_over(context));
  EXPECT_FALSE(table->is_vacant(pool, 0)) << "a context is still there";
  EXPECT_TRUE(table->release(me, context));
  EXPECT_TRUE(table->is_vacant(pool, 0));
  EXPECT_TRUE(table->is_over(context));
}

TEST_F(NodeTableTest, a_tree_that_is_withdrawn_is_given_out_no_more_and_its_contexts_keep_it) {
  EXPECT_FALSE(table->withdraw(first)) << "the table does not have it";
  ASSERT_TRUE(table->assign(pool, 0, first, me));
  EXPECT_FALSE(table->withdraw(first)) << "it is not ready";
  ASSERT_TRUE(table->ready(first, facts));
  const Context context = take({ReductionId{64}, 8});
  EXPECT_FALSE(table->retire(first)) << "it is used";
  EXPECT_TRUE(table->withdraw(first));
  EXPECT_FALSE(table->withdraw(first)) << "once";
  EXPECT_EQ(table->free_parts(pool, 0), 0U);
  EXPECT_FALSE(table->has_ready(nodes));
  EXPECT_FALSE(table->is_over(context));
  EXPECT_TRUE(table->moved(first, facts)) << "its contexts follow the group";
  EXPECT_TRUE(table->release(me, context));
  EXPECT_EQ(table->least_recently_used(), std::nullopt) << "it makes no room: it is left anyway";
  EXPECT_FALSE(table->is_vacant(pool, 0)) << "its group has not been left";
  EXPECT_TRUE(table->ended(first));
  EXPECT_TRUE(table->is_vacant(pool, 0));
}

TEST_F(NodeTableTest, what_an_agreement_offered_of_a_tree_may_be_taken_after_it_was_withdrawn) {
  make(first, 0);
  ASSERT_TRUE(table->take_eager(pool, agreement(7)));
  EXPECT_TRUE(table->withdraw(first)) << "other nodes may not know that it has failed";
  const Context context = take({ReductionId{64}, 8});
  EXPECT_TRUE(table->ended(first));
  table->end(pool, agreement(7));
  EXPECT_FALSE(table->is_vacant(pool, 0)) << "a context is still there";
  EXPECT_TRUE(table->is_over(context));
  EXPECT_TRUE(table->release(me, context));
  EXPECT_TRUE(table->is_vacant(pool, 0));
}

TEST_F(NodeTableTest, an_entry_stays_while_an_agreement_may_have_offered_it) {
  make(first, 0);
  ASSERT_TRUE(table->take_eager(pool, agreement(1)));
  EXPECT_FALSE(table->retire(first));
  EXPECT_TRUE(table->ended(first));
  EXPECT_FALSE(table->is_vacant(pool, 0));
  const Context context = take({ReductionId{64}, 8}); // as the result of its reduction says
  EXPECT_TRUE(table->is_over(context));
  table->end(pool, agreement(1));
  EXPECT_FALSE(table->is_vacant(pool, 0));
  EXPECT_TRUE(table->release(me, context));
  EXPECT_TRUE(table->is_vacant(pool, 0));
}

TEST_F(NodeTableTest, a_refused_tree_is_not_asked_for_again_for_ever_more_agreements) {
  std::vector<int> waits;
  for (int round = 0; round < 13; ++round) {
    ASSERT_TRUE(table->may_grow(pool));
    ASSERT_TRUE(table->assign(pool, 3, TreeName{static_cast<std::uint64_t>(200 + round)}, me));
    EXPECT_FALSE(table->may_grow(pool)) << "one is awaited";
    ASSERT_TRUE(table->refused(TreeName{static_cast<std::uint64_t>(200 + round)}));
    EXPECT_TRUE(table->is_vacant(pool, 3));
    int wait = 0;
    for (; !table->may_grow(pool) && wait < 5'000; ++wait) {
      table->count_agreement(pool);
    }
    waits.push_back(wait);
  }
  EXPECT_EQ(waits, (std::vector{2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 1025, 1025}));
  // One that becomes ready ends that.
  ASSERT_TRUE(table->assign(pool, 3, first, me));
  ASSERT_TRUE(table->ready(first, facts));
  ASSERT_TRUE(table->assign(pool, 4, second, me));
  ASSERT_TRUE(table->refused(second));
  table->count_agreement(pool);
  EXPECT_FALSE(table->may_grow(pool));
  table->count_agreement(pool);
  EXPECT_TRUE(table->may_grow(pool));
}

TEST_F(NodeTableTest, moves_of_a_group_keep_its_contexts_unless_it_has_another_number_of_ids) {
  make(first, 0);
  const Context context = take({ReductionId{64}, 8});
  TreeFacts elsewhere = facts;
  elsewhere.tree = TreeNumber{8};
  EXPECT_TRUE(table->moved(first, elsewhere));
  EXPECT_EQ(table->find(first)->facts, elsewhere);
  EXPECT_EQ(table->find(first)->moves, 1U);
  elsewhere.slots = 64;
  EXPECT_FALSE(table->moved(first, elsewhere));
  EXPECT_EQ(table->find(first)->facts.slots, 128U);
  EXPECT_FALSE(table->is_over(context));
}

TEST_F(NodeTableTest, one_agreement_owns_a_token_at_a_time) {
  EXPECT_TRUE(table->take_eager(pool, agreement(5)));
  EXPECT_TRUE(table->take_eager(pool, agreement(5))) << "it owns it already";
  EXPECT_FALSE(table->take_eager(pool, agreement(4)));
  EXPECT_TRUE(table->take_reserve(pool, agreement(4)));
  EXPECT_FALSE(table->take_reserve(pool, agreement(5)));
  table->let_go(pool, agreement(5));
  EXPECT_TRUE(table->take_eager(pool, agreement(4)));
  EXPECT_FALSE(table->is_quiet());
  table->end(pool, agreement(4));
  EXPECT_TRUE(table->is_quiet());
}

TEST_F(NodeTableTest, the_lowest_parent_that_waits_goes_first) {
  table->wait(pool, agreement(5));
  table->wait(pool, agreement(3));
  EXPECT_FALSE(table->take_reserve(pool, agreement(5)));
  EXPECT_FALSE(table->take_reserve(pool, agreement(4))) << "also before those that do not wait";
  EXPECT_TRUE(table->take_reserve(pool, agreement(3)));
  table->end(pool, agreement(3));
  EXPECT_FALSE(table->take_reserve(pool, agreement(6)));
  EXPECT_TRUE(table->take_reserve(pool, agreement(5)));
}

TEST_F(NodeTableTest, where_more_wait_than_there_are_places_the_lowest_have_one) {
  for (std::uint32_t cookie = 100; cookie > 10; --cookie) {
    table->wait(pool, agreement(cookie));
  }
  for (std::uint32_t cookie = 12; cookie < 100; ++cookie) {
    EXPECT_FALSE(table->take_reserve(pool, agreement(cookie)));
  }
  EXPECT_TRUE(table->take_reserve(pool, agreement(11)));
}

TEST_F(NodeTableTest, a_process_that_died_owns_nothing_waits_for_nothing_and_keeps_no_tree) {
  make(first, 0);
  take({ReductionId{64}, 8}, other);
  const Context mine = take({ReductionId{72}, 8});
  ASSERT_TRUE(table->assign(pool, 1, second, other));
  ASSERT_TRUE(table->take_eager(pool, agreement(1, other)));
  ASSERT_TRUE(table->take_reserve(pool, agreement(2, other)));
  table->wait(pool, agreement(0, other));
  table->process_ended(ProcessId{});
  EXPECT_EQ(table->contexts(), 2U);
  table->process_ended(other);
  EXPECT_TRUE(table->is_quiet());
  EXPECT_EQ(table->contexts(), 1U);
  EXPECT_FALSE(table->is_over(mine));
  EXPECT_TRUE(table->take_eager(pool, agreement(3)));
  EXPECT_TRUE(table->take_reserve(pool, agreement(3)));
  // Its tree has another keeper, which asks for it again.
  EXPECT_EQ(table->adopt(me), second);
  EXPECT_EQ(table->adopt(me), std::nullopt);
  EXPECT_EQ(table->find(second)->keeper, me);
}

TEST_F(NodeTableTest, the_least_recently_used_tree_goes_first_and_none_that_is_used) {
  make(first, 0);
  make(second, 1);
  EXPECT_EQ(table->least_recently_used(), first);
  const Context context = take({ReductionId{64}, 8});
  EXPECT_EQ(table->least_recently_used(), second);
  EXPECT_FALSE(table->retire(first)) << "it is used";
  EXPECT_TRUE(table->release(me, context));
  EXPECT_EQ(table->least_recently_used(), second);
  EXPECT_TRUE(table->retire(second));
  EXPECT_EQ(table->least_recently_used(), first);
}

TEST_F(NodeTableTest, pools_are_found_again_and_unused_ones_give_way_when_the_table_is_full) {
  EXPECT_EQ(table->open(nodes), pool);
  EXPECT_EQ(table->open(NodeSet{}), std::nullopt);
  make(first, 0);
  for (std::uint64_t set = 100; set < 99 + NodeTable::most_pools; ++set) {
    const auto number = table->open(NodeSet{set});
    ASSERT_TRUE(number);
    ASSERT_TRUE(table->assign(*number, 0, TreeName{set * 1'000}, me));
  }
  EXPECT_EQ(table->pools(), NodeTable::most_pools);
  EXPECT_EQ(table->open(NodeSet{7'777}), std::nullopt);
  EXPECT_TRUE(table->refused(TreeName{100'000}));
  const auto reused = table->open(NodeSet{7'777});
  ASSERT_TRUE(reused);
  EXPECT_EQ(table->open(NodeSet{7'777}), reused);
  ASSERT_TRUE(table->take_eager(*reused, agreement(1)));
  EXPECT_EQ(table->open(NodeSet{100}), std::nullopt) << "it has given way, and no other one does";
  table->end(*reused, agreement(1));
  EXPECT_EQ(table->open(NodeSet{100}), reused);
  EXPECT_EQ(table->open(nodes), pool);
}

TEST_F(NodeTableTest, trees_are_limited_and_agreements_of_other_pools_are_promised_theirs) {
  std::uint64_t name = 1'000;
  std::uint64_t set = 50;
  std::uint32_t made = 0;
  while (made < NodeTable::most_trees - 7) {
    const auto number = table->open(NodeSet{++set});
    ASSERT_TRUE(number);
    for (std::uint32_t entry = 0; entry < 100 && made < NodeTable::most_trees - 7; ++entry) {
      ASSERT_TRUE(table->assign(*number, entry, TreeName{++name}, me));
      ++made;
    }
  }
  EXPECT_TRUE(table->may_grow(pool));
  const auto another = table->open(NodeSet{4'000});
  ASSERT_TRUE(another);
  ASSERT_TRUE(table->take_reserve(*another, agreement(1)));
  EXPECT_FALSE(table->may_grow(pool)) << "seven are free, and the other one may ask for four";
  EXPECT_TRUE(table->may_grow(*another));
  table->end(*another, agreement(1));
  EXPECT_TRUE(table->may_grow(pool));
  for (std::uint32_t entry = 0; entry < 7; ++entry) {
    ASSERT_TRUE(table->assign(pool, entry, TreeName{++name}, me));
  }
  EXPECT_FALSE(table->assign(pool, 7, TreeName{++name}, me));
}

TEST_F(NodeTableTest, is_the_same_at_another_address) {
  make(first, 0);
  const Context context = take({ReductionId{64}, 8});
  const auto copy = std::make_unique<NodeTable>();
  std::memcpy(static_cast<void*>(copy.get()), table.get(), sizeof(NodeTable));
  table.reset();
  EXPECT_EQ(copy->contexts(), 1U);
  EXPECT_TRUE(copy->release(me, context));
  EXPECT_EQ(copy->free_parts(pool, 0), Partition(128).whole());
}

TEST_F(NodeTableTest, repair_keeps_what_is_complete) {
  make(first, 0);
  const Context context = take({ReductionId{64}, 8});
  ASSERT_TRUE(table->assign(pool, 1, second, me));
  table->repair();
  EXPECT_EQ(table->trees(), 2U);
  EXPECT_EQ(table->find(second)->state, TreeState::asked);
  EXPECT_FALSE(table->is_over(context));
  EXPECT_TRUE(table->release(me, context));
}

} // namespace
} // namespace tributary::test
