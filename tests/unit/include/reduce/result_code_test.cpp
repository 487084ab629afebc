// The priority of result codes, and how they stick.
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

namespace tributary::test {
namespace {

TEST(ResultCode, TheLargerOfTwoStaysForEveryPairAndOperator) {
  for (const Opcode op : wire::all_opcodes) {
    if (op == Opcode::flt_repsum) {
      continue; // its codes 5 and 6 are conditions that can be withdrawn
    }
    for (int a = 0; a <= 8; ++a) {
      for (int b = 0; b <= 8; ++b) {
        Contribution first = in_all_lanes(op, 0);
        Contribution second = first;
        first.rc = static_cast<ResultCode>(a);
        second.rc = static_cast<ResultCode>(b);
        EXPECT_EQ(static_cast<int>(reduced({first, second}).result_code()), std::max(a, b))
            << wire::name_of(op);
      }
    }
  }
}

TEST(ResultCode, OneLanesCodeStandsForAllFour) {
  const auto op = Opcode::flt_sum_nearest;
  const wire::Payload a{bits(1e16), bits(1e308), positive_infinity, bits(1)};
  const wire::Payload b{bits(1), bits(1e308), bits(1), bits(1)};
  EXPECT_EQ(reduced({contribution(op, a), contribution(op, b)}).result_code(),
            ResultCode::flt_overflow);
  const wire::Payload c{bits(1), bits(1e308), negative_infinity, bits(1)};
  EXPECT_EQ(reduced({contribution(op, a), contribution(op, c)}).result_code(),
            ResultCode::flt_invalid);
}

TEST(ResultCode, AReceivedTwoTakesPartByItsMagnitude) {
  const auto op = Opcode::flt_sum_nearest;
  Contribution odd = in_all_lanes(op, bits(1));
  odd.rc = ResultCode::unassigned;
  EXPECT_EQ(reduced({odd, in_all_lanes(op, bits(1e16))}).result_code(), ResultCode::unassigned)
      << "the sum is inexact, which is less";
  EXPECT_EQ(reduced({odd, in_all_lanes(op, signalling_nan)}).result_code(),
            ResultCode::flt_invalid);
}

TEST(ResultCode, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int rc = 0; rc <= 8; ++rc) {
    names.insert(wire::name_of(static_cast<ResultCode>(rc)));
  }
  EXPECT_EQ(names.size(), 9U);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(wire::name_of(static_cast<ResultCode>(9)), "unknown");
}

TEST(Opcode, ExactlyTheListedCodesAreSupported) {
  const std::set<int> listed{0x00, 0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x14, 0x20, 0x21, 0x22, 0x24,
                             0x25, 0x26, 0x28, 0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, 0x2F, 0x30};
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(wire::is_supported(static_cast<std::uint8_t>(code)), listed.contains(code))
        << "code " << code;
    EXPECT_EQ(wire::name_of(static_cast<Opcode>(code)) != "RESERVED", listed.contains(code));
  }
}

TEST(Opcode, SumsCodeTheirRoundingAndFlushing) {
  EXPECT_EQ(wire::rounding_of(Opcode::flt_sum_ftz_downward), wire::Rounding::downward);
  EXPECT_TRUE(wire::flushes_to_zero(Opcode::flt_sum_ftz_nearest));
  EXPECT_FALSE(wire::flushes_to_zero(Opcode::flt_sum_toward_zero));
  EXPECT_FALSE(wire::is_flt_sum(Opcode::flt_minmaxnumloc));
  EXPECT_FALSE(wire::is_flt_sum(Opcode::flt_repsum));
}

} // namespace
} // namespace tributary::test
