// The root alone, one rule of root.hpp after the other. Frames are made by hand.
#include "root_fixture.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::collective::test {
namespace root_test {

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
  EXPECT_EQ(done->rc, wire::ResultCode::success);
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
  const Operand half = operand_of(wire::Opcode::flt_repsum, {0, 0, 0, 0x8000000000}, -1);
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
  root.receive(
      contribution(group, 2, 0, SequenceNumber{0}, operand_of(wire::Opcode::bit_or, {1, 0, 0, 0})),
      now);
  contribute(root, 3, 0, SequenceNumber{0}, 1);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->rc, wire::ResultCode::op_mismatch);
  EXPECT_EQ(done->payload[0] >> 32, wire::FabricAddress::unicast(nid_of_rank(0)).value);
  EXPECT_EQ(done->payload[0] & 0xFFFFFFFF, wire::FabricAddress::unicast(nid_of_rank(2)).value);
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
  // An arm and 69 retries, and a notice after each of the 32 roll calls that had their time.
  EXPECT_EQ(root.statistics().outbox_full, 70U + 32U - Outbox::capacity);
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
  // Signatures are not checked: public hosts send zero.
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

} // namespace root_test
} // namespace tributary::collective::test
