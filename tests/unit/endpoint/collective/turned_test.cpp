// Members of a group whose tree is turned round. Frames are made by hand.
#include "root_fixture.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace tributary::collective::test {
namespace {

class TurnedTest : public RootTest {
protected:
  TurnedTest() { group.turned = true; }

  /// What the switch sends to all when everybody has contributed `each`.
  [[nodiscard]] wire::ReductionFrame turned(PieceNumber piece, std::uint32_t resno,
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
  /// Sequence 0, of id 0.
  void complete_first(Member& root) const {
    root.inject(int_sum(5), now);
    drain(root);
    root.receive(turned(0, 0, 5), now);
    ASSERT_TRUE(root.take_completion().has_value());
    for (PieceNumber piece = 1; piece < 8; ++piece) {
      root.inject(int_sum(5), now);
      root.receive(turned(piece, 0, 5), now);
      ASSERT_TRUE(root.take_completion().has_value());
    }
    drain(root);
  }
};

TEST_F(TurnedTest, TheRootContributesBehindItsArm) {
  Member root(group);
  root.inject(int_sum(5), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].word, retry_word(0));
  EXPECT_EQ(sent[1].word, own_word(0));
  EXPECT_EQ(sent[1].payload[0], 5U);
  EXPECT_EQ(sent[1].signature, signature_of_piece(signature_base(group.cookie, 0), 0));
}

TEST_F(TurnedTest, AResultCompletesTheRootsPieceAndOpensTheNextSequence) {
  Member root(group);
  root.inject(int_sum(5), now);
  drain(root);
  root.receive(turned(0, 0, 5), now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 20U);
  EXPECT_EQ(done->count, size);
  EXPECT_EQ(done->frames, 1U);
  EXPECT_TRUE(drain(root).empty()) << "the switch has told the others";
  EXPECT_EQ(root.status()[0].sequence, SequenceNumber{1});
  EXPECT_EQ(root.statistics().turned, 1U);
}

TEST_F(TurnedTest, TheNextPieceNeedsNoArm) {
  Member root(group);
  complete_first(root);
  root.inject(int_sum(6), now);
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, own_word(1));
}

TEST_F(TurnedTest, AskingSkipsTheSequenceThatTheSwitchOpensByItself) {
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
  root.receive(turned(0, 0, 5, 3), now);
  ASSERT_TRUE(root.take_completion().has_value());
  EXPECT_EQ(root.status()[0].sequence, SequenceNumber{3});
}

TEST_F(TurnedTest, ASumThatIsNotEverybodysIsRefusedAndAskedForAgain) {
  for (const bool wrong_count : {false, true}) {
    Member root(group);
    root.inject(int_sum(5), now);
    drain(root);
    wire::ReductionFrame wrong = turned(0, 0, 5);
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
    root.receive(wrong, now); // once more, late
    EXPECT_TRUE(drain(root).empty());
    root.receive(turned(0, 2, 5), now);
    EXPECT_TRUE(root.take_completion().has_value());
  }
}

TEST_F(TurnedTest, ARefusedSumIsNotAskedForWithoutEnd) {
  Member root(group);
  root.inject(int_sum(5), now);
  std::uint32_t sequence = 0;
  std::size_t asked = 0;
  for (int i = 0; i < 40; ++i) {
    wire::ReductionFrame wrong = turned(0, sequence, 5);
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

TEST_F(TurnedTest, AReplayHasTheNextPieceContributedAgain) {
  Member root(group);
  complete_first(root);
  root.inject(int_sum(6), now);
  drain(root);
  root.receive(turned(0, 0, 5, 4), now); // an old arm was answered
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].word, own_word(4));
  root.receive(turned(0, 0, 5), now); // and the first one came twice
  EXPECT_TRUE(drain(root).empty());
  EXPECT_EQ(root.statistics().stale, 1U);
  root.receive(turned(8, 4, 6), now);
  EXPECT_TRUE(root.take_completion().has_value());
}

TEST_F(TurnedTest, AResultOfARootOfBeforeIsReleased) {
  Member root(group);
  root.inject(int_sum(5), now);
  drain(root);
  root.receive(turned(8, 500, 9, 1), now);
  EXPECT_FALSE(root.take_completion().has_value());
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].word, release_word(500));
  EXPECT_EQ(sent[1].word, retry_word(2));
}

TEST_F(TurnedTest, ContributionsThatReachTheRootAreAddedThere) {
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

TEST_F(TurnedTest, OtherRootsTakeTheirOwnFramesForMisdirected) {
  group.turned = false;
  Member root(group);
  root.inject(int_sum(5), now);
  root.receive(turned(0, 0, 5), now);
  EXPECT_FALSE(root.take_completion().has_value());
  EXPECT_EQ(root.statistics().misdirected, 1U);
}

TEST_F(TurnedTest, ALeafBelievesTheSumOrTheRootItself) {
  GroupParameters p = group_of(size, 2);
  p.turned = true;
  Member leaf(p);
  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{0}, retry_word(0)), now);
  ASSERT_EQ(drain(leaf).size(), 1U);
  wire::ReductionFrame wrong = turned(0, 0, 5);
  wrong.signature += 1;
  leaf.receive(wrong, now);
  EXPECT_FALSE(leaf.take_completion().has_value());
  EXPECT_EQ(leaf.statistics().refused, 1U);
  EXPECT_TRUE(drain(leaf).empty()) << "the root asks";
  leaf.receive(from_root(group, ReductionId{0}, retry_word(2)), now);
  ASSERT_EQ(drain(leaf).size(), 1U);
  leaf.receive(turned(0, 2, 5), now);
  EXPECT_TRUE(leaf.take_completion().has_value());

  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{1}, retry_word(0)), now);
  leaf.receive(from_root(group, ReductionId{1}, result_word(1, 0, size)), now);
  EXPECT_TRUE(leaf.take_completion().has_value()) << "signature 0: the root has added itself";

  leaf.inject(int_sum(5), now);
  leaf.receive(from_root(group, ReductionId{2}, retry_word(0)), now);
  leaf.receive(from_root(group, ReductionId{2}, result_word(1, 0, size - 1)), now);
  EXPECT_FALSE(leaf.take_completion().has_value()) << "not of everybody";
}

TEST_F(TurnedTest, LeavingIsOverWhenTheSumOfAllWhoLeaveComesBack) {
  Member root(group);
  complete_first(root);
  root.leave(now);
  drain(root);
  wire::ReductionFrame last = turned(8, 1, 0);
  last.word.op = static_cast<std::uint8_t>(wire::Opcode::barrier);
  root.receive(last, now);
  EXPECT_FALSE(root.left());
  const auto sent = drain(root);
  ASSERT_EQ(sent.size(), 1U) << "it says so like the others";
  EXPECT_EQ(sent[0].word.seqno, SequenceNumber{2});
  EXPECT_EQ(sent[0].word.count, 1U);
  wire::ReductionFrame all_left = turned(16, 2, 0);
  root.receive(all_left, now);
  EXPECT_TRUE(root.left());
  EXPECT_FALSE(root.abandoned());
  const auto release = drain(root);
  ASSERT_EQ(release.size(), 8U);
  EXPECT_FALSE(release[0].word.arm);
  EXPECT_EQ(release[0].word.resno, SequenceNumber{2}) << "or the switch would say it was missed";
}

TEST_F(TurnedTest, TwinsAndCxiAreNotTurnedRound) {
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
