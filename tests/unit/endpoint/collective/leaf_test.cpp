// A leaf alone, one rule of leaf.hpp after the other. The root's frames are made by hand.
#include "frames.hpp"

#include <gtest/gtest.h>

namespace tributary::collective::test {
namespace leaf_test {

class LeafTest : public testing::Test {
protected:
  static constexpr std::uint32_t size = 4;
  GroupParameters group = group_of(size, 2);
  TimeNs now{50 * ms};

  void hear(Member& leaf, const wire::ReductionWord& word, std::uint64_t value = 0,
            ReductionId id = ReductionId{0}) const {
    leaf.receive(from_root(group, id, word, {value, 0, 0, 0}), now);
  }
  /// Completes pieces 0 to 7; every id then has received sequence 1.
  void run_round(Member& leaf) const {
    for (std::uint8_t id = 0; id < 8; ++id) {
      leaf.inject(int_sum(1), now);
      hear(leaf, retry_word(0), 0, ReductionId{id});
      hear(leaf, result_word(1, 0, size), 4, ReductionId{id});
      ASSERT_TRUE(leaf.take_completion().has_value());
    }
    drain(leaf);
  }
};

TEST_F(LeafTest, WaitsForAnArmBeforeItsFirstContribution) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  EXPECT_TRUE(leaf.outbox().empty());
  EXPECT_EQ(leaf.status()[0].waiting, Waiting::for_arm);
  EXPECT_EQ(leaf.next_deadline(), never);
  hear(leaf, retry_word(17));
  const auto sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, contribution(group, 2, 0, SequenceNumber{17}, int_sum(5)).word);
  EXPECT_EQ(sent[0].payload[0], 5U);
  EXPECT_EQ(sent[0].rank, 2U);
  EXPECT_EQ(sent[0].dscp, wire::dscp_leaf);
  EXPECT_EQ(sent[0].signature, signature_of_piece(signature_base(group.cookie, 2), 0));
  EXPECT_EQ(leaf.status()[0].waiting, Waiting::for_result);
  EXPECT_EQ(leaf.status()[0].since, now);
}

TEST_F(LeafTest, RemembersAnArmItHeardWhileIdle) {
  Member leaf(group);
  hear(leaf, retry_word(3));
  EXPECT_TRUE(leaf.outbox().empty());
  leaf.inject(int_sum(5), now);
  EXPECT_EQ(drain(leaf).at(0).word.resno, SequenceNumber{3});
}

TEST_F(LeafTest, CompletesWithTheResultOfItsSequence) {
  Member leaf(group);
  hear(leaf, retry_word(0));
  leaf.inject(int_sum(5), now);
  hear(leaf, result_word(1, 0, size), 99);
  const auto done = leaf.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 99U);
  EXPECT_EQ(done->piece, 0U);
  EXPECT_EQ(done->count, size);
  EXPECT_EQ(leaf.next_deadline(), never);
}

TEST_F(LeafTest, NothingButTheResultOfItsSequenceCompletesIt) {
  Member leaf(group);
  hear(leaf, retry_word(10));
  leaf.inject(int_sum(5), now);
  drain(leaf);
  hear(leaf, result_word(11, 9, size), 99); // of another sequence
  hear(leaf, result_word(12, 10, 0), 99);   // counts nothing
  EXPECT_FALSE(leaf.take_completion().has_value());
  EXPECT_TRUE(drain(leaf).empty()) << "and without the retry bit nothing is sent again";
}

TEST_F(LeafTest, ResultThatCameTwiceCompletesOnce) {
  Member leaf(group);
  hear(leaf, retry_word(0));
  leaf.inject(int_sum(5), now);
  hear(leaf, result_word(1, 0, size), 99);
  hear(leaf, result_word(1, 0, size), 99);
  EXPECT_TRUE(leaf.take_completion().has_value());
  EXPECT_FALSE(leaf.take_completion().has_value());
  EXPECT_EQ(leaf.statistics().reordered, 1U);
}

TEST_F(LeafTest, NextPieceOfAnIdIsContributedAtOnceUnderTheSequenceTheResultOpened) {
  Member leaf(group);
  run_round(leaf);
  leaf.inject(int_sum(8), now);
  const auto sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word.resno, SequenceNumber{1});
  EXPECT_EQ(sent[0].payload[0], 8U);
}

TEST_F(LeafTest, WaitsForAnArmWhenTheLastOneIsOlderThanTheCollectiveTimeout) {
  Member leaf(group);
  run_round(leaf);
  now = now + group.collective_timeout_ns;
  leaf.inject(int_sum(8), now);
  EXPECT_TRUE(leaf.outbox().empty());
  hear(leaf, retry_word(2, 0, size), 4);
  EXPECT_EQ(drain(leaf).at(0).word.resno, SequenceNumber{2});
}

TEST_F(LeafTest, RetryMakesItContributeTheSamePieceAgain) {
  Member leaf(group);
  run_round(leaf);
  leaf.inject(int_sum(8), now);
  drain(leaf);
  hear(leaf, retry_word(2, 0, size), 4); // the result of piece 0, which it has
  const auto sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word.resno, SequenceNumber{2});
  EXPECT_EQ(sent[0].payload[0], 8U);
  EXPECT_EQ(sent[0].signature, signature_of_piece(signature_base(group.cookie, 2), 8));
  EXPECT_EQ(leaf.statistics().resent, 1U);
}

TEST_F(LeafTest, RetryWithTheResultItMissesCompletesItAndResendsNothing) {
  Member leaf(group);
  run_round(leaf);
  leaf.inject(int_sum(8), now); // contributed under 1; the others are done and at piece 16
  drain(leaf);
  hear(leaf, retry_word(3, 1, size), 44);
  EXPECT_TRUE(leaf.outbox().empty()) << "piece 8 must not be counted into piece 16";
  EXPECT_EQ(leaf.take_completion()->payload[0], 44U);
  EXPECT_EQ(leaf.statistics().recovered, 1U);
  for (PieceNumber piece = 9; piece < 16; ++piece) {
    const ReductionId id = reduction_of(piece);
    leaf.inject(int_sum(piece), now);
    hear(leaf, result_word(2, 1, size), 4, id);
    leaf.take_completion();
  }
  drain(leaf);
  leaf.inject(int_sum(16), now);
  const auto sent = drain(leaf);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word.resno, SequenceNumber{3}) << "the sequence that the retry opened";
  EXPECT_EQ(sent[0].payload[0], 16U);
}

TEST_F(LeafTest, ResultOfAnEarlierRetryOfTheSamePieceCounts) {
  Member leaf(group);
  hear(leaf, retry_word(5));
  leaf.inject(int_sum(5), now);
  hear(leaf, retry_word(6));
  hear(leaf, result_word(7, 5, size), 1);
  EXPECT_TRUE(leaf.take_completion().has_value());
}

TEST_F(LeafTest, PreArmIsDiscarded) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  hear(leaf, retry_word(1022));
  EXPECT_TRUE(leaf.outbox().empty());
  EXPECT_EQ(leaf.statistics().pre_arms, 1U);
}

TEST_F(LeafTest, OvertakenAndRepeatedArmsAreIgnored) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  hear(leaf, retry_word(5));
  hear(leaf, retry_word(5));
  hear(leaf, retry_word(4));
  EXPECT_EQ(drain(leaf).size(), 1U);
  EXPECT_EQ(leaf.statistics().reordered, 2U);
}

TEST_F(LeafTest, RepeatedArmIsIgnoredHoweverLateItComes) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  hear(leaf, retry_word(5));
  now = now + 10 * group.result_timeout_ns;
  hear(leaf, retry_word(5));
  EXPECT_EQ(drain(leaf).size(), 1U) << "a second contribution to one sequence would count twice";
}

TEST_F(LeafTest, FollowsAnOlderLookingSequenceAfterASilenceOfTheRoot) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  hear(leaf, retry_word(5));
  drain(leaf);
  // Cut off while the root retried 600 times: 605 - 5 is beyond the half.
  now = now + (group.result_timeout_ns - 1);
  hear(leaf, retry_word(605));
  EXPECT_TRUE(drain(leaf).empty());
  now = now + 1;
  hear(leaf, retry_word(606));
  EXPECT_EQ(drain(leaf).at(0).word.resno, SequenceNumber{606});
}

TEST_F(LeafTest, NeverContributesToTheSequenceOfTheResultItCompleted) {
  Member leaf(group);
  run_round(leaf); // completed sequence 0
  leaf.inject(int_sum(8), now);
  drain(leaf);
  now = now + 10 * group.result_timeout_ns;
  hear(leaf, retry_word(0)); // an arm that was in flight for a very long time
  EXPECT_TRUE(drain(leaf).empty());
  hear(leaf, retry_word(2, 0, size), 4);
  EXPECT_EQ(drain(leaf).size(), 1U);
  EXPECT_FALSE(leaf.take_completion().has_value()) << "the result of piece 0 is not piece 8's";
}

TEST_F(LeafTest, FollowsTheSequenceAcrossTheWrap) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  for (const std::uint32_t seqno : {1020U, 1021U, 0U, 1U}) {
    hear(leaf, retry_word(seqno));
    EXPECT_EQ(drain(leaf).at(0).word.resno, SequenceNumber{seqno});
  }
}

TEST_F(LeafTest, RequestsTheResultWithGrowingIntervals) {
  Member leaf(group);
  hear(leaf, retry_word(9));
  leaf.inject(int_sum(5), now);
  drain(leaf);
  for (const std::uint64_t wait : {128 * ms, 256 * ms, 512 * ms, 1024 * ms, 1600 * ms, 1600 * ms}) {
    EXPECT_EQ(elapsed_ns(leaf.next_deadline(), now), wait);
    now = leaf.next_deadline();
    leaf.poll(now);
    const auto sent = drain(leaf);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].word.count, 0U);
    EXPECT_TRUE(sent[0].word.retry());
    EXPECT_FALSE(sent[0].word.arm);
    EXPECT_EQ(sent[0].word.op, 0U);
    EXPECT_EQ(sent[0].word.seqno, SequenceNumber{9});
    EXPECT_EQ(sent[0].word.resno, SequenceNumber{9});
    EXPECT_EQ(sent[0].signature, 0U) << "it adds nothing";
  }
  EXPECT_EQ(leaf.statistics().requests_sent, 6U);
}

TEST_F(LeafTest, HearingTheRootAskPutsOffTheRequest) {
  Member leaf(group);
  hear(leaf, retry_word(9));
  leaf.inject(int_sum(5), now);
  now = now + 100 * ms;
  hear(leaf, retry_word(10));
  EXPECT_EQ(elapsed_ns(leaf.next_deadline(), now), 128 * ms);
}

TEST_F(LeafTest, FramesThatAreNotTheRootsAreIgnored) {
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  const auto good = from_root(group, ReductionId{0}, retry_word(0));
  auto frame = good;
  frame.source_nid = nid_of_rank(3);
  leaf.receive(frame, now);
  frame = good;
  frame.cookie.value ^= 0x80;
  leaf.receive(frame, now);
  EXPECT_EQ(leaf.statistics().foreign, 2U);
  frame = good;
  frame.source_nid = group.nid;
  leaf.receive(frame, now);
  EXPECT_EQ(leaf.statistics().misdirected, 1U);
  EXPECT_TRUE(leaf.outbox().empty());
  leaf.receive(good, now);
  EXPECT_EQ(leaf.outbox().size(), 1U);
}

TEST_F(LeafTest, WithoutAKnownRootAnySourceIsBelieved) {
  group.root_nid.reset();
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  auto frame = from_root(group, ReductionId{0}, retry_word(0));
  frame.source_nid = Nid{0x777};
  leaf.receive(frame, now);
  EXPECT_EQ(leaf.outbox().size(), 1U);
}

TEST_F(LeafTest, CxiDialectSignsNothingAndRequestsNothing) {
  group.dialect = Dialect::cxi;
  Member leaf(group);
  leaf.inject(int_sum(5), now);
  hear(leaf, retry_word(0));
  EXPECT_EQ(drain(leaf).at(0).signature, 0U);
  EXPECT_EQ(leaf.next_deadline(), never);
  // A retry that reports our sequence as completed, but without the result: contributing again
  // would count this piece into the next one.
  hear(leaf, retry_word(2, 0, 0));
  EXPECT_TRUE(drain(leaf).empty());
}

} // namespace leaf_test
} // namespace tributary::collective::test
