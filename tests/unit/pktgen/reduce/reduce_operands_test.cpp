// The positions of pieces in their operations, and which results are right.
#include "pktgen/scenario/reduce_frames.hpp"
#include "pktgen/traffic/reduce_operands.hpp"

#include "tributary/reduce/reducer.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tributary::pktgen::traffic {
namespace {

/// Settings for this many members, in frames of 84 bytes only.
scenario::Reduce short_frames(const std::vector<std::string>& operators, std::uint64_t elements,
                              std::uint32_t members) {
  scenario::Reduce reduce;
  reduce.operators = operators;
  reduce.elements = elements;
  reduce.leaves = members - 1;
  return scenario::resolved(reduce);
}

TEST(ReduceOperands, OperationsOfAllOperatorsFollowOneAnother) {
  // Seven elements: two pieces of doubles, seven of reproducible sums, one of bytes.
  const ReduceOperands operands(short_frames({"sum-double", "repsum", "xor-uint8"}, 7, 3), 1);
  EXPECT_EQ(operands.pieces_of(0), 2U);
  EXPECT_EQ(operands.pieces_of(1), 7U);
  EXPECT_EQ(operands.pieces_of(2), 1U);
  EXPECT_EQ(operands.pieces_of(3), 2U);
  collective::PieceNumber piece = 0;
  for (std::uint64_t operation = 0; operation < 30; ++operation) {
    for (std::uint32_t i = 0; i < operands.pieces_of(operation); ++i, ++piece) {
      const ReduceOperands::Place place = operands.place_of(piece);
      EXPECT_EQ(place.operation, operation);
      EXPECT_EQ(place.first, i == 0);
      EXPECT_EQ(place.last, i + 1 == operands.pieces_of(operation));
    }
  }
}

TEST(ReduceOperands, PiecesOfOneReductionIdDifferFromThoseBefore) {
  for (const auto& operators :
       std::vector<std::vector<std::string>>{{"sum-int64"}, {"sum-int64", "min-int64"}, {"mix"}}) {
    const ReduceOperands operands(short_frames(operators, 4, 2), 1);
    for (collective::PieceNumber piece = 8; piece < 2000; ++piece) {
      EXPECT_NE(operands.place_of(piece).row, operands.place_of(piece - 8).row) << piece;
    }
  }
}

TEST(ReduceOperands, OnlyTheSumOfAllIsRight) {
  ReduceOperands operands(short_frames({"sum-int64"}, 4, 5), 9);
  const std::uint32_t row = operands.place_of(0).row;
  collective::Completion sum;
  sum.op = wire::Opcode::int_sum;
  sum.count = 5;
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      sum.payload[lane] += operands.operand(row, rank).payload[lane];
    }
  }
  EXPECT_TRUE(operands.is_right(row, sum));
  EXPECT_TRUE(operands.is_right(row, sum)) << "the second time it is compared with the first";
  const auto wrong = [&](auto change) {
    collective::Completion other = sum;
    change(other);
    return !operands.is_right(row, other);
  };
  EXPECT_TRUE(wrong([](auto& c) { c.payload[3] ^= 1; }));
  EXPECT_TRUE(wrong([](auto& c) { c.count = 4; }));
  EXPECT_TRUE(wrong([](auto& c) { c.rc = wire::ResultCode::int_overflow; }));
  EXPECT_TRUE(wrong([](auto& c) { c.op = wire::Opcode::int_max; }));
  EXPECT_FALSE(operands.is_right(operands.place_of(1).row, sum));
}

TEST(ReduceOperands, SeedsGiveOtherValues) {
  const ReduceOperands a(short_frames({"sum-int64"}, 4, 2), 1);
  const ReduceOperands b(short_frames({"sum-int64"}, 4, 2), 2);
  EXPECT_NE(a.operand(0, 0).payload, b.operand(0, 0).payload);
}

} // namespace
} // namespace tributary::pktgen::traffic
