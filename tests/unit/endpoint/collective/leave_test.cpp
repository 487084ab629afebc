// Leaving: no member leaves before all have their results, none waits without bound.
#include "star_group.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tributary::collective::test {
namespace leave_test {

constexpr std::uint32_t size = 5;

void run_pieces(StarGroup& group, int count) {
  for (int i = 0; i < count; ++i) {
    group.inject_everywhere([](std::uint32_t rank) { return int_sum(rank); });
    group.pass(200 * ms);
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      ASSERT_TRUE(group[rank].take_completion().has_value());
    }
  }
}

void leave_everywhere(StarGroup& group) {
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    group[rank].leave(group.now());
  }
}

bool all_left(StarGroup& group) {
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (!group[rank].left()) {
      return false;
    }
  }
  return true;
}

TEST(Leave, OnAPerfectWireEverybodyIsGoneAtOnce) {
  StarGroup group(size);
  run_pieces(group, 3);
  const TimeNs before = group.now();
  leave_everywhere(group);
  group.carry();
  EXPECT_TRUE(all_left(group));
  EXPECT_EQ(group.now(), before) << "no timer was needed";
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    EXPECT_FALSE(group[rank].abandoned());
    EXPECT_FALSE(group[rank].can_inject());
    EXPECT_EQ(group[rank].next_deadline(), never);
  }
}

TEST(Leave, TheLastWordOfTheRootReleasesEveryEngineItArmed) {
  StarGroup group(size);
  run_pieces(group, 3); // ids 0 to 2; leaving uses id 3
  std::vector<ReductionId> released;
  group.set_script([&](auto from, auto to, const wire::ReductionFrame& f) {
    if (from == 0 && to == 1 && !f.word.arm) {
      released.push_back(f.reduction);
    }
    return 1;
  });
  leave_everywhere(group);
  group.carry();
  EXPECT_EQ(released,
            (std::vector{ReductionId{0}, ReductionId{1}, ReductionId{2}, ReductionId{3}}));
}

TEST(Leave, NoMemberLeavesBeforeAllHaveCome) {
  StarGroup group(size);
  run_pieces(group, 1);
  for (std::uint32_t rank = 0; rank < size - 1; ++rank) {
    group[rank].leave(group.now());
  }
  group.pass(2000 * ms);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    EXPECT_FALSE(group[rank].left());
  }
  group[size - 1].leave(group.now());
  group.pass(1100 * ms);
  EXPECT_TRUE(all_left(group));
}

TEST(Leave, LeafThatMissesTheLastResultGetsItFromTheRootInItsGrace) {
  StarGroup group(size);
  run_pieces(group, 1);
  int lost = 0;
  group.set_script([&](auto, auto to, const wire::ReductionFrame& f) {
    const bool lose = to == 2 && f.word.count > 0 && f.reduction == ReductionId{1} && lost == 0;
    lost += lose ? 1 : 0;
    return lose ? 0 : 1;
  });
  leave_everywhere(group);
  group.carry();
  EXPECT_EQ(lost, 1);
  EXPECT_TRUE(group[1].left());
  EXPECT_FALSE(group[2].left());
  EXPECT_FALSE(group.root().left()) << "one leave frame is missing";
  group.pass(129 * ms);
  EXPECT_TRUE(all_left(group));
  EXPECT_FALSE(group[2].abandoned());
  EXPECT_EQ(group.root().statistics().replayed, 1U);
}

TEST(Leave, LostLeaveFrameEndsTheRootsGraceAtItsTime) {
  StarGroup group(size);
  run_pieces(group, 1);
  int lost = 0;
  group.set_script([&](auto from, auto, const wire::ReductionFrame& f) {
    // The leave frame is the second contribution on id 1.
    const bool lose =
        from == 3 && f.reduction == ReductionId{1} && f.word.resno == SequenceNumber{1};
    lost += lose ? 1 : 0;
    return lose ? 0 : 1;
  });
  leave_everywhere(group);
  group.carry();
  EXPECT_EQ(lost, 1);
  const std::uint64_t grace = group.root().parameters().leave_grace_ns;
  group.pass(grace - 1);
  EXPECT_FALSE(group.root().left());
  group.pass(1);
  EXPECT_TRUE(group.root().left());
  EXPECT_FALSE(group.root().abandoned()) << "the last barrier had completed";
}

TEST(Leave, DoubledLeaveFrameDoesNotStandForAMissingOne) {
  StarGroup group(size);
  run_pieces(group, 1);
  int lost = 0;
  int doubled = 0;
  group.set_script([&](auto from, auto, const wire::ReductionFrame& f) {
    if (f.reduction != ReductionId{1} || f.word.resno != SequenceNumber{1}) {
      return 1;
    }
    if (from == 3) {
      ++lost;
      return 0;
    }
    if (from == 2) {
      ++doubled;
      return 2;
    }
    return 1;
  });
  leave_everywhere(group);
  group.carry();
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(doubled, 1);
  EXPECT_FALSE(group.root().left());
}

TEST(Leave, LeafGoesAloneWhenTheRootIsDead) {
  StarGroup group(size);
  run_pieces(group, 1);
  group.set_script([](auto from, auto, const wire::ReductionFrame&) { return from == 0 ? 0 : 1; });
  group[1].leave(group.now());
  const std::uint64_t bound = group[1].parameters().leave_timeout_ns;
  group.pass(bound - 1);
  EXPECT_FALSE(group[1].left());
  group.pass(1);
  EXPECT_TRUE(group[1].left());
  EXPECT_TRUE(group[1].abandoned());
}

TEST(Leave, RootGoesAloneWhenALeafIsDeadAndReleasesTheEngines) {
  StarGroup group(size);
  run_pieces(group, 1);
  for (std::uint32_t rank = 0; rank < size - 1; ++rank) {
    group[rank].leave(group.now());
  }
  group.pass(group.root().parameters().leave_timeout_ns);
  EXPECT_TRUE(group.root().left());
  EXPECT_TRUE(group.root().abandoned());
  EXPECT_EQ(group.root().next_deadline(), never);
}

TEST(Leave, HeavyLossDoesNotKeepAnybodyForEver) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StarGroup group(size);
    run_pieces(group, 1);
    std::mt19937 random(seed);
    int lost = 0;
    group.set_script([&](auto, auto, const wire::ReductionFrame&) {
      const bool lose = random() % 3 != 0;
      lost += lose ? 1 : 0;
      return lose ? 0 : 1;
    });
    leave_everywhere(group);
    const GroupParameters& bounds = group.root().parameters();
    group.pass(bounds.leave_timeout_ns + bounds.leave_grace_ns);
    EXPECT_TRUE(all_left(group));
    EXPECT_GT(lost, 0);
  }
}

TEST(Leave, AMemberThatLeftIgnoresWhatComes) {
  StarGroup group(size);
  run_pieces(group, 1);
  leave_everywhere(group);
  group.carry();
  const Statistics before = group[1].statistics();
  group[1].receive(from_root(group[1].parameters(), ReductionId{0}, retry_word(20)), group.now());
  EXPECT_EQ(group[1].statistics(), before);
}

TEST(Leave, CxiDialectPartsWithoutAHandshake) {
  StarGroup group(2, [](GroupParameters& p) { p.dialect = Dialect::cxi; });
  run_pieces(group, 1);
  group[1].leave(group.now());
  EXPECT_TRUE(group[1].left());
  EXPECT_TRUE(group[1].outbox().empty());
  group.root().leave(group.now());
  EXPECT_TRUE(group.root().left());
  const auto last = drain(group.root());
  ASSERT_EQ(last.size(), 1U);
  EXPECT_FALSE(last[0].word.arm);
}

} // namespace leave_test
} // namespace tributary::collective::test
