// Groups on two trees (endpoint/collective/trees.hpp): which tree wins, what each may lose, and
// that no contribution is counted across trees.
#include "star_group.hpp"
#include "tests/support/allocations.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace tributary::collective::test {
namespace twin_test {

constexpr TreeNumber first{0xABC};
constexpr TreeNumber second{0xDEF};
constexpr std::uint32_t size = 4;

constexpr std::uint64_t sum_of_ranks() { return size * (size - 1) / 2; }

class TwinTest : public testing::Test {
protected:
  TwinTest() : group(size, [](GroupParameters& p) { p.twin = second; }) {}

  /// One piece at every member, brought to its end without letting time pass.
  void reduce_one(std::uint64_t value) {
    group.inject_everywhere([&](std::uint32_t rank) { return int_sum(value + rank); });
    group.carry();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const auto completion = group[rank].take_completion();
      ASSERT_TRUE(completion) << "rank " << rank;
      EXPECT_EQ(completion->payload[0], size * value + sum_of_ranks());
      EXPECT_EQ(completion->count, size);
    }
  }
  void lose_everything_on(TreeNumber tree) {
    group.set_script(
        [tree](auto, auto, const wire::ReductionFrame& f) { return f.tree == tree ? 0 : 1; });
  }
  void leave_everywhere() {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      group[rank].leave(group.now());
    }
  }
  [[nodiscard]] std::uint32_t gone() {
    std::uint32_t n = 0;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      n += group[rank].left() && !group[rank].abandoned() ? 1 : 0;
    }
    return n;
  }
  [[nodiscard]] const Statistics& at_root() { return group.root().statistics(); }

  StarGroup group;
};

TEST_F(TwinTest, EachReductionRunsOnBothTreesAndOneWins) {
  constexpr std::uint64_t rounds = 3 * reductions_per_tree;
  std::uint64_t contributions[2] = {};
  group.set_script([&](std::uint32_t from, auto, const wire::ReductionFrame& f) {
    contributions[f.tree == first ? 0 : 1] += from == 0 ? 0 : 1;
    return 1;
  });
  for (std::uint64_t i = 0; i < rounds; ++i) {
    reduce_one(1000 * i);
  }
  EXPECT_EQ(contributions[0], rounds * (size - 1));
  EXPECT_EQ(contributions[1], rounds * (size - 1));
  EXPECT_EQ(at_root().won_on_first + at_root().won_on_second, rounds);
  EXPECT_GT(at_root().lagging, 0U) << "what the slower tree still brought";
  EXPECT_EQ(at_root().stale, 0U);
  EXPECT_EQ(at_root().retried, 0U);
}

TEST_F(TwinTest, EitherTreeAloneIsEnoughWithoutAnyRetry) {
  for (const TreeNumber cut : {first, second}) {
    group.set_script({});
    for (std::uint64_t id = 0; id < reductions_per_tree; ++id) {
      reduce_one(id); // both trees carry the next sequence
    }
    const std::uint64_t won_before[2] = {at_root().won_on_first, at_root().won_on_second};
    lose_everything_on(cut);
    for (std::uint64_t i = 0; i < 20; ++i) {
      reduce_one(1000 * i);
    }
    const std::uint64_t won_since[2] = {at_root().won_on_first - won_before[0],
                                        at_root().won_on_second - won_before[1]};
    EXPECT_EQ(won_since[0], cut == first ? 0U : 20U);
    EXPECT_EQ(won_since[1], cut == first ? 20U : 0U);
  }
  EXPECT_EQ(at_root().retried, 0U);
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    EXPECT_EQ(group[rank].statistics().requests_sent, 0U);
    EXPECT_EQ(group[rank].statistics().resent, 0U);
  }
}

TEST_F(TwinTest, TreeThatComesBackTakesPartFromTheNextSequenceOn) {
  lose_everything_on(first);
  for (std::uint64_t i = 0; i < 3 * reductions_per_tree; ++i) {
    reduce_one(i);
  }
  group.set_script({});
  for (std::uint64_t i = 0; i < reductions_per_tree; ++i) {
    reduce_one(i); // its result opens the next sequence on both trees
  }
  EXPECT_EQ(at_root().won_on_first, 0U);
  lose_everything_on(second);
  for (std::uint64_t i = 0; i < 2 * reductions_per_tree; ++i) {
    reduce_one(i);
  }
  EXPECT_EQ(at_root().won_on_first, 2 * reductions_per_tree);
  EXPECT_EQ(at_root().retried, 0U);
}

TEST_F(TwinTest, DifferentContributionsLostOnBothTreesAreAskedForAgain) {
  std::uint64_t lost = 0;
  group.set_script([&](std::uint32_t from, auto, const wire::ReductionFrame& f) {
    const bool hit =
        lost < 2 && ((from == 1 && f.tree == first) || (from == 2 && f.tree == second));
    lost += hit ? 1 : 0;
    return hit ? 0 : 1;
  });
  group.inject_everywhere([&](std::uint32_t rank) { return int_sum(rank); });
  group.carry();
  EXPECT_EQ(lost, 2U);
  EXPECT_FALSE(group.root().take_completion()) << "three of four on either tree are not four";
  const Status status = group.root().status();
  EXPECT_EQ(status[0].count, size - 1);
  EXPECT_EQ(status[0].count_on_other_tree, size - 1);
  EXPECT_EQ(status[0].missing_rank, 1U) << "on the first tree";
  group.pass(32 * ms);
  const auto completion = group.root().take_completion();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->payload[0], sum_of_ranks());
  EXPECT_EQ(at_root().retried, 1U);
}

TEST_F(TwinTest, CorruptedCountOnOneTreeIsLeftToTheOther) {
  reduce_one(5);
  group.set_script([&](std::uint32_t from, auto, const wire::ReductionFrame& f) {
    if (f.tree == second || from == 0) {
      return 1;
    }
    return from == 1 ? 2 : from == 2 ? 0 : 1; // the first tree's count is full, and wrong
  });
  reduce_one(7);
  EXPECT_GE(at_root().double_counted, 1U);
  EXPECT_EQ(at_root().retried, 0U);
  EXPECT_GE(at_root().won_on_second, 1U);
}

TEST_F(TwinTest, CorruptedCountsOnBothTreesAreAskedForAtOnce) {
  for (std::uint64_t id = 0; id < reductions_per_tree; ++id) {
    reduce_one(id);
  }
  // The sequence that is open for reduction 0 now is invalid on both trees.
  group.set_script([&](std::uint32_t from, auto, const wire::ReductionFrame& f) {
    if (from == 0 || f.word.seqno != SequenceNumber{1}) {
      return 1;
    }
    return from == 1 ? 2 : from == 2 ? 0 : 1;
  });
  reduce_one(9);
  EXPECT_EQ(at_root().double_counted, 2U);
  EXPECT_EQ(at_root().retried, 1U);
}

TEST_F(TwinTest, LeafContributesOnlyWhereItHeardTheSequence) {
  Member& leaf = group[1];
  const GroupParameters p = leaf.parameters();
  GroupParameters on_second = p;
  on_second.tree = second;
  leaf.inject(int_sum(5), group.now());
  EXPECT_TRUE(drain(leaf).empty());

  leaf.receive(from_root(p, ReductionId{0}, retry_word(10)), group.now());
  auto sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].tree, first);

  leaf.receive(from_root(on_second, ReductionId{0}, retry_word(9)), group.now());
  EXPECT_TRUE(drain(leaf).empty()) << "an older sequence left on the other tree";
  leaf.receive(from_root(on_second, ReductionId{0}, retry_word(10)), group.now());
  sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].tree, second);
  EXPECT_EQ(sent[0].word.seqno, SequenceNumber{10});
  EXPECT_EQ(sent[0].signature, signature_of_piece(signature_base(p.cookie, 1), 0));
  leaf.receive(from_root(on_second, ReductionId{0}, retry_word(10)), group.now());
  EXPECT_TRUE(drain(leaf).empty()) << "once each";
  EXPECT_EQ(leaf.statistics().resent, 0U);

  // The result arrives on the second tree; the next piece is sent only there until the first
  // follows.
  leaf.receive(from_root(on_second, ReductionId{0}, result_word(11, 10, size)), group.now());
  ASSERT_TRUE(leaf.take_completion());
  for (int i = 0; i < 8; ++i) {
    leaf.inject(int_sum(6), group.now());
  }
  sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U) << "seven ids were never armed";
  EXPECT_EQ(sent[0].tree, second);
  leaf.receive(from_root(p, ReductionId{0}, result_word(11, 10, size)), group.now());
  sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].tree, first);
  EXPECT_EQ(sent[0].word.seqno, SequenceNumber{11});
  EXPECT_FALSE(leaf.take_completion()) << "the second copy of a result completes nothing";
}

TEST_F(TwinTest, FramesOfStrangeTreesAreForeign) {
  Member& leaf = group[1];
  GroupParameters elsewhere = leaf.parameters();
  elsewhere.tree = TreeNumber{1};
  leaf.inject(int_sum(5), group.now());
  leaf.receive(from_root(elsewhere, ReductionId{0}, retry_word(10)), group.now());
  EXPECT_TRUE(drain(leaf).empty());
  EXPECT_EQ(leaf.statistics().foreign, 1U);
}

TEST_F(TwinTest, LeavingTakesNoTimeOnTwoTrees) {
  reduce_one(1);
  leave_everywhere();
  group.carry();
  EXPECT_EQ(gone(), size);
}

TEST_F(TwinTest, LeavingWithOneDeadTreeTakesOneRetryInterval) {
  for (const TreeNumber cut : {first, second}) {
    StarGroup fresh(size, [](GroupParameters& p) { p.twin = second; });
    std::swap(group, fresh);
    reduce_one(1);
    lose_everything_on(cut);
    leave_everywhere();
    group.carry();
    EXPECT_TRUE(group.root().left()) << "one tree's leave frames are enough";
    EXPECT_EQ(gone(), 1U);
    group.pass(32 * ms);
    EXPECT_EQ(gone(), size);
  }
}

TEST_F(TwinTest, RootThatHearsNoLeaveFrameStaysForItsGraceAndGoes) {
  reduce_one(1);
  const PieceNumber leave = 1 + reductions_per_tree;
  group.set_script([&](std::uint32_t from, auto, const wire::ReductionFrame& f) {
    const bool is_leave =
        from != 0 &&
        f.signature ==
            signature_of_piece(signature_base(group.root().parameters().cookie, from), leave);
    return is_leave ? 0 : 1;
  });
  leave_everywhere();
  group.pass(32 * ms);
  EXPECT_EQ(gone(), size - 1);
  group.pass(group.root().parameters().leave_grace_ns);
  EXPECT_EQ(gone(), size);
}

TEST_F(TwinTest, NothingIsAllocatedOnceMembersExist) {
  std::vector<std::size_t> counts;
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const std::size_t before = tributary::test::allocations();
      group[rank].inject(int_sum(round), group.now());
      group[rank].poll(group.now());
      counts.push_back(tributary::test::allocations() - before);
    }
    // Frames are carried by hand, so that the test's own containers are not measured.
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t from = 0; from < size; ++from) {
        for (const wire::ReductionFrame& frame : drain(group[from])) {
          moved = true;
          const std::size_t before = tributary::test::allocations();
          for (std::uint32_t to = from == 0 ? 1 : 0; to < (from == 0 ? size : 1); ++to) {
            group[to].receive(frame, group.now());
          }
          counts.push_back(tributary::test::allocations() - before);
        }
      }
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(group[rank].take_completion());
    }
  }
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), 0U);
  EXPECT_GT(tributary::test::allocations(), 0U) << "the count counts";
}

class TwinChaos : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TwinChaos, EveryPieceEndsRightAtEveryMember) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937 random(GetParam());
  StarGroup group(size, [](GroupParameters& p) { p.twin = second; });
  std::uint64_t lost = 0;
  std::uint64_t doubled = 0;
  TreeNumber worse = first; // changes as time goes by
  group.set_script([&](auto, auto, const wire::ReductionFrame& f) {
    const auto dice = random() % 100;
    const bool lose = dice < (f.tree == worse ? 60 : 8);
    lost += lose ? 1 : 0;
    doubled += dice >= 92 ? 1 : 0;
    return lose ? 0 : dice < 92 ? 1 : 2;
  });
  constexpr PieceNumber pieces = 200;
  std::vector<PieceNumber> done(size, 0);
  int steps = 0;
  while (std::accumulate(done.begin(), done.end(), PieceNumber{0}) < size * pieces) {
    ASSERT_LT(++steps, 100'000) << "no end in sight";
    worse = random() % 50 == 0 ? (worse == first ? second : first) : worse;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      while (group[rank].next_piece() < pieces && group[rank].can_inject() && random() % 4 != 0) {
        group[rank].inject(int_sum(1000 * group[rank].next_piece() + rank), group.now());
      }
      while (const auto completion = group[rank].take_completion()) {
        ++done[rank];
        ASSERT_EQ(completion->payload[0], size * 1000 * completion->piece + sum_of_ranks());
        ASSERT_EQ(completion->count, size);
      }
    }
    group.pass(1 + random() % (8 * ms));
  }
  EXPECT_GT(lost, 100U);
  EXPECT_GT(doubled, 100U);
  EXPECT_GT(group.root().statistics().won_on_first, 0U);
  EXPECT_GT(group.root().statistics().won_on_second, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TwinChaos, testing::Range(1U, 21U));

} // namespace twin_test
} // namespace tributary::collective::test
