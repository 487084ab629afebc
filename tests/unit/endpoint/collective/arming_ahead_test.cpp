// Which ids a root arms ahead, and the gain of a group.
#include "wide_group.hpp"

#include "endpoint/collective/arming_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tributary::collective::test {
namespace arming_ahead_test {

constexpr std::uint64_t arm_time = 10'000'000'000;

TEST(ArmingAhead, DoublesWhileAGroupGoesOnAtOnce) {
  ArmingAhead ahead;
  std::vector<PieceNumber> counts;
  PieceNumber piece = 0;
  for (int arm = 0; arm < 9; ++arm) {
    counts.push_back(ahead.next(piece, TimeNs{1'000 * piece}, arm_time));
    piece += 1 + counts.back();
  }
  EXPECT_EQ(counts, (std::vector<PieceNumber>{0, 1, 3, 7, 15, 31, 31, 31, 31}));
  EXPECT_EQ(piece, 9U + 1 + 3 + 7 + 15 + 4 * 31);
}

TEST(ArmingAhead, ArmsNoMoreThanASlowGroupUses) {
  ArmingAhead ahead;
  TimeNs now{0};
  for (PieceNumber piece = 0; piece < 5; ++piece, now = now + arm_time) {
    EXPECT_EQ(ahead.next(piece, now, arm_time), 0U) << "one piece in the time of an arm";
  }
  EXPECT_EQ(ahead.next(24, now, arm_time), 10U) << "twenty of them";
  EXPECT_EQ(ahead.next(35, now + (arm_time - 1), arm_time), 21U);
  EXPECT_EQ(ahead.next(36, now + 3 * arm_time, arm_time), 0U);
}

class RootThatArmsAhead : public testing::Test {
protected:
  static constexpr std::uint32_t size = 4;
  RootThatArmsAhead() { group.slots = 64; }

  void complete(Member& root, PieceNumber piece) const {
    const ReductionId id = reduction_of(piece, group.slots);
    const SequenceNumber sequence = root.status()[id.value].sequence.value();
    for (std::uint32_t rank = 1; rank < size; ++rank) {
      wire::ReductionFrame frame = contribution(group, rank, piece, sequence, int_sum(1));
      frame.reduction = id;
      frame.cookie = group.cookie_of(id);
      root.receive(frame, now);
    }
    ASSERT_TRUE(root.take_completion().has_value()) << "piece " << piece;
  }
  /// Ids that its frames arm, but for results.
  static std::vector<unsigned> drain_arms(Member& root) {
    std::vector<unsigned> ids;
    for (; !root.outbox().empty(); root.outbox().pop()) {
      const auto bytes = root.outbox().front();
      const wire::ReductionFrame frame = decoded(bytes);
      if (frame.word.retry()) {
        EXPECT_EQ(frame.word, retry_word(0)) << "no result, and the first sequence";
        ids.push_back(wire::dfa_of(bytes.data() + wire::ethernet_header_bytes).slot().value);
      }
    }
    return ids;
  }

  GroupParameters group = group_of(size, 0);
  TimeNs now{50 * ms};
};

TEST_F(RootThatArmsAhead, EachIdOnceAndInTurn) {
  Member root(group);
  std::vector<unsigned> all;
  std::vector<PieceNumber> pieces;
  for (PieceNumber piece = 0; piece < 2 * group.slots; ++piece) {
    root.inject(int_sum(1), now);
    const auto ids = drain_arms(root);
    if (!ids.empty()) {
      pieces.push_back(piece);
    }
    all.insert(all.end(), ids.begin(), ids.end());
    complete(root, piece);
    drain(root);
    now = now + 1000;
  }
  EXPECT_EQ(pieces, (std::vector<PieceNumber>{0, 1, 3, 7, 15, 31, 63}));
  ASSERT_EQ(all.size(), group.slots);
  for (unsigned id = 0; id < group.slots; ++id) {
    EXPECT_EQ(all[id], id);
  }
  EXPECT_EQ(root.statistics().armed, group.slots);
  EXPECT_EQ(root.statistics().retried, 0U);
}

TEST_F(RootThatArmsAhead, NothingUntilEverybodyHasAnsweredThePieceBefore) {
  Member root(group);
  for (PieceNumber piece = 0; piece < 5; ++piece) {
    root.inject(int_sum(1), now);
    EXPECT_EQ(drain_arms(root), std::vector<unsigned>{static_cast<unsigned>(piece)});
  }
  for (PieceNumber piece = 0; piece < 5; ++piece) {
    complete(root, piece);
  }
  drain(root);
  root.inject(int_sum(1), now);
  EXPECT_EQ(drain_arms(root), (std::vector<unsigned>{5, 6}));
}

TEST_F(RootThatArmsAhead, CountsWhatComesInBeforeItsOwn) {
  Member root(group);
  root.inject(int_sum(1), now);
  complete(root, 0);
  root.inject(int_sum(1), now);
  complete(root, 1);
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    wire::ReductionFrame frame = contribution(group, rank, 2, SequenceNumber{0}, int_sum(5));
    root.receive(frame, now);
  }
  root.inject(int_sum(1), now);
  const auto done = root.take_completion();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->payload[0], 16U);
}

TEST_F(RootThatArmsAhead, NothingInAGroupOfEightReductionsInFlight) {
  group.slots = 8;
  Member root(group);
  for (PieceNumber piece = 0; piece < 8; ++piece) {
    root.inject(int_sum(1), now);
    EXPECT_EQ(drain_arms(root), std::vector<unsigned>{static_cast<unsigned>(piece)});
    complete(root, piece);
    drain(root);
  }
}

TEST_F(RootThatArmsAhead, AgainOnTreesToWhichItHasMoved) {
  Member root(group);
  for (PieceNumber piece = 0; piece < group.slots; ++piece) {
    root.inject(int_sum(1), now);
    complete(root, piece);
    drain(root);
  }
  GroupParameters moved = group;
  moved.tree = TreeNumber{0xDEF};
  root.move_to(moved, now);
  EXPECT_TRUE(drain(root).empty());
  root.inject(int_sum(1), now);
  EXPECT_EQ(drain(root).size(), 2U) << "the last piece that had to be armed was the one before";
}

TEST_F(RootThatArmsAhead, NothingIntoAnOutboxThatIsHalfFull) {
  Member root(group);
  for (PieceNumber piece = 0; piece < 31; ++piece) {
    root.inject(int_sum(1), now);
    complete(root, piece);
    drain(root);
  }
  const std::size_t all = root.outbox().room();
  while (root.outbox().room() > all / 2 + 4) {
    ASSERT_NE(root.outbox().add(), nullptr);
  }
  root.inject(int_sum(1), now);
  EXPECT_EQ(root.outbox().room(), all / 2);
}

/// Time of `pieces` reductions of one frame each, one after the other.
std::uint64_t time_of(std::size_t pieces, const WideGroup::Wire& wire) {
  WideGroup group(4, wire);
  const TimeNs began = group.now();
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    std::array<std::uint64_t, 4> values{1, 2, 3, 4};
    std::deque<VectorOperation> operations;
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      auto* const memory = reinterpret_cast<std::byte*>(&values[rank]);
      operations.emplace_back(VectorTask{.op = wire::Opcode::int_sum,
                                         .type = ElementType::int64,
                                         .in = memory,
                                         .out = memory,
                                         .elements = 1},
                              group.payload(rank));
      group.start(rank, operations.back());
    }
    EXPECT_TRUE(group.run(60'000'000'000, [&] {
      return std::ranges::all_of(operations, [](const auto& each) { return each.finished(); });
    }));
    EXPECT_EQ(values, (std::array<std::uint64_t, 4>{10, 10, 10, 10})) << "piece " << piece;
  }
  return elapsed_ns(group.now(), began);
}

TEST(ArmingAheadOfAGroup, SavesItsFirstPiecesARoundTrip) {
  const WideGroup::Wire wire{.latency_ns = 100'000};
  const std::uint64_t first = time_of(1, wire);
  const std::uint64_t all = time_of(128, wire);
  EXPECT_LT(all, 128 * 2 * wire.latency_ns + 10 * first);
}

TEST(ArmingAheadOfAGroup, WhatIsLostOfItIsAskedFor) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    time_of(150, {.latency_ns = 20'000,
                  .jitter_ns = 30'000,
                  .loss = 0.05,
                  .duplicates = 0.05,
                  .seed = seed});
  }
}

} // namespace arming_ahead_test
} // namespace tributary::collective::test
