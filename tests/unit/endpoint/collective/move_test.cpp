// Groups whose frames take another path from some moment on: Member::move_to.
#include "star_group.hpp"

#include <gtest/gtest.h>

namespace tributary::collective::test {
namespace move_test {

constexpr std::uint32_t size = 3;

GroupParameters moved(GroupParameters p) {
  p.tree = TreeNumber{1};
  p.twin = TreeNumber{2};
  p.vni = Vni{77};
  p.cookie = Cookie{0xFEED};
  return p;
}

/// Pieces 0 and up complete at every member with the sum of the ranks.
void expect_completions(StarGroup& group, std::uint32_t from_rank = 0) {
  for (std::uint32_t rank = from_rank; rank < size; ++rank) {
    const auto completion = group[rank].take_completion();
    ASSERT_TRUE(completion) << "rank " << rank;
    EXPECT_EQ(completion->payload[0], 3U);
  }
}

TEST(Move, IdleGroupGoesOnElsewhere) {
  StarGroup group(size);
  group.inject_everywhere([](std::uint32_t rank) { return int_sum(rank); });
  group.carry();
  expect_completions(group);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    group[rank].move_to(moved(group[rank].parameters()), group.now());
  }
  for (int i = 0; i < 8; ++i) {
    group.inject_everywhere([](std::uint32_t rank) { return int_sum(rank); });
  }
  group.carry();
  for (int i = 0; i < 8; ++i) {
    expect_completions(group);
  }
  EXPECT_EQ(group.root().statistics().retried, 0U);
}

/// Every order in which three members can move, in the middle of a reduction.
class MoveInOrder : public testing::TestWithParam<std::array<std::uint32_t, size>> {};

TEST_P(MoveInOrder, ReductionUnderWayIsAskedForAgain) {
  StarGroup group(size);
  group.set_script([](auto, auto, const wire::ReductionFrame& f) {
    return f.tree == TreeNumber{0xABC} ? 0 : 1; // the old tree is gone
  });
  group.inject_everywhere([](std::uint32_t rank) { return int_sum(rank); });
  group.carry();
  for (const std::uint32_t rank : GetParam()) {
    group[rank].move_to(moved(group[rank].parameters()), group.now());
    group.carry();
  }
  group.pass(40 * ms);
  expect_completions(group);
}

INSTANTIATE_TEST_SUITE_P(Orders, MoveInOrder,
                         testing::Values(std::array{0U, 1U, 2U}, std::array{1U, 0U, 2U},
                                         std::array{2U, 1U, 0U}));

TEST(Move, LostResultIsFoundOnTheNewTrees) {
  StarGroup group(size);
  group.set_script([](std::uint32_t from, std::uint32_t to, const wire::ReductionFrame& f) {
    return from == 0 && to == 1 && f.word.count > 0 && f.tree == TreeNumber{0xABC} ? 0 : 1;
  });
  group.inject_everywhere([](std::uint32_t rank) { return int_sum(rank); });
  group.carry();
  EXPECT_TRUE(group.root().take_completion());
  EXPECT_TRUE(group[2].take_completion());
  EXPECT_FALSE(group[1].take_completion());
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    group[rank].move_to(moved(group[rank].parameters()), group.now());
  }
  group.pass(200 * ms);
  const auto completion = group[1].take_completion();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->payload[0], 3U);
  EXPECT_GE(group.root().statistics().replayed, 1U);
}

TEST(Move, OtherMembersOrAnotherRootAreRefused) {
  Member member(group_of(size, 1));
  GroupParameters p = moved(member.parameters());
  p.root_rank = 2;
  p.root_nid.reset();
  EXPECT_THROW(member.move_to(p, TimeNs{0}), std::invalid_argument);
  p = moved(member.parameters());
  p.size = 4;
  EXPECT_THROW(member.move_to(p, TimeNs{0}), std::invalid_argument);
  p = moved(member.parameters());
  p.twin = p.tree;
  EXPECT_THROW(member.move_to(p, TimeNs{0}), std::invalid_argument);
  EXPECT_EQ(member.parameters().tree, TreeNumber{0xABC}) << "nothing was changed";
}

} // namespace move_test
} // namespace tributary::collective::test
