// The first contribution: copied, and fit to be sent alone.
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tributary::test {
namespace {

constexpr Opcode four_lane_floats[] = {Opcode::flt_min,         Opcode::flt_max,
                                       Opcode::flt_minnum,      Opcode::flt_maxnum,
                                       Opcode::flt_sum_nearest, Opcode::flt_sum_ftz_toward_zero};

TEST(Start, CopiesEverythingOfAnIntegerContribution) {
  Contribution c = contribution(Opcode::int_sum, {1, quiet_nan, signalling_nan, all_ones},
                                ResultCode::flt_overflow);
  c.source = {0xABCDE000};
  const Accumulator acc = reduced({c});
  EXPECT_EQ(acc.payload, c.payload);
  EXPECT_EQ(acc.op, c.op);
  EXPECT_EQ(acc.result_code(), c.rc);
  EXPECT_EQ(acc.source, c.source);
}

TEST(Start, LeavesNothingOfTheReductionBefore) {
  Contribution overflowed = repsum_of(2.5);
  overflowed.rc = ResultCode::int_overflow;
  overflowed.overflow_id = 3;
  Accumulator acc = reduced({overflowed});
  ASSERT_EQ(acc.result_code(), ResultCode::int_overflow);
  reduce::start(acc, in_all_lanes(Opcode::flt_minnum, signalling_nan));
  ASSERT_NE(acc.signalling_lanes, 0);
  reduce::start(acc, in_all_lanes(Opcode::bit_or, 5));
  EXPECT_EQ(acc.result_code(), ResultCode::success);
  EXPECT_EQ(acc.payload, (wire::Payload{5, 5, 5, 5}));
  EXPECT_EQ(acc.m, 0);
  EXPECT_EQ(acc.overflow_id, 0);
  EXPECT_EQ(acc.signalling_lanes, 0);
}

TEST(Start, ALoneQuietNanIsSentCanonicalWithoutACode) {
  for (const Opcode op : four_lane_floats) {
    const Accumulator acc =
        reduced({contribution(op, {other_quiet_nan, bits(1), other_quiet_nan, minus_zero})});
    EXPECT_EQ(acc.payload, (wire::Payload{quiet_nan, bits(1), quiet_nan, minus_zero}));
    EXPECT_EQ(acc.result_code(), ResultCode::success) << wire::name_of(op);
  }
}

TEST(Start, ALoneSignallingNanIsSentCanonicalAndInvalid) {
  for (const Opcode op : four_lane_floats) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      Contribution c = in_all_lanes(op, bits(1));
      c.payload[lane] = other_signalling_nan;
      const Accumulator acc = reduced({c});
      EXPECT_EQ(acc.payload[lane], quiet_nan);
      EXPECT_EQ(acc.payload[(lane + 1) % 4], bits(1));
      EXPECT_EQ(acc.result_code(), ResultCode::flt_invalid) << wire::name_of(op);
    }
  }
}

TEST(Start, IndicesOfATupleAreNoFloats) {
  for (const Opcode op : {Opcode::flt_minmaxloc, Opcode::flt_minmaxnumloc}) {
    const Accumulator acc =
        reduced({contribution(op, {other_quiet_nan, signalling_nan, bits(1), other_quiet_nan})});
    EXPECT_EQ(acc.payload, (wire::Payload{quiet_nan, signalling_nan, bits(1), other_quiet_nan}));
    EXPECT_EQ(acc.result_code(), ResultCode::success);
  }
}

TEST(Start, ALoneSubnormalIsNotFlushed) {
  EXPECT_EQ(reduced({in_all_lanes(Opcode::flt_sum_ftz_nearest, 1)}).payload[0], 1U);
}

TEST(Start, ASpecialReproducibleSumHasNoLimbs) {
  Contribution c = contribution(Opcode::flt_repsum, {1, 2, 3, 4});
  c.m = reduce::repsum_positive_infinity;
  EXPECT_EQ(reduced({c}).payload, wire::Payload{});
}

} // namespace
} // namespace tributary::test
