// Members of a group with in-switch results. Frames are made by hand.
#include "root_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::collective::test {
namespace {

class InSwitchTest : public RootTest {
protected:
  InSwitchTest() { group.in_switch = true; }

  /// The switch's result when all have contributed `each`.
  [[nodiscard]] wire::ReductionFrame in_switch(PieceNumber piece, std::uint32_t resno,
                                               std::uint64_t each,
                                               std::optional<std::uint32_t> replay = {}) const {
    wire::ReductionFrame f =
        from_root(group, reduction_of(piece),
                  replay ? retry_word(*replay, resno, size)
                         : result_word((resno + 1) % usable_sequences, resno, size),
                  {size * each, 0, 0, 0});
    f.signature = SignatureSum(group.cookie, size).expected(piece);
    return f;
  }
  [[nodiscard]] static wire::ReductionWord own_word(std::uint32_t seqno) {
    return {.seqno = SequenceNumber{seqno},
            .op = static_cast<std::uint8_t>(wire::Opcode::int_sum),
            .count = 1,
            .resno = SequenceNumber{seqno}};
  }
  [[nodiscard]] static wire::ReductionWord release_word(std::uint32_t resno) {
    return {.seqno = pre_arm_sequence,
            .arm = true,
            .resno = SequenceNumber{resno},
            .pad = wire::pad_retry};
  }
  /// A leaf's answer to a root that lacks the result of `resno`.
  [[nodiscard]] static wire::ReductionWord miss_word(std::uint32_t question, std::uint32_t resno) {
    return {
        .seqno = SequenceNumber{question}, .resno = SequenceNumber{resno}, .pad = wire::pad_retry};
  }
  [[nodiscard]] wire::ReductionFrame miss_report(std::uint32_t rank, std::uint32_t question,
                                                 std::uint32_t resno) const {
    wire::ReductionFrame f = contribution(group, rank, 0, SequenceNumber{question}, {});
    f.word = miss_word(question, resno);
    return f;
  }
  [[nodiscard]] GroupParameters leaf_group() const {
    GroupParameters p = group_of(size, 2);
    p.in_switch = true;
    p.tree = group.tree;
    p.cookie = group.cookie;
    return p;
  }
  /// Sequence 0, of id 0.
  void complete_first(Member& root) const {
    root.inject(int_sum(5), now);
    drain(root);
    root.receive(in_switch(0, 0, 5), now);
    ASSERT_TRUE(root.take_completion().has_value());
    for (PieceNumber piece = 1; piece < 8; ++piece) {
      root.inject(int_sum(5), now);
      root.receive(in_switch(piece, 0, 5), now);
      ASSERT_TRUE(root.take_completion().has_value());
    }
    drain(root);
  }
};

TEST_F(InSwitchTest, TheRootContributesBehindItsArm) {
  Member root(group);
  root.inject(int_sum(5), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].word, retry_word(0));
  EXPECT_EQ(sent[1].word, own_word(0));
  EXPECT_EQ(sent[1].payload[0], 5U);
  EXPECT_EQ(sent[1].signature, signature_of_piece(signature_base(group.cookie, 0), 0));
}

TEST_F(InSwitchTest, AResultCompletesTheRootsPieceAndOpensTheNextSequence) {
  Member root(group);
  root.inject(int_sum(5), now);
  drain(root);
  root.receive(in_switch(0, 0, 5), now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 20U);
  EXPECT_EQ(done->count, size);
  EXPECT_EQ(done->frames, 1U);
  EXPECT_TRUE(drain(root).empty()) << "the switch has told the others";
  EXPECT_EQ(root.status()[0].sequence, SequenceNumber{1});
  EXPECT_EQ(root.statistics().in_switch, 1U);
}

TEST_F(InSwitchTest, TheNextPieceNeedsNoArm) {
  Member root(group);
  complete_first(root);
  root.inject(int_sum(6), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, own_word(1));
}

TEST_F(InSwitchTest, AskingSkipsTheSequenceThatTheSwitchOpensByItself) {
  Member root(group);
  root.inject(int_sum(5), now);
  drain(root);
  now = now + group.retry_ns;
  root.poll(now);
  auto sent = drain(root);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].word, retry_word(2));
  EXPECT_EQ(sent[1].word, own_word(2));
  // The first one was complete after all; the switch answers the arm with it.
  root.receive(in_switch(0, 0, 5, 3), now);
  ASSERT_TRUE(root.take_completion().has_value());
  EXPECT_EQ(root.status()[0].sequence, SequenceNumber{3});
}

TEST_F(InSwitchTest, ASumThatIsNotEverybodysIsRefusedAndAskedForAgain) {
  for (const bool wrong_count : {false, true}) {
    Member root(group);
    root.inject(int_sum(5), now);
    drain(root);
    wire::ReductionFrame wrong = in_switch(0, 0, 5);
    wrong.signature += wrong_count ? 0 : 1;
    wrong.word.count += wrong_count ? 1 : 0;
    root.receive(wrong, now);
    EXPECT_FALSE(root.take_completion().has_value());
    const auto sent = drain(root);
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(sent[0].word, release_word(0));
    EXPECT_EQ(sent[1].word, retry_word(2));
    EXPECT_EQ(sent[2].word, own_word(2));
    EXPECT_EQ(root.statistics().refused, 1U);
    root.receive(wrong, now); // again, late
    EXPECT_TRUE(drain(root).empty());
    root.receive(in_switch(0, 2, 5), now);
    EXPECT_TRUE(root.take_completion().has_value());
  }
}

TEST_F(InSwitchTest, ARefusedSumIsNotAskedForWithoutEnd) {
  Member root(group);
  root.inject(int_sum(5), now);
  std::uint32_t sequence = 0;
  std::size_t asked = 0;
  for (int i = 0; i < 40; ++i) {
    wire::ReductionFrame wrong = in_switch(0, sequence, 5);
    wrong.signature ^= 1;
    drain(root);
    root.receive(wrong, now);
    for (const wire::ReductionFrame& f : drain(root)) {
      if (f.word.arm && f.word.seqno != pre_arm_sequence) {
        ++asked;
        sequence = f.word.seqno.value();
      }
    }
  }
  EXPECT_EQ(asked, immediate_retries);
}

TEST_F(InSwitchTest, AReplayHasTheNextPieceContributedAgain) {
  Member root(group);
  complete_first(root);
  root.inject(int_sum(6), now);
  drain(root);
  root.receive(in_switch(0, 0, 5, 4), now); // an old arm was answered
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, own_word(4));
  root.receive(in_switch(0, 0, 5), now); // and the first one arrived twice
  EXPECT_TRUE(drain(root).empty());
  EXPECT_EQ(root.statistics().stale, 1U);
  root.receive(in_switch(8, 4, 6), now);
  EXPECT_TRUE(root.take_completion().has_value());
}

TEST_F(InSwitchTest, AResultOfARootOfBeforeIsReleased) {
  Member root(group);
  root.inject(int_sum(5), now);
  drain(root);
  root.receive(in_switch(8, 500, 9, 1), now);
  EXPECT_FALSE(root.take_completion().has_value());
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].word, release_word(500));
  EXPECT_EQ(sent[1].word, retry_word(2));
}

TEST_F(InSwitchTest, ContributionsThatReachTheRootAreAddedThere) {
  Member root(group);
  root.inject(int_sum(10), now);
  drain(root);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    contribute(root, rank, 0, SequenceNumber{0}, rank);
  }
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 16U);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word.resno, SequenceNumber{0});
  EXPECT_FALSE(sent[0].word.retry());
}

TEST_F(InSwitchTest, OtherRootsTakeTheirOwnFramesForMisdirected) {
  group.in_switch = false;
  Member root(group);
  root.inject(int_sum(5), now);
  root.receive(in_switch(0, 0, 5), now);
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_EQ(root.statistics().misdirected, 1U);
}

TEST_F(InSwitchTest, ALeafBelievesTheSumOrTheRootItself) {
  GroupParameters p = group_of(size, 2);
  p.in_switch = true;
  Member leaf(p);
  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{0}, retry_word(0)), now);
  ASSERT_EQ(drain(leaf).size(), 1U);
  wire::ReductionFrame wrong = in_switch(0, 0, 5);
  wrong.signature += 1;
  leaf.receive(wrong, now);
  EXPECT_FALSE(leaf.take_completion().has_value());
  EXPECT_EQ(leaf.statistics().refused, 1U);
  EXPECT_TRUE(drain(leaf).empty()) << "the root asks";
  leaf.receive(from_root(group, ReductionId{0}, retry_word(2)), now);
  ASSERT_EQ(drain(leaf).size(), 1U);
  leaf.receive(in_switch(0, 2, 5), now);
  EXPECT_TRUE(leaf.take_completion().has_value());

  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{1}, retry_word(0)), now);
  leaf.receive(from_root(group, ReductionId{1}, result_word(1, 0, size)), now);
  EXPECT_TRUE(leaf.take_completion().has_value()) << "signature 0: the root has added itself";

  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{2}, retry_word(0)), now);
  leaf.receive(from_root(group, ReductionId{2}, result_word(1, 0, size - 1)), now);
  EXPECT_FALSE(leaf.take_completion().has_value()) << "not of all members";
}

TEST_F(InSwitchTest, LeavingIsTwoBarriersAndTheSecondOneMayStayOpen) {
  for (const bool complete : {true, false}) {
    Member root(group);
    complete_first(root);
    root.leave(now);
    drain(root);
    wire::ReductionFrame last = in_switch(8, 1, 0);
    last.word.op = static_cast<std::uint8_t>(wire::Opcode::barrier);
    root.receive(last, now);
    EXPECT_FALSE(root.left());
    const auto sent = drain(root);
    ASSERT_EQ(sent.size(), 1U) << "the second one, on the next id, which is armed";
    EXPECT_EQ(sent[0].reduction, ReductionId{1});
    EXPECT_EQ(sent[0].word.seqno, SequenceNumber{1});
    EXPECT_EQ(sent[0].word.count, 1U);
    if (complete) {
      wire::ReductionFrame all_left = in_switch(9, 1, 0);
      all_left.word.op = last.word.op;
      root.receive(all_left, now);
    } else {
      root.poll(now + group.leave_grace_ns);
    }
    EXPECT_TRUE(root.left());
    EXPECT_FALSE(root.abandoned());
    EXPECT_EQ(std::ranges::count_if(drain(root), [](const auto& f) { return !f.word.arm; }), 8)
        << "every id is released";
  }
}

TEST_F(InSwitchTest, ALeafThatLeavesStaysUntilAllKnowThatTheyMay) {
  for (const bool complete : {true, false}) {
    Member leaf(leaf_group());
    leaf.leave(now);
    leaf.receive(from_root(group, ReductionId{0}, retry_word(0)), now);
    ASSERT_EQ(drain(leaf).size(), 1U);
    leaf.receive(in_switch(0, 0, 0), now);
    EXPECT_FALSE(leaf.left()) << "the root may have missed that";
    leaf.receive(from_root(group, ReductionId{0}, retry_word(2)), now);
    const auto report = drain(leaf);
    ASSERT_EQ(report.size(), 1U);
    EXPECT_EQ(report[0].word, miss_word(2, 0));
    leaf.receive(from_root(group, ReductionId{1}, retry_word(0)), now);
    ASSERT_EQ(drain(leaf).size(), 1U);
    if (complete) {
      leaf.receive(in_switch(1, 0, 0), now);
    } else {
      leaf.poll(now + group.leave_grace_ns);
    }
    EXPECT_TRUE(leaf.left());
    EXPECT_FALSE(leaf.abandoned());
  }
}

TEST_F(InSwitchTest, ALeafReportsAResultThatTheRootHasMissedAndDoesNotSendIt) {
  Member leaf(leaf_group());
  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{0}, retry_word(0)), now);
  drain(leaf);
  leaf.receive(in_switch(0, 0, 5), now);
  ASSERT_TRUE(leaf.take_completion().has_value());
  for (PieceNumber piece = 1; piece < 8; ++piece) {
    leaf.inject(int_sum(5), now);
  }
  leaf.receive(from_root(group, ReductionId{0}, retry_word(2)), now);
  const auto report = drain(leaf);
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0].word, miss_word(2, 0));
  EXPECT_EQ(report[0].payload, wire::Payload{});
  EXPECT_EQ(report[0].signature, 0U);
  EXPECT_EQ(leaf.statistics().lost_results, 1U);
  leaf.receive(from_root(group, ReductionId{0}, retry_word(2)), now);
  EXPECT_TRUE(drain(leaf).empty()) << "the same question twice";
}

TEST_F(InSwitchTest, ALeafHoldsItsNextPieceBackFromARootWithoutTheResult) {
  for (const bool had_begun : {true, false}) {
    Member leaf(leaf_group());
    leaf.inject(int_sum(5), now);
    leaf.receive(from_root(group, ReductionId{0}, retry_word(0)), now);
    leaf.receive(in_switch(0, 0, 5), now);
    ASSERT_TRUE(leaf.take_completion().has_value());
    for (PieceNumber piece = 1; piece < 8; ++piece) {
      leaf.inject(int_sum(5), now);
      leaf.receive(from_root(group, reduction_of(piece), retry_word(0)), now);
      leaf.receive(in_switch(piece, 0, 5), now);
      ASSERT_TRUE(leaf.take_completion().has_value());
    }
    drain(leaf);
    if (had_begun) {
      leaf.inject(int_sum(6), now);
      ASSERT_EQ(drain(leaf).size(), 1U) << "to the sequence that the result has opened";
    }
    leaf.receive(from_root(group, ReductionId{0}, retry_word(2)), now);
    ASSERT_EQ(drain(leaf).size(), 1U) << "what the root has missed";
    if (!had_begun) {
      leaf.inject(int_sum(6), now);
      EXPECT_TRUE(drain(leaf).empty());
    }
    leaf.receive(from_root(group, ReductionId{0}, retry_word(4, 0, size)), now);
    const auto sent = drain(leaf);
    ASSERT_EQ(sent.size(), 1U) << "now it has it";
    EXPECT_EQ(sent[0].word, own_word(4));
  }
}

TEST_F(InSwitchTest, MoreLeavesReportAtEachFurtherQuestion) {
  constexpr std::uint32_t many = 40;
  std::vector<std::size_t> reporting;
  std::vector<std::unique_ptr<Member>> leaves;
  const GroupParameters root = group_of(many, 0);
  for (std::uint32_t rank = 1; rank < many; ++rank) {
    GroupParameters p = group_of(many, rank);
    p.in_switch = true;
    leaves.push_back(std::make_unique<Member>(p));
    Member& leaf = *leaves.back();
    leaf.inject(int_sum(5), now);
    leaf.receive(from_root(root, ReductionId{0}, retry_word(0)), now);
    wire::ReductionFrame result =
        from_root(root, ReductionId{0}, result_word(1, 0, many), {5 * many, 0, 0, 0});
    result.signature = SignatureSum(root.cookie, many).expected(0);
    leaf.receive(result, now);
    drain(leaf);
  }
  for (std::uint32_t question = 0; question < 4; ++question) {
    std::size_t reports = 0;
    for (const auto& leaf : leaves) {
      leaf->receive(from_root(root, ReductionId{0}, retry_word(2 + 2 * question)), now);
      reports += drain(*leaf).size();
    }
    reporting.push_back(reports);
  }
  EXPECT_EQ(reporting, (std::vector<std::size_t>{3, 15, 39, 39}))
      << "one of each would be the root";
}

TEST_F(InSwitchTest, ARootTakesNoResultFromALeaf) {
  // Whatever the frame claims: every member can compute all signatures.
  Member root(group);
  root.inject(int_sum(5), now);
  drain(root);
  wire::ReductionFrame forged = contribution(group, 2, 0, SequenceNumber{0}, int_sum(777));
  forged.signature = SignatureSum(group.cookie, size).expected(0);
  forged.word.count = 0;
  root.receive(forged, now);
  forged.word.pad = wire::pad_retry;
  root.receive(forged, now);
  forged.word.arm = true;
  forged.word.count = size;
  root.receive(forged, now);
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_FALSE(root.failure().has_value());
  EXPECT_TRUE(drain(root).empty());
  root.receive(in_switch(0, 0, 5), now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 20U);
}

TEST_F(InSwitchTest, AResultThatOnlyLeavesHaveEndsTheGroup) {
  Member root(group);
  Member leaf(leaf_group());
  root.inject(int_sum(5), now);
  drain(root);
  // Not of its question; of a sequence that it has not contributed to.
  root.receive(miss_report(2, 1, 0), now);
  root.receive(miss_report(2, 0, 7), now);
  EXPECT_EQ(root.statistics().lost_results, 0U);
  now = now + group.retry_ns;
  root.poll(now); // asks with sequence 2
  root.receive(miss_report(2, 2, 0), now);
  root.receive(miss_report(3, 2, 0), now);
  EXPECT_FALSE(root.failure().has_value()) << "the result may still be on its way";
  now = now + 2 * group.retry_ns;
  root.poll(now); // and with 4
  drain(root);
  root.receive(miss_report(3, 4, 0), now);
  const Failure expected{
      .reason = Failure::Reason::result_lost, .one = {.rank = 0}, .other = {.rank = 3}};
  ASSERT_TRUE(root.failure().has_value());
  EXPECT_EQ(*root.failure(), expected);
  EXPECT_EQ(root.statistics().lost_results, 3U);
  for (const wire::ReductionFrame& notice : drain(root)) {
    leaf.receive(notice, now);
  }
  ASSERT_TRUE(leaf.failure().has_value());
  EXPECT_EQ(*leaf.failure(), expected);
  EXPECT_FALSE(root.take_completion().has_value());
}

TEST_F(InSwitchTest, AResultThatComesAfterAllDoesNotEndTheGroup) {
  Member root(group);
  root.inject(int_sum(5), now);
  now = now + group.retry_ns;
  root.poll(now);
  root.receive(miss_report(2, 2, 0), now);
  root.receive(in_switch(0, 0, 5), now);
  EXPECT_TRUE(root.take_completion().has_value());
  now = now + 2 * group.retry_ns;
  root.receive(miss_report(2, 2, 0), now);
  EXPECT_FALSE(root.failure().has_value());
}

TEST_F(InSwitchTest, ARequestUnderALaterSequenceThanTheResultsIsAnswered) {
  Member root(group);
  root.inject(int_sum(5), now);
  now = now + group.retry_ns;
  root.poll(now); // asks with sequence 2
  root.receive(in_switch(0, 0, 5), now);
  ASSERT_TRUE(root.take_completion().has_value());
  drain(root);
  now = now + group.retry_ns;
  wire::ReductionFrame request = contribution(group, 2, 0, SequenceNumber{2}, int_sum(0));
  request.word = {.seqno = SequenceNumber{2}, .resno = SequenceNumber{2}, .pad = wire::pad_retry};
  root.receive(request, now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word.resno, SequenceNumber{0});
}

TEST_F(InSwitchTest, AMissIsReportedAfterTheGroupHasMovedToOtherTrees) {
  Member root(group);
  Member leaf(leaf_group());
  root.inject(int_sum(5), now);
  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{0}, retry_word(0)), now);
  leaf.receive(in_switch(0, 0, 5), now);
  ASSERT_TRUE(leaf.take_completion().has_value());
  drain(root);
  drain(leaf);
  group.tree = TreeNumber{77};
  group.cookie = Cookie{group.cookie.value + 1};
  root.move_to(group, now);
  leaf.move_to(leaf_group(), now);
  for (int question = 0; question < 2; ++question) {
    for (const wire::ReductionFrame& f : drain(root)) {
      if (f.word.arm) {
        leaf.receive(f, now);
      }
    }
    for (const wire::ReductionFrame& f : drain(leaf)) {
      root.receive(f, now);
    }
    now = now + 2 * group.retry_ns;
    root.poll(now);
  }
  ASSERT_TRUE(root.failure().has_value());
  EXPECT_EQ(root.failure()->reason, Failure::Reason::result_lost);
}

TEST_F(InSwitchTest, TwinsAndCxiAreRefused) {
  group.twin = TreeNumber{1};
  EXPECT_NE(fault_of(group), "");
  group.twin.reset();
  group.dialect = Dialect::cxi;
  EXPECT_NE(fault_of(group), "");
  group.dialect = Dialect::native;
  EXPECT_EQ(fault_of(group), "");
}

} // namespace
} // namespace tributary::collective::test
