// The reference against results computed by hand, and against slightly wrong ones.
#include "tests/fabric/reference.hpp"
#include "tests/fabric/workload.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace tributary::fabric {
namespace {

using collective::Completion;
using collective::Operand;
using wire::Opcode;
using wire::ResultCode;

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }
wire::Payload all(std::uint64_t v) { return {v, v, v, v}; }

Completion result(Opcode op, wire::Payload payload, ResultCode rc = ResultCode::success) {
  return {.payload = payload, .op = op, .rc = rc, .count = 2};
}

Operand operand(Opcode op, wire::Payload payload, std::int8_t m = 0) {
  Operand o;
  o.payload = payload;
  o.op = op;
  o.m = m;
  return o;
}

std::string fault(Opcode op, wire::Payload a, wire::Payload b, const Completion& r) {
  const std::array contributions = {operand(op, a), operand(op, b)};
  return fault_of_result(contributions, r);
}

TEST(Reference, accepts_an_integer_sum_and_nothing_beside_it) {
  const auto op = Opcode::int_sum;
  EXPECT_EQ(fault(op, all(3), all(4), result(op, all(7))), "");
  EXPECT_NE(fault(op, all(3), all(4), result(op, all(8))), "");
  EXPECT_NE(fault(op, all(3), all(4), result(op, all(7), ResultCode::int_overflow)), "");
  Completion too_few = result(op, all(7));
  too_few.count = 1;
  EXPECT_NE(fault(op, all(3), all(4), too_few), "");
}

TEST(Reference, wants_the_overflow_of_an_integer_sum_reported) {
  const auto op = Opcode::int_sum;
  const std::uint64_t big = std::uint64_t{1} << 62;
  EXPECT_EQ(fault(op, all(big), all(big), result(op, all(2 * big), ResultCode::int_overflow)), "");
  EXPECT_NE(fault(op, all(big), all(big), result(op, all(2 * big))), "");
}

TEST(Reference, returns_the_lower_index_and_the_right_zero_of_a_tie) {
  const auto op = Opcode::flt_minmaxloc;
  const wire::Payload a = {bits(-0.0), 9, bits(-0.0), 9};
  const wire::Payload b = {bits(0.0), 4, bits(0.0), 4};
  EXPECT_EQ(fault(op, a, b, result(op, {bits(-0.0), 4, bits(0.0), 4})), "");
  EXPECT_NE(fault(op, a, b, result(op, {bits(-0.0), 9, bits(0.0), 4})), "");
  EXPECT_NE(fault(op, a, b, result(op, {bits(0.0), 4, bits(0.0), 4})), "");
}

TEST(Reference, distinguishes_the_two_families_of_minima) {
  constexpr std::uint64_t nan = 0x7FF8000000000000;
  EXPECT_EQ(fault(Opcode::flt_min, all(nan), all(bits(1)), result(Opcode::flt_min, all(nan))), "");
  EXPECT_EQ(
      fault(Opcode::flt_minnum, all(nan), all(bits(1)), result(Opcode::flt_minnum, all(bits(1)))),
      "");
  EXPECT_NE(fault(Opcode::flt_min, all(nan), all(bits(1)), result(Opcode::flt_min, all(bits(1)))),
            "");
}

TEST(Reference, allows_a_rounded_sum_on_the_right_side_only) {
  const double big = 0x1p53;
  const auto check = [&](Opcode op, double sum, ResultCode rc) {
    return fault(op, all(bits(big)), all(bits(1)), result(op, all(bits(sum)), rc));
  };
  EXPECT_EQ(check(Opcode::flt_sum_upward, big + 2, ResultCode::flt_inexact), "");
  EXPECT_NE(check(Opcode::flt_sum_upward, big, ResultCode::flt_inexact), "");
  EXPECT_EQ(check(Opcode::flt_sum_downward, big, ResultCode::flt_inexact), "");
  EXPECT_NE(check(Opcode::flt_sum_downward, big + 2, ResultCode::flt_inexact), "");
  EXPECT_EQ(check(Opcode::flt_sum_nearest, big, ResultCode::flt_inexact), "");
  EXPECT_NE(check(Opcode::flt_sum_nearest, big, ResultCode::success), "");
  EXPECT_NE(check(Opcode::flt_sum_nearest, big + 64, ResultCode::flt_inexact), "");
}

TEST(Reference, adds_reproducible_sums_as_the_golden_vector_does) {
  // 0.1 + 0.2 from the wire format page
  const std::array contributions = {
      operand(Opcode::flt_repsum, {0, 0, 0x999A000000, 0x1999999999}, -1),
      operand(Opcode::flt_repsum, {0, 0, 0x3334000000, 0x3333333333}, -1)};
  Completion r = result(Opcode::flt_repsum, {0, 0, 0xCCCE000000, 0x4CCCCCCCCC});
  r.m = -1;
  EXPECT_EQ(fault_of_result(contributions, r), "");
  r.payload[2] += 1;
  EXPECT_NE(fault_of_result(contributions, r), "");
}

TEST(Workload, gives_every_member_its_own_values_and_the_same_ones_again) {
  const Workload one(7, 200, 16);
  const Workload again(7, 200, 16);
  std::set<Opcode> operators;
  for (collective::PieceNumber piece = 0; piece < one.pieces(); ++piece) {
    operators.insert(one.opcode(piece));
    const auto a = one.operand(piece, 3);
    EXPECT_EQ(a.payload, again.operand(piece, 3).payload);
    if (a.op == Opcode::int_sum || a.op == Opcode::bit_xor) {
      EXPECT_NE(a.payload, one.operand(piece, 4).payload);
    }
  }
  EXPECT_EQ(operators.size(), std::size(wire::all_opcodes)) << "every operator takes part";
}

TEST(Workload, makes_reproducible_sums_that_mean_their_value) {
  const Workload w(8, 100, 4, Opcode::flt_repsum);
  for (collective::PieceNumber piece = 0; piece < w.pieces(); ++piece) {
    const auto o = w.operand(piece, 0);
    ASSERT_EQ(o.payload[0], 0U) << "one double never reaches the lowest limb";
    ASSERT_NE(o.payload[3], 0U) << "the highest limb holds its leading bit";
    const auto top = std::bit_cast<std::int64_t>(o.payload[3]);
    ASSERT_LT(std::abs(top), std::int64_t{1} << 40);
  }
}

} // namespace
} // namespace tributary::fabric
