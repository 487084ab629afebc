#include "endpoint/library/operators.hpp"

#include <gtest/gtest.h>

namespace tributary::library {
namespace {

using collective::ElementType;
using wire::Opcode;

TEST(Operators, FollowTheTableOfTheHeader) {
  const auto of = [](int op, int type) { return opcode_for(op, element_type(type).value()); };
  EXPECT_EQ(of(TRIBUTARY_XOR, TRIBUTARY_INT16), Opcode::bit_xor);
  EXPECT_EQ(of(TRIBUTARY_MIN, TRIBUTARY_INT64), Opcode::int_min);
  EXPECT_EQ(of(TRIBUTARY_MIN, TRIBUTARY_DOUBLE), Opcode::flt_minnum);
  EXPECT_EQ(of(TRIBUTARY_MAX_NAN, TRIBUTARY_DOUBLE), Opcode::flt_max);
  EXPECT_EQ(of(TRIBUTARY_SUM, TRIBUTARY_INT64), Opcode::int_sum);
  EXPECT_EQ(of(TRIBUTARY_SUM, TRIBUTARY_DOUBLE), Opcode::flt_sum_nearest);
  EXPECT_EQ(of(TRIBUTARY_SUM_FTZ_DOWNWARD, TRIBUTARY_DOUBLE), Opcode::flt_sum_ftz_downward);
  EXPECT_EQ(of(TRIBUTARY_MINMAXLOC, TRIBUTARY_MINMAXLOC_DOUBLE), Opcode::flt_minmaxnumloc);
  EXPECT_EQ(of(TRIBUTARY_MINMAXLOC_NAN, TRIBUTARY_MINMAXLOC_DOUBLE), Opcode::flt_minmaxloc);
  EXPECT_EQ(of(TRIBUTARY_REPSUM, TRIBUTARY_DOUBLE), Opcode::flt_repsum);
}

TEST(Operators, CombinationsThatDoNotExistAreRefused) {
  const auto of = [](int op, int type) { return opcode_for(op, element_type(type).value()); };
  EXPECT_FALSE(of(TRIBUTARY_SUM, TRIBUTARY_INT32).has_value());
  EXPECT_FALSE(of(TRIBUTARY_SUM, TRIBUTARY_UINT64).has_value());
  EXPECT_FALSE(of(TRIBUTARY_AND, TRIBUTARY_DOUBLE).has_value());
  EXPECT_FALSE(of(TRIBUTARY_MIN_NAN, TRIBUTARY_INT64).has_value());
  EXPECT_FALSE(of(TRIBUTARY_MINMAXLOC, TRIBUTARY_DOUBLE).has_value());
  EXPECT_FALSE(of(TRIBUTARY_REPSUM, TRIBUTARY_MINMAXLOC_DOUBLE).has_value());
  EXPECT_FALSE(of(18, TRIBUTARY_INT64).has_value());
  EXPECT_FALSE(of(TRIBUTARY_SUM, TRIBUTARY_FLOAT).has_value());
  EXPECT_FALSE(element_type(15).has_value());
  EXPECT_FALSE(element_type(-1).has_value());
}

TEST(Operators, WideGroupsHaveMore) {
  const auto of = [](int op, int type) { return opcode_for(op, element_type(type).value(), true); };
  EXPECT_EQ(of(TRIBUTARY_SUM, TRIBUTARY_INT32), Opcode::int_sum);
  EXPECT_EQ(of(TRIBUTARY_MAX, TRIBUTARY_UINT64), Opcode::int_max);
  EXPECT_EQ(of(TRIBUTARY_SUM, TRIBUTARY_FLOAT), Opcode::flt_sum_nearest);
  EXPECT_EQ(of(TRIBUTARY_MIN, TRIBUTARY_BFLOAT16), Opcode::flt_minnum);
  EXPECT_EQ(of(TRIBUTARY_SUM_UPWARD, TRIBUTARY_FLOAT16), Opcode::flt_sum_upward);
  EXPECT_FALSE(of(TRIBUTARY_AND, TRIBUTARY_FLOAT).has_value());
  EXPECT_FALSE(of(TRIBUTARY_SUM_UPWARD, TRIBUTARY_INT32).has_value());
  EXPECT_FALSE(of(TRIBUTARY_REPSUM, TRIBUTARY_FLOAT).has_value());
  EXPECT_FALSE(of(TRIBUTARY_MINMAXLOC, TRIBUTARY_INT64).has_value());
}

} // namespace
} // namespace tributary::library
