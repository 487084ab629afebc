// How the root repairs losses and duplicates and answers requests, and what it knows of missing
// members.
#include "root_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::collective::test {
namespace root_repair_test {

using RootRepairTest = RootTest;

TEST_F(RootRepairTest, RetryCarriesTheLastResultAndKeepsOnlyItsOwnOperand) {
  Member root(group);
  run_round(root);
  root.inject(int_sum(7), now);
  contribute(root, 1, 8, SequenceNumber{1}, 1000);
  EXPECT_TRUE(drain(root).empty());
  EXPECT_EQ(root.next_deadline(), now + group.retry_ns);
  now = root.next_deadline();
  root.poll(now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, retry_word(2, 0, size));
  EXPECT_EQ(sent[0].payload[0], 4U);
  EXPECT_EQ(root.statistics().retried, 1U);
  // The contribution to the old sequence is void; three new ones are needed.
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    EXPECT_FALSE(root.take_completion().has_value());
    contribute(root, rank, 8, SequenceNumber{2}, 1);
  }
  EXPECT_EQ(root.take_completion()->payload[0], 10U);
}

TEST_F(RootRepairTest, RetryIntervalDoublesUpToThirtyTwoTimesTheFirst) {
  Member root(group);
  root.inject(int_sum(1), now);
  for (const std::uint64_t factor : {1U, 2U, 4U, 8U, 16U, 32U, 32U, 32U}) {
    EXPECT_EQ(elapsed_ns(root.next_deadline(), now), factor * group.retry_ns);
    root.poll(TimeNs{root.next_deadline().value - 1});
    EXPECT_EQ(drain(root).size(), factor == 1 ? 1U : 0U) << "polled too early";
    now = root.next_deadline();
    root.poll(now);
    EXPECT_EQ(without_notices(drain(root)).size(), 1U);
  }
  EXPECT_EQ(root.status()[0].retries, 8U);
}

TEST_F(RootRepairTest, DuplicateInsteadOfAMissingContributionIsRefused) {
  Member root(group);
  root.inject(int_sum(1), now);
  drain(root);
  contribute(root, 1, 0, SequenceNumber{0}, 10);
  contribute(root, 1, 0, SequenceNumber{0}, 10);
  contribute(root, 2, 0, SequenceNumber{0}, 10);
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_EQ(root.statistics().double_counted, 1U);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U) << "the root asks again at once";
  EXPECT_EQ(sent[0].word, retry_word(1));
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 0, SequenceNumber{1}, 10);
  }
  EXPECT_EQ(root.take_completion()->payload[0], 31U);
}

TEST_F(RootRepairTest, ContributionMeantForAnotherPieceIsRefused) {
  Member root(group);
  root.inject(int_sum(1), now);
  contribute(root, 1, 0, SequenceNumber{0}, 1);
  contribute(root, 2, 0, SequenceNumber{0}, 1);
  contribute(root, 3, 8, SequenceNumber{0}, 1); // signed for the next piece of this id
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_EQ(root.statistics().double_counted, 1U);
}

TEST_F(RootRepairTest, MoreContributionsThanMembersAreRefused) {
  for (const bool check : {true, false}) {
    group.check_contributions = check;
    Member root(group);
    run_round(root);
    for (const std::uint32_t rank : {1U, 2U, 3U, 3U}) {
      contribute(root, rank, 8, SequenceNumber{1}, 1);
    }
    root.inject(int_sum(1), now);
    EXPECT_FALSE(root.take_completion().has_value());
    EXPECT_EQ(root.statistics().double_counted, 1U);
  }
}

TEST_F(RootRepairTest, WithoutCheckingTheCountAloneDecides) {
  group.check_contributions = false;
  Member root(group);
  root.inject(int_sum(1), now);
  for (const std::uint32_t rank : {1U, 1U, 2U}) {
    contribute(root, rank, 0, SequenceNumber{0}, 10);
  }
  EXPECT_EQ(root.take_completion()->payload[0], 31U);
  EXPECT_EQ(root.statistics().double_counted, 0U);
}

TEST_F(RootRepairTest, CountsThatAreNeverRightDoNotKeepTheTreeBusy) {
  // A leaf that signs nothing, as if set up with check_contributions off.
  Member root(group);
  root.inject(int_sum(1), now);
  for (std::uint32_t round = 0; round < 100; ++round) {
    const auto sequence = root.status()[0].sequence.value();
    for (const std::uint32_t rank : {1U, 2U, 3U}) {
      auto frame = contribution(group, rank, 0, sequence, int_sum(1));
      frame.signature = rank == 3 ? 0 : frame.signature;
      root.receive(frame, now);
    }
    drain(root);
  }
  EXPECT_EQ(root.statistics().retried, immediate_retries);
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_GT(root.status()[0].refused, immediate_retries);
  EXPECT_LE(root.next_deadline(), now + group.retry_ns) << "but the retry timer continues";
}

wire::ReductionFrame request(const GroupParameters& group, std::uint32_t rank,
                             SequenceNumber wanted) {
  wire::ReductionFrame f = contribution(group, rank, 0, wanted, Operand{});
  f.word.count = 0;
  f.word.pad = wire::pad_retry;
  f.signature = 0;
  return f;
}

TEST_F(RootRepairTest, IdleRootAnswersARequestWithTheLastResultUnderANewSequence) {
  Member root(group);
  run_round(root);
  now = now + group.retry_ns;
  root.receive(request(group, 2, SequenceNumber{0}), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, retry_word(2, 0, size));
  EXPECT_EQ(sent[0].payload[0], 4U);
  EXPECT_EQ(root.statistics().replayed, 1U);
  EXPECT_EQ(root.next_deadline(), never) << "a replay starts no timer";
}

TEST_F(RootRepairTest, RequestWhileTheNextPieceRunsIsARetryOfThatPiece) {
  Member root(group);
  run_round(root);
  root.inject(int_sum(5), now);
  contribute(root, 1, 8, SequenceNumber{1}, 100);
  now = now + group.retry_ns;
  root.receive(request(group, 2, SequenceNumber{0}), now);
  EXPECT_EQ(drain(root).at(0).word, retry_word(2, 0, size));
  EXPECT_EQ(root.status()[0].count, 1U) << "only its own operand is left";
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 8, SequenceNumber{2}, 100);
  }
  EXPECT_EQ(root.take_completion()->payload[0], 305U);
}

TEST_F(RootRepairTest, RequestForAnythingButTheLastResultIsNotAnswered) {
  Member root(group);
  root.inject(int_sum(1), now);
  drain(root);
  now = now + (group.retry_ns - 1);
  root.receive(request(group, 1, SequenceNumber{0}), now);
  root.receive(request(group, 1, SequenceNumber{1023}), now);
  EXPECT_TRUE(drain(root).empty());
  EXPECT_EQ(root.statistics().requests_received, 2U);
  EXPECT_EQ(root.statistics().replayed, 0U);
}

TEST_F(RootRepairTest, RequestsOfManyLeavesAreAnsweredOncePerRetryInterval) {
  Member root(group);
  run_round(root);
  now = now + group.retry_ns;
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    root.receive(request(group, rank, SequenceNumber{0}), now);
  }
  EXPECT_EQ(drain(root).size(), 1U);
  now = now + group.retry_ns;
  root.receive(request(group, 3, SequenceNumber{0}), now);
  EXPECT_EQ(drain(root).size(), 1U);
}

TEST_F(RootRepairTest, SequencesWrapAfter1021) {
  group.first_sequence = SequenceNumber{1020};
  Member root(group);
  EXPECT_EQ(run_piece(root, 0).word, result_word(1021, 1020, size));
  for (PieceNumber piece = 1; piece < 8; ++piece) {
    run_piece(root, piece);
  }
  EXPECT_EQ(run_piece(root, 8).word, result_word(0, 1021, size));
}

TEST_F(RootRepairTest, ANewSequenceIsNeverTheOneOfTheLastResult) {
  Member root(group);
  run_round(root); // id 0 has the result of sequence 0 and is at sequence 1
  root.inject(int_sum(1), now);
  std::vector<bool> seen(usable_sequences);
  for (int i = 0; i < 2100; ++i) {
    now = root.next_deadline();
    root.poll(now);
    const auto sent = without_notices(drain(root));
    ASSERT_EQ(sent.size(), 1U);
    ASSERT_NE(sent[0].word.seqno, SequenceNumber{0});
    ASSERT_LT(sent[0].word.seqno.value(), usable_sequences);
    ASSERT_EQ(sent[0].word.resno, SequenceNumber{0});
    seen[sent[0].word.seqno.value()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 1021) << "all others were used";
}

TEST_F(RootRepairTest, StatusNamesTheOneMemberThatIsMissing) {
  Member root(group);
  root.inject(int_sum(1), now);
  contribute(root, 1, 0, SequenceNumber{0}, 1);
  Status status = root.status();
  EXPECT_EQ(status[0].waiting, Waiting::for_contributions);
  EXPECT_EQ(status[0].count, 2U);
  EXPECT_EQ(status[0].size, size);
  EXPECT_EQ(status[0].since, now);
  EXPECT_FALSE(status[0].missing_rank.has_value()) << "two are missing";
  contribute(root, 3, 0, SequenceNumber{0}, 1);
  EXPECT_EQ(root.status()[0].missing_rank, 2U);
  contribute(root, 2, 0, SequenceNumber{0}, 1);
  EXPECT_EQ(root.status()[0].waiting, Waiting::for_owner);
  root.take_completion();
  EXPECT_EQ(root.status()[0].waiting, Waiting::idle);
}

} // namespace root_repair_test
} // namespace tributary::collective::test
