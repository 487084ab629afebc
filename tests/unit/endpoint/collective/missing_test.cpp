// Which members are notified of a missing one, and when.
#include "star_group.hpp"

#include <gtest/gtest.h>

namespace tributary::collective::test {
namespace missing_test {

constexpr std::uint64_t second = 1000 * ms;
/// By then the root's first roll call had its time, docs/protocol/collective.md.
constexpr std::uint64_t named_within = 2'100 * ms;

/// Loses every frame of and to these ranks.
StarGroup::Script without(std::vector<std::uint32_t> dead) {
  return [dead](std::uint32_t from, std::uint32_t to, const wire::ReductionFrame&) {
    const bool lost =
        std::ranges::find(dead, from) != dead.end() || std::ranges::find(dead, to) != dead.end();
    return lost ? 0 : 1;
  };
}

MissingRanks ranks(std::initializer_list<std::uint32_t> list) {
  MissingRanks missing;
  for (const std::uint32_t rank : list) {
    missing.add(rank);
  }
  return missing;
}

void inject_sums(StarGroup& group) {
  group.inject_everywhere([](std::uint32_t) { return int_sum(1); });
}

StarGroup::Change with_member_timeout(std::uint64_t ns) {
  return [ns](GroupParameters& p) { p.member_timeout_ns = ns; };
}

TEST(Missing, RootAndLeavesNameWhoDoesNotComeAfterTheFirstRollCall) {
  StarGroup group(6);
  group.set_script(without({2, 4}));
  inject_sums(group);
  group.pass(second);
  EXPECT_TRUE(group.root().status()[0].missing.empty()) << "no member was asked by itself yet";
  group.pass(named_within - second);
  for (const std::uint32_t rank : {0U, 1U, 3U, 5U}) {
    EXPECT_EQ(group[rank].status()[0].missing, ranks({2, 4})) << "rank " << rank;
  }
  EXPECT_FALSE(group.root().failure()) << "without a member time-out the group waits on";
}

TEST(Missing, AMemberThatAnswersForAnotherInTurnDoesNotKeepTheGroupWaitingForEver) {
  // Rank 2 never appears; rank 1 answers every second roll call in its name, and then not in its
  // own.
  GroupParameters parameters = group_of(3, 0);
  parameters.member_timeout_ns = 3 * second;
  Member root(parameters);
  TimeNs now{second};
  const TimeNs begun = now;
  root.inject(int_sum(1), now);
  std::uint32_t calls = 0;
  while (!root.failure() && elapsed_ns(now, begun) < 30 * second) {
    for (const wire::ReductionFrame& f : without_notices(drain(root))) {
      if (!f.word.arm) {
        root.receive(contribution(parameters, 1 + calls++ % 2, 0, f.word.seqno, int_sum(1)), now);
      }
    }
    now = root.next_deadline();
    root.poll(now);
  }
  ASSERT_TRUE(root.failure().has_value());
  EXPECT_EQ(root.failure()->reason, Failure::Reason::members_missing);
  EXPECT_EQ(root.failure()->missing.count, 1U);
  EXPECT_GE(elapsed_ns(now, begun), 6 * second);
  EXPECT_LE(elapsed_ns(now, begun), 10 * second);
}

TEST(Missing, ARollCallLeavesTheEnginesOutAndTheNextRetryTakesThemInAgain) {
  Member root(group_of(4, 0));
  TimeNs now{second};
  root.inject(int_sum(1), now);
  drain(root);
  std::vector<bool> armed;
  for (int retry = 1; retry <= 8; ++retry) {
    now = root.next_deadline();
    root.poll(now);
    armed.push_back(without_notices(drain(root)).at(0).word.arm);
  }
  EXPECT_EQ(armed, (std::vector<bool>{true, true, true, true, false, true, false, true}));
  EXPECT_EQ(root.statistics().roll_calls, 2U);
}

TEST(Missing, OnlyThePieceThatWaitsLongestCallsTheRoll) {
  StarGroup group(3);
  group.set_script(without({2}));
  for (int piece = 0; piece < 8; ++piece) {
    inject_sums(group);
  }
  group.pass(named_within);
  EXPECT_EQ(group.root().statistics().roll_calls, 1U);
  for (int id = 0; id < 8; ++id) {
    EXPECT_EQ(group[1].status()[static_cast<std::size_t>(id)].missing, ranks({2}))
        << "those behind it wait with it";
  }
}

TEST(Missing, AMemberThatIsLateCompletesTheRollCallLikeAnyOther) {
  StarGroup group(4);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    group[rank].inject(int_sum(rank), group.now());
  }
  group.pass(3 * second);
  EXPECT_EQ(group[1].status()[0].missing, ranks({3}));
  group[3].inject(int_sum(3), group.now());
  group.pass(2 * second);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto done = group[rank].take_completion();
    ASSERT_TRUE(done) << "rank " << rank;
    EXPECT_EQ(done->payload[0], 6U);
    EXPECT_TRUE(group[rank].status()[0].missing.empty());
  }
}

TEST(Missing, WhatOneRollCallLosesTheNextMakesUpFor) {
  StarGroup group(4);
  int answers_lost = 0;
  group.set_script([&](std::uint32_t from, std::uint32_t to, const wire::ReductionFrame&) {
    if (from == 3 || to == 3) {
      return 0;
    }
    // Rank 1's frames are lost during the first call.
    const bool lost = from == 1 && group.root().statistics().roll_calls == 1;
    answers_lost += lost ? 1 : 0;
    return lost ? 0 : 1;
  });
  inject_sums(group);
  group.pass(named_within);
  EXPECT_GT(answers_lost, 0);
  EXPECT_EQ(group.root().status()[0].missing, ranks({1, 3}));
  group.pass(2 * second);
  EXPECT_EQ(group.root().status()[0].missing, ranks({3}));
}

TEST(Missing, MoreThanANoticeCanNameAreCounted) {
  StarGroup group(30);
  std::vector<std::uint32_t> dead;
  for (std::uint32_t rank = 10; rank < 30; ++rank) {
    dead.push_back(rank);
  }
  group.set_script(without(dead));
  inject_sums(group);
  group.pass(named_within);
  const MissingRanks missing = group[1].status()[0].missing;
  EXPECT_EQ(missing.count, 20U);
  EXPECT_EQ(std::vector<std::uint32_t>(missing.named().begin(), missing.named().end()),
            (std::vector<std::uint32_t>{10, 11, 12, 13, 14, 15, 16, 17}));
}

TEST(Missing, TheMemberTimeOutEndsTheGroupAtEveryMember) {
  StarGroup group(5, with_member_timeout(5 * second));
  group.set_script(without({3}));
  inject_sums(group);
  group.pass(4'900 * ms);
  EXPECT_FALSE(group.root().failure());
  group.pass(2'200 * ms);
  const Failure expected{.reason = Failure::Reason::members_missing, .missing = ranks({3})};
  for (const std::uint32_t rank : {0U, 1U, 2U, 4U}) {
    EXPECT_EQ(group[rank].failure(), expected) << "rank " << rank;
    EXPECT_FALSE(group[rank].can_inject());
    EXPECT_FALSE(group[rank].take_completion());
    group[rank].leave(group.now());
    EXPECT_TRUE(group[rank].left()) << "no member is left to wait for";
  }
}

TEST(Missing, ADeadRootIsNamedByItsLeaves) {
  StarGroup group(3, with_member_timeout(5 * second));
  inject_sums(group);
  group.pass(0);
  for (const std::uint32_t rank : {1U, 2U}) {
    ASSERT_TRUE(group[rank].take_completion());
  }
  group.root().take_completion();
  group.set_script(without({0}));
  inject_sums(group);
  group.pass(4'900 * ms);
  EXPECT_FALSE(group[1].failure());
  group.pass(200 * ms);
  for (const std::uint32_t rank : {1U, 2U}) {
    EXPECT_EQ(group[rank].failure(),
              (Failure{.reason = Failure::Reason::members_missing, .missing = ranks({0})}));
  }
}

TEST(Missing, AGroupThatWaitsForNothingHasNobodyMissing) {
  StarGroup group(3, with_member_timeout(5 * second));
  inject_sums(group);
  group.pass(60 * second);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(group[rank].take_completion());
    EXPECT_FALSE(group[rank].failure());
  }
}

TEST(Missing, ALeafThatWasCutOffHearsOfTheEndLater) {
  StarGroup group(4, with_member_timeout(5 * second));
  group.set_script(without({2, 3}));
  inject_sums(group);
  group.pass(7 * second);
  ASSERT_TRUE(group.root().failure());
  EXPECT_EQ(group[2].failure()->missing, ranks({0})) << "it heard no member";
  StarGroup other(4, with_member_timeout(5 * second));
  other.set_script([&](std::uint32_t from, std::uint32_t to, const wire::ReductionFrame& frame) {
    const bool is_notice = frame.word == notice_word() && to == 2 && other.now().value < 7 * second;
    return from == 3 || to == 3 || is_notice ? 0 : 1;
  });
  inject_sums(other);
  other.pass(9 * second);
  ASSERT_TRUE(other[2].failure()) << "the root says it more than once";
  EXPECT_EQ(other[2].failure()->missing, ranks({3}));
}

TEST(Missing, WhatSomebodyOutsideSaysTheRootPassesOn) {
  StarGroup group(3);
  inject_sums(group);
  group.root().fail({.reason = Failure::Reason::ended, .missing = ranks({2})}, group.now());
  group.pass(0);
  EXPECT_EQ(group[1].failure()->reason, Failure::Reason::ended);
  EXPECT_EQ(group[1].failure()->missing, ranks({2}));
}

TEST(Missing, AnEndWhileLeavingIsAnAbandonedLeave) {
  StarGroup group(3);
  group.set_script(without({2}));
  group.root().leave(group.now());
  group[1].leave(group.now());
  group.pass(second);
  EXPECT_FALSE(group[1].left());
  group.root().fail({.reason = Failure::Reason::ended, .missing = ranks({2})}, group.now());
  group.pass(0);
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_TRUE(group[rank].left());
    EXPECT_TRUE(group[rank].abandoned());
  }
}

TEST(Missing, HostsOfTheCxiDialectHearNoRollCall) {
  StarGroup group(3, [](GroupParameters& p) { p.dialect = Dialect::cxi; });
  group.set_script(without({2}));
  inject_sums(group);
  group.pass(30 * second);
  EXPECT_EQ(group.root().statistics().roll_calls, 0U);
}

} // namespace missing_test
} // namespace tributary::collective::test
