// Members that call one operation with different counts get an error, before any has a result.
#include "endpoint/collective/vector_pipeline.hpp"
#include "star_group.hpp"

#include <gtest/gtest.h>

namespace tributary::collective::test {
namespace unequal_test {

void send_marks(GroupParameters& p) { p.sends_marks = true; }

/// A group whose members each sum up a vector of a length of their own.
class Calls {
public:
  explicit Calls(const std::vector<std::size_t>& counts,
                 const StarGroup::Change& change = send_marks)
      : group(static_cast<std::uint32_t>(counts.size()), change) {
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      pipelines.push_back(std::make_unique<VectorPipeline>(group[rank]));
    }
    for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
      call(rank, counts[rank]);
    }
  }
  VectorOperation& call(std::uint32_t rank, std::size_t count) {
    auto& buffer = buffers.emplace_back(std::make_unique<std::vector<std::uint64_t>>(count, 1));
    operations.push_back(std::make_unique<VectorOperation>(
        VectorTask{.op = wire::Opcode::int_sum,
                   .type = ElementType::int64,
                   .in = reinterpret_cast<const std::byte*>(buffer->data()),
                   .out = reinterpret_cast<std::byte*>(buffer->data()),
                   .elements = count}));
    pipelines[rank]->start(*operations.back(), group.now());
    return *operations.back();
  }
  void pass(std::uint64_t ns) {
    for (int round = 0; round < 200; ++round) {
      group.pass(ns / 200);
      for (auto& pipeline : pipelines) {
        pipeline->pump(group.now());
      }
    }
  }
  StarGroup group;
  std::vector<std::unique_ptr<VectorPipeline>> pipelines;
  std::vector<std::unique_ptr<std::vector<std::uint64_t>>> buffers;
  std::vector<std::unique_ptr<VectorOperation>> operations; ///< in order of their calls
};

TEST(Unequal, BothSidesAreToldWhoCalledWithHowMany) {
  for (const auto& counts :
       {std::vector<std::size_t>{100, 100, 40, 100}, {40, 100, 100, 100}, {3, 3, 4, 3}}) {
    Calls calls(counts);
    calls.pass(5 * ms);
    const std::size_t other = counts[0] == counts[1] ? 2 : 1;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const auto& failure = calls.group[rank].failure();
      ASSERT_TRUE(failure) << "rank " << rank;
      EXPECT_EQ(failure->reason, Failure::Reason::unequal_counts);
      EXPECT_EQ(failure->one, (Call{.rank = 0, .elements = counts[0]}));
      EXPECT_EQ(failure->other.elements, counts[other]);
      EXPECT_FALSE(calls.operations[rank]->finished()) << "nobody has a result";
    }
  }
}

TEST(Unequal, DifferencesDoNotCancelOut) {
  Calls calls({100, 99, 101});
  calls.pass(5 * ms);
  ASSERT_TRUE(calls.group.root().failure());
  EXPECT_EQ(calls.group.root().failure()->reason, Failure::Reason::unequal_counts);
}

TEST(Unequal, EqualCountsStayWhatTheyWere) {
  Calls calls({100, 100, 100});
  calls.pass(5 * ms);
  for (const auto& operation : calls.operations) {
    EXPECT_TRUE(operation->finished());
  }
  EXPECT_EQ(*calls.buffers[1], std::vector<std::uint64_t>(100, 3));
  EXPECT_EQ(calls.group.root().statistics().retried, 0U);
}

TEST(Unequal, ACallWithoutElementsShowsAtTheNextOne) {
  Calls calls({5, 0});
  calls.call(1, 5);
  calls.pass(5 * ms);
  for (const std::uint32_t rank : {0U, 1U}) {
    ASSERT_TRUE(calls.group[rank].failure());
    EXPECT_EQ(calls.group[rank].failure()->reason, Failure::Reason::unequal_counts);
  }
}

TEST(Unequal, OneThatLeavesWhileOthersCallIsNamed) {
  for (const std::uint32_t leaver : {0U, 1U}) {
    StarGroup group(2, send_marks);
    VectorPipeline pipeline(group[1 - leaver]);
    VectorOperation barrier{VectorTask{}};
    group[leaver].leave(group.now());
    pipeline.start(barrier, group.now());
    group.pass(5 * ms);
    const auto& failure = group[1 - leaver].failure();
    ASSERT_TRUE(failure) << "rank " << leaver << " leaves";
    EXPECT_TRUE(leaver == 0 ? failure->one.leaving : failure->other.leaving);
    EXPECT_TRUE(group[leaver].left());
    EXPECT_TRUE(group[leaver].abandoned());
  }
}

TEST(Unequal, LeavesThatTellNoCallAreBelieved) {
  StarGroup group(4, send_marks);
  VectorPipeline root(group.root());
  VectorPipeline first(group[1]);
  std::vector<std::uint64_t> in(4, 1);
  const VectorTask task{.op = wire::Opcode::int_sum,
                        .type = ElementType::int64,
                        .in = reinterpret_cast<const std::byte*>(in.data()),
                        .out = nullptr,
                        .elements = 4};
  VectorOperation at_root(task);
  VectorOperation at_first(task);
  root.start(at_root, group.now());
  first.start(at_first, group.now());
  for (const std::uint32_t rank : {2U, 3U}) { // driven without a pipeline: no mark
    group[rank].inject(operand_of(wire::Opcode::int_sum, {1, 1, 1, 1}), group.now());
  }
  group.pass(ms);
  root.pump(group.now());
  EXPECT_TRUE(at_root.finished());
  EXPECT_EQ(group.root().statistics().double_counted, 0U);
}

TEST(Unequal, ARootThatUnderstandsNoMarksIsSentNone) {
  Calls calls({100, 40}, [](GroupParameters& p) { p.sends_marks = p.rank != 0; });
  calls.pass(5 * ms);
  EXPECT_TRUE(calls.operations[1]->finished()) << "as ever without marks";
  EXPECT_EQ(calls.group.root().statistics().double_counted, 0U);
}

TEST(Unequal, DuplicatesAreStillRepaired) {
  Calls calls({100, 100, 100});
  int doubled = 0;
  calls.group.set_script([&](std::uint32_t from, std::uint32_t, const wire::ReductionFrame&) {
    return from == 1 && doubled++ < 6 ? 2 : 1;
  });
  calls.pass(50 * ms);
  for (const auto& operation : calls.operations) {
    EXPECT_TRUE(operation->finished());
  }
  EXPECT_FALSE(calls.group.root().failure());
}

TEST(CallMark, IsABijectionThatNoOtherNumberPassesFor) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const CallShape shape{.elements = i * 7919, .ordinal = static_cast<std::uint8_t>(i % 256)};
    EXPECT_EQ(shape_of(mark_of(shape)), shape);
    EXPECT_NE(mark_of(shape), no_mark);
  }
  // As docs/protocol/collective.md has it, computed from that page.
  EXPECT_EQ(mark_of({.elements = 100, .ordinal = 3}), 0x4479C1900E028EU);
  int taken = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    taken += shape_of(mix64(i) & wire::signature_mask) ? 1 : 0;
  }
  EXPECT_LE(taken, 10);
  EXPECT_FALSE(shape_of(no_mark));
}

} // namespace unequal_test
} // namespace tributary::collective::test
