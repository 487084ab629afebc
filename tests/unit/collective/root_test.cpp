// The root by itself, one rule of root.hpp after the other. Frames are made by hand.
#include "frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::collective::test {
namespace {

class RootTest : public testing::Test {
protected:
  static constexpr std::uint32_t size = 4;
  GroupParameters group = group_of(size, 0);
  TimeNs now{50 * ms};

  void contribute(Member& root, std::uint32_t rank, PieceNumber piece, SequenceNumber sequence,
                  std::uint64_t value) const {
    root.receive(contribution(group, rank, piece, sequence, int_sum(value)), now);
  }
  /// Runs piece `piece` to its end, each member contributing 1, and gives back the result frame.
  wire::ReductionFrame run_piece(Member& root, PieceNumber piece) const {
    root.inject(int_sum(1), now);
    const auto sequence = root.status()[piece % 8].sequence.value();
    drain(root);
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      contribute(root, rank, piece, sequence, 1);
    }
    EXPECT_TRUE(root.take_completion().has_value());
    const auto sent = drain(root);
    EXPECT_EQ(sent.size(), 1U);
    return sent.at(0);
  }
  /// Runs eight pieces, so that the next one is on reduction id 0 again.
  void run_round(Member& root) const {
    const PieceNumber first = root.next_piece();
    for (PieceNumber piece = first; piece < first + 8; ++piece) {
      run_piece(root, piece);
    }
  }
};

TEST_F(RootTest, FirstInjectArmsWithARetryThatCarriesNoResult) {
  Member root(group);
  root.inject(int_sum(1), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, retry_word(0));
  EXPECT_EQ(sent[0].payload, wire::Payload{});
  EXPECT_EQ(sent[0].dscp, wire::dscp_root);
  EXPECT_EQ(sent[0].source_nid, group.nid);
  EXPECT_EQ(sent[0].cookie, group.cookie);
  EXPECT_EQ(sent[0].destination, wire::port_mac(group.nid));
  EXPECT_EQ(root.statistics().armed, 1U);
  EXPECT_EQ(root.statistics().retried, 0U);
}

TEST_F(RootTest, CompletesWhenTheCountIsFullAndOpensTheNextSequenceWithTheResult) {
  Member root(group);
  root.inject(int_sum(10), now);
  drain(root);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    EXPECT_FALSE(root.take_completion().has_value());
    contribute(root, rank, 0, SequenceNumber{0}, rank);
  }
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 16U);
  EXPECT_EQ(done->count, size);
  EXPECT_EQ(done->rc, reduce::ResultCode::success);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, result_word(1, 0, size));
  EXPECT_EQ(sent[0].payload[0], 16U);
}

TEST_F(RootTest, CountsContributionsThatCameBeforeItsOwn) {
  Member root(group);
  run_round(root);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 8, SequenceNumber{1}, 100);
  }
  EXPECT_FALSE(root.take_completion().has_value());
  root.inject(int_sum(1), now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 301U);
}

TEST_F(RootTest, CombinesFramesOfManyContributions) {
  Member root(group);
  root.inject(int_sum(1), now);
  wire::ReductionFrame combined = contribution(group, 1, 0, SequenceNumber{0}, int_sum(60));
  combined.word.count = 3;
  for (const std::uint32_t rank : {2U, 3U}) {
    combined.signature += signature_of_piece(signature_base(group.cookie, rank), 0);
  }
  combined.signature &= wire::signature_mask;
  root.receive(combined, now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 61U);
  EXPECT_EQ(root.statistics().full, 1U);
  EXPECT_EQ(root.statistics().reduction_frames, 1U);
}

TEST_F(RootTest, StatisticsTellFullFromPartialFromUnreduced) {
  Member root(group);
  run_piece(root, 0);
  EXPECT_EQ(root.statistics().unreduced, 1U);
  EXPECT_EQ(root.statistics().reduction_frames, 3U);
  root.inject(int_sum(1), now);
  wire::ReductionFrame pair = contribution(group, 1, 1, SequenceNumber{0}, int_sum(2));
  pair.word.count = 2;
  pair.signature = (pair.signature + signature_of_piece(signature_base(group.cookie, 2), 1)) &
                   wire::signature_mask;
  root.receive(pair, now);
  contribute(root, 3, 1, SequenceNumber{0}, 1);
  EXPECT_EQ(root.statistics().partial, 1U);
  EXPECT_EQ(root.statistics().full, 0U);
  EXPECT_EQ(root.statistics().reduction_frames, 5U);
}

TEST_F(RootTest, IgnoresContributionsToAnotherSequence) {
  Member root(group);
  root.inject(int_sum(1), now);
  contribute(root, 1, 0, SequenceNumber{1}, 1);
  contribute(root, 1, 0, SequenceNumber{1021}, 1);
  EXPECT_EQ(root.statistics().stale, 2U);
  EXPECT_EQ(root.status()[0].count, 1U);
}

TEST_F(RootTest, BeforeTheFirstArmNothingCounts) {
  Member root(group);
  contribute(root, 1, 0, SequenceNumber{0}, 1);
  EXPECT_EQ(root.statistics().stale, 1U);
}

TEST_F(RootTest, RetryCarriesTheLastResultAndKeepsOnlyItsOwnOperand) {
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

TEST_F(RootTest, RetryIntervalDoublesUpToThirtyTwoTimesTheFirst) {
  Member root(group);
  root.inject(int_sum(1), now);
  for (const std::uint64_t factor : {1U, 2U, 4U, 8U, 16U, 32U, 32U, 32U}) {
    EXPECT_EQ(elapsed_ns(root.next_deadline(), now), factor * group.retry_ns);
    root.poll(TimeNs{root.next_deadline().value - 1});
    EXPECT_EQ(drain(root).size(), factor == 1 ? 1U : 0U) << "polled too early";
    now = root.next_deadline();
    root.poll(now);
    EXPECT_EQ(drain(root).size(), 1U);
  }
  EXPECT_EQ(root.status()[0].retries, 8U);
}

TEST_F(RootTest, ArmsAgainAfterHalfTheCollectiveTimeoutToTheNanosecond) {
  Member root(group);
  run_round(root);
  const TimeNs armed_at = now;
  now = armed_at + (group.collective_timeout_ns / 2 - 1);
  root.inject(int_sum(1), now);
  EXPECT_TRUE(drain(root).empty());
  now = armed_at + group.collective_timeout_ns / 2;
  root.inject(int_sum(1), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].reduction, ReductionId{1});
  EXPECT_EQ(sent[0].word, retry_word(2, 0, size));
}

TEST_F(RootTest, WhatCameInBeforeAnArmAtInjectIsVoid) {
  Member root(group);
  run_round(root);
  contribute(root, 1, 8, SequenceNumber{1}, 1);
  now = now + group.collective_timeout_ns;
  root.inject(int_sum(1), now);
  EXPECT_EQ(root.status()[0].count, 1U);
  EXPECT_EQ(root.status()[0].sequence, SequenceNumber{2});
}

TEST_F(RootTest, DisarmedRootSendsTheSameFramesWithoutArm) {
  group.armed = false;
  Member root(group);
  root.inject(int_sum(1), now);
  wire::ReductionWord retry = retry_word(0);
  retry.arm = false;
  EXPECT_EQ(drain(root).at(0).word, retry);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 0, SequenceNumber{0}, 1);
  }
  wire::ReductionWord result = result_word(1, 0, size);
  result.arm = false;
  EXPECT_EQ(drain(root).at(0).word, result);
}

TEST_F(RootTest, DuplicateInsteadOfAMissingContributionIsRefused) {
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

TEST_F(RootTest, ContributionMeantForAnotherPieceIsRefused) {
  Member root(group);
  root.inject(int_sum(1), now);
  contribute(root, 1, 0, SequenceNumber{0}, 1);
  contribute(root, 2, 0, SequenceNumber{0}, 1);
  contribute(root, 3, 8, SequenceNumber{0}, 1); // signed for the next piece of this id
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_EQ(root.statistics().double_counted, 1U);
}

TEST_F(RootTest, MoreContributionsThanMembersAreRefused) {
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

TEST_F(RootTest, WithoutCheckingTheCountAloneDecides) {
  group.check_contributions = false;
  Member root(group);
  root.inject(int_sum(1), now);
  for (const std::uint32_t rank : {1U, 1U, 2U}) {
    contribute(root, rank, 0, SequenceNumber{0}, 10);
  }
  EXPECT_EQ(root.take_completion()->payload[0], 31U);
  EXPECT_EQ(root.statistics().double_counted, 0U);
}

TEST_F(RootTest, CountsThatAreNeverRightDoNotKeepTheTreeBusy) {
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
  EXPECT_LE(root.next_deadline(), now + group.retry_ns) << "but the retry timer goes on";
}

wire::ReductionFrame request(const GroupParameters& group, std::uint32_t rank,
                             SequenceNumber wanted) {
  wire::ReductionFrame f = contribution(group, rank, 0, wanted, Operand{});
  f.word.count = 0;
  f.word.pad = wire::pad_retry;
  f.signature = 0;
  return f;
}

TEST_F(RootTest, IdleRootAnswersARequestWithTheLastResultUnderANewSequence) {
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

TEST_F(RootTest, RequestWhileTheNextPieceRunsIsARetryOfThatPiece) {
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

TEST_F(RootTest, RequestForAnythingButTheLastResultIsNotAnswered) {
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

TEST_F(RootTest, RequestsOfManyLeavesAreAnsweredOncePerRetryInterval) {
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

TEST_F(RootTest, SequencesWrapAfter1021) {
  group.first_sequence = SequenceNumber{1020};
  Member root(group);
  EXPECT_EQ(run_piece(root, 0).word, result_word(1021, 1020, size));
  for (PieceNumber piece = 1; piece < 8; ++piece) {
    run_piece(root, piece);
  }
  EXPECT_EQ(run_piece(root, 8).word, result_word(0, 1021, size));
}

TEST_F(RootTest, ANewSequenceIsNeverTheOneOfTheLastResult) {
  Member root(group);
  run_round(root); // id 0 has the result of sequence 0 and is at sequence 1
  root.inject(int_sum(1), now);
  std::vector<bool> seen(usable_sequences);
  for (int i = 0; i < 2100; ++i) {
    now = root.next_deadline();
    root.poll(now);
    const auto sent = drain(root);
    ASSERT_EQ(sent.size(), 1U);
    ASSERT_NE(sent[0].word.seqno, SequenceNumber{0});
    ASSERT_LT(sent[0].word.seqno.value(), usable_sequences);
    ASSERT_EQ(sent[0].word.resno, SequenceNumber{0});
    seen[sent[0].word.seqno.value()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 1021) << "all others were used";
}

TEST_F(RootTest, ForeignFramesAreCountedAndIgnored) {
  Member root(group);
  root.inject(int_sum(1), now);
  const auto good = contribution(group, 1, 0, SequenceNumber{0}, int_sum(1));
  auto frame = good;
  frame.cookie.value ^= 1;
  root.receive(frame, now);
  frame = good;
  frame.vni.value ^= 1;
  root.receive(frame, now);
  frame = good;
  frame.tree.value ^= 1;
  root.receive(frame, now);
  EXPECT_EQ(root.statistics().foreign, 3U);
  frame = good;
  frame.source_nid = group.nid; // its own frame, looped back
  root.receive(frame, now);
  frame = good;
  frame.word.arm = true; // travels down
  root.receive(frame, now);
  EXPECT_EQ(root.statistics().misdirected, 2U);
  frame = good;
  frame.word.op = 0x3F; // reserved
  root.receive(frame, now);
  frame = good;
  frame.word.rc = 9; // never on the wire
  root.receive(frame, now);
  root.receive(std::vector<std::byte>(60), now);
  EXPECT_EQ(root.statistics().malformed, 3U);
  EXPECT_EQ(root.status()[0].count, 1U);
  EXPECT_EQ(root.statistics().frames_received, 8U);
}

TEST_F(RootTest, NegativeExponentOfAReproducibleSumIsSigned) {
  group.size = 2;
  Member root(group);
  // 0.5 is M = -1 with limb 3 = 2^39; two of them are 2^40 there.
  const Operand half = operand_of(reduce::Opcode::flt_repsum, {0, 0, 0, 0x8000000000}, -1);
  root.inject(half, now);
  root.receive(contribution(group, 1, 0, SequenceNumber{0}, half), now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->m, -1);
  EXPECT_EQ(done->payload, (wire::Payload{0, 0, 0, 0x10000000000}));
  drain(root);
}

TEST_F(RootTest, DifferentOperatorsCompleteWithBothSources) {
  Member root(group);
  root.inject(int_sum(1), now);
  contribute(root, 1, 0, SequenceNumber{0}, 1);
  root.receive(contribution(group, 2, 0, SequenceNumber{0},
                            operand_of(reduce::Opcode::bit_or, {1, 0, 0, 0})),
               now);
  contribute(root, 3, 0, SequenceNumber{0}, 1);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->rc, reduce::ResultCode::op_mismatch);
  EXPECT_EQ(done->payload[0] >> 32, wire::FabricAddress::unicast(nid_of_rank(0)).value);
  EXPECT_EQ(done->payload[0] & 0xFFFFFFFF, wire::FabricAddress::unicast(nid_of_rank(2)).value);
}

TEST_F(RootTest, StatusNamesTheOneMemberThatIsMissing) {
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

TEST_F(RootTest, EightPiecesMayBeInFlightAndTheNinthWaitsForTheFirst) {
  Member root(group);
  for (int piece = 0; piece < 8; ++piece) {
    ASSERT_TRUE(root.can_inject());
    root.inject(int_sum(1), now);
  }
  EXPECT_FALSE(root.can_inject());
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 3, SequenceNumber{0}, 1);
  }
  EXPECT_EQ(root.take_completion()->piece, 3U) << "out of order";
  EXPECT_FALSE(root.can_inject()) << "piece 8 goes under id 0, not under the free id 3";
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 0, SequenceNumber{0}, 1);
  }
  EXPECT_FALSE(root.can_inject()) << "its completion was not taken";
  EXPECT_EQ(root.take_completion()->piece, 0U);
  EXPECT_TRUE(root.can_inject());
}

TEST_F(RootTest, FullOutboxLosesFramesAndCountsThem) {
  Member root(group);
  root.inject(int_sum(1), now);
  for (std::size_t i = 0; i < Outbox::capacity + 5; ++i) {
    now = root.next_deadline();
    root.poll(now);
  }
  EXPECT_EQ(root.outbox().size(), Outbox::capacity);
  EXPECT_EQ(root.statistics().outbox_full, 6U);
  EXPECT_EQ(drain(root).size(), Outbox::capacity);
}

TEST_F(RootTest, AGroupOfOneCompletesWithoutAFrame) {
  group = group_of(1, 0);
  Member root(group);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(root.can_inject());
    root.inject(int_sum(i), now);
    EXPECT_EQ(root.take_completion()->payload[0], i);
  }
  EXPECT_TRUE(root.outbox().empty());
  EXPECT_EQ(root.next_deadline(), never);
  root.leave(now);
  EXPECT_TRUE(root.left());
}

TEST_F(RootTest, CxiDialectSendsAPreArmAndNoResultWithARetry) {
  group.dialect = Dialect::cxi;
  Member root(group);
  root.inject(int_sum(1), now);
  auto sent = drain(root);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].word, retry_word(1022));
  EXPECT_EQ(sent[1].word, retry_word(0));
  EXPECT_EQ(sent[0].cookie, Cookie{0x677D0ABC});
  // Signatures are not looked at: public hosts send zero.
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    auto frame = contribution(group, rank, 0, SequenceNumber{0}, int_sum(1));
    frame.signature = 0;
    root.receive(frame, now);
  }
  EXPECT_EQ(root.take_completion()->payload[0], 4U);
  EXPECT_EQ(drain(root).at(0).word, result_word(1, 0, size));
  root.inject(int_sum(1), now);
  EXPECT_EQ(drain(root).at(1).cookie, Cookie{0x677D2ABC}) << "reduction id 1 is in the cookie";
}

} // namespace
} // namespace tributary::collective::test
