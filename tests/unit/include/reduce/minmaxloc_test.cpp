// The tuple operators: ties, unsigned indices, zeros, and which NaN's index survives.
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace tributary::test {
namespace {

/// One host's tuple: its value is its minimum and its maximum.
Contribution of_host(Opcode op, std::uint64_t value, std::uint64_t index) {
  return contribution(op, {value, index, value, index});
}
wire::Payload either_order(const Contribution& a, const Contribution& b,
                           NanMode mode = NanMode::associative) {
  const auto ab = reduced({a, b}, mode);
  const auto ba = reduced({b, a}, mode);
  EXPECT_EQ(ab.payload, ba.payload);
  EXPECT_EQ(ab.result_code(), ba.result_code());
  return ab.payload;
}

TEST(IntMinmaxloc, KeepsEachExtremeWithItsIndex) {
  const auto op = Opcode::int_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, word(-5), 7), of_host(op, 3, 2)),
            (wire::Payload{word(-5), 7, 3, 2}));
}

TEST(IntMinmaxloc, TieTakesTheLowerIndexForMinimumAndMaximum) {
  const auto op = Opcode::int_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, 9, 4), of_host(op, 9, 3)), (wire::Payload{9, 3, 9, 3}));
}

TEST(IntMinmaxloc, IndicesCompareUnsigned) {
  const auto op = Opcode::int_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, 9, all_ones), of_host(op, 9, 1)), (wire::Payload{9, 1, 9, 1}));
}

TEST(IntMinmaxloc, ValuesCompareSignedUpToTheLimits) {
  const auto op = Opcode::int_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, word(INT64_MIN), 1), of_host(op, word(INT64_MAX), 2)),
            (wire::Payload{word(INT64_MIN), 1, word(INT64_MAX), 2}));
}

class FltMinmaxloc : public testing::TestWithParam<std::pair<Opcode, NanMode>> {};
INSTANTIATE_TEST_SUITE_P(Operators, FltMinmaxloc,
                         testing::Values(std::pair{Opcode::flt_minmaxloc, NanMode::associative},
                                         std::pair{Opcode::flt_minmaxnumloc, NanMode::associative},
                                         std::pair{Opcode::flt_minmaxnumloc, NanMode::ieee}));

TEST_P(FltMinmaxloc, KeepsEachExtremeWithItsIndex) {
  const auto [op, mode] = GetParam();
  EXPECT_EQ(either_order(of_host(op, bits(-1.5), 7), of_host(op, bits(2.5), 2), mode),
            (wire::Payload{bits(-1.5), 7, bits(2.5), 2}));
  EXPECT_EQ(
      either_order(of_host(op, negative_infinity, 7), of_host(op, positive_infinity, 2), mode),
      (wire::Payload{negative_infinity, 7, positive_infinity, 2}));
}

TEST_P(FltMinmaxloc, TieTakesTheLowerIndex) {
  const auto [op, mode] = GetParam();
  EXPECT_EQ(either_order(of_host(op, bits(1), all_ones), of_host(op, bits(1), 8), mode),
            (wire::Payload{bits(1), 8, bits(1), 8}));
}

TEST_P(FltMinmaxloc, ZerosTieForTheIndexButNotForTheValue) {
  const auto [op, mode] = GetParam();
  EXPECT_EQ(either_order(of_host(op, 0, 1), of_host(op, minus_zero, 2), mode),
            (wire::Payload{minus_zero, 1, 0, 1}));
  EXPECT_EQ(either_order(of_host(op, 0, 2), of_host(op, minus_zero, 1), mode),
            (wire::Payload{minus_zero, 1, 0, 1}));
}

TEST_P(FltMinmaxloc, SmallestSubnormalsAreNotZeros) {
  const auto [op, mode] = GetParam();
  EXPECT_EQ(either_order(of_host(op, minus_zero, 1), of_host(op, bits(-5e-324), 2), mode),
            (wire::Payload{bits(-5e-324), 2, minus_zero, 1}));
}

TEST(FltMinmaxlocNan, NanWinsWithItsIndex) {
  const auto op = Opcode::flt_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, quiet_nan, 9), of_host(op, negative_infinity, 1)),
            (wire::Payload{quiet_nan, 9, quiet_nan, 9}));
}

TEST(FltMinmaxlocNan, SignallingBeatsQuietWhateverTheIndex) {
  const auto op = Opcode::flt_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, signalling_nan, 9), of_host(op, other_quiet_nan, 1)),
            (wire::Payload{quiet_nan, 9, quiet_nan, 9}));
}

TEST(FltMinmaxlocNan, TwoOfAKindTakeTheLowerIndex) {
  const auto op = Opcode::flt_minmaxloc;
  EXPECT_EQ(either_order(of_host(op, quiet_nan, 9), of_host(op, other_quiet_nan, 4)),
            (wire::Payload{quiet_nan, 4, quiet_nan, 4}));
  EXPECT_EQ(either_order(of_host(op, signalling_nan, 4), of_host(op, other_signalling_nan, 9)),
            (wire::Payload{quiet_nan, 4, quiet_nan, 4}));
}

TEST(FltMinmaxlocNan, EachHalfHasItsOwnNan) {
  const auto op = Opcode::flt_minmaxloc;
  const auto a = contribution(op, {signalling_nan, 8, bits(5), 8});
  const auto b = contribution(op, {quiet_nan, 2, quiet_nan, 2});
  const auto c = contribution(op, {quiet_nan, 1, quiet_nan, 1});
  EXPECT_EQ(reduced({a, b, c}).payload, (wire::Payload{quiet_nan, 8, quiet_nan, 1}));
}

TEST(FltMinmaxlocNan, ASignallingNanKeepsItsPlaceThroughAnotherEngine) {
  const auto op = Opcode::flt_minmaxloc;
  const auto below = reduced({of_host(op, signalling_nan, 9), of_host(op, bits(1), 3)});
  ASSERT_EQ(below.payload[0], quiet_nan) << "engines send no signalling NaN";
  ASSERT_EQ(below.result_code(), ResultCode::flt_invalid);
  EXPECT_EQ(either_order(sent(below), of_host(op, quiet_nan, 1)),
            (wire::Payload{quiet_nan, 9, quiet_nan, 9}));
}

TEST(FltMinmaxnumlocNan, NumberWinsWithItsIndexInAssociativeMode) {
  const auto op = Opcode::flt_minmaxnumloc;
  for (const std::uint64_t nan : {quiet_nan, signalling_nan, other_signalling_nan}) {
    EXPECT_EQ(either_order(of_host(op, nan, 1), of_host(op, positive_infinity, 9)),
              (wire::Payload{positive_infinity, 9, positive_infinity, 9}));
  }
}

TEST(FltMinmaxnumlocNan, TwoNansTakeTheLowerIndexOfEitherKind) {
  const auto op = Opcode::flt_minmaxnumloc;
  for (const NanMode mode : {NanMode::associative, NanMode::ieee}) {
    EXPECT_EQ(either_order(of_host(op, signalling_nan, 9), of_host(op, quiet_nan, 4), mode),
              (wire::Payload{quiet_nan, 4, quiet_nan, 4}));
    EXPECT_EQ(either_order(of_host(op, quiet_nan, 9), of_host(op, signalling_nan, 4), mode),
              (wire::Payload{quiet_nan, 4, quiet_nan, 4}));
  }
}

TEST(FltMinmaxnumlocNan, SignallingNanSurvivesWithItsIndexInIeeeMode) {
  const auto op = Opcode::flt_minmaxnumloc;
  EXPECT_EQ(either_order(of_host(op, signalling_nan, 9), of_host(op, bits(1), 4), NanMode::ieee),
            (wire::Payload{quiet_nan, 9, quiet_nan, 9}));
  EXPECT_EQ(either_order(of_host(op, quiet_nan, 9), of_host(op, bits(1), 14), NanMode::ieee),
            (wire::Payload{bits(1), 14, bits(1), 14}));
}

TEST(MinmaxlocNan, OnlyASignallingNanRaisesInvalid) {
  for (const auto op : {Opcode::flt_minmaxloc, Opcode::flt_minmaxnumloc}) {
    const auto one = of_host(op, bits(1), 1);
    EXPECT_EQ(reduced({one, of_host(op, quiet_nan, 1)}).result_code(), ResultCode::success);
    EXPECT_EQ(reduced({one, of_host(op, signalling_nan, 1)}).result_code(),
              ResultCode::flt_invalid);
    EXPECT_EQ(
        reduced({one, contribution(op, {0, signalling_nan, 0, signalling_nan})}).result_code(),
        ResultCode::success)
        << "an index is not an operand";
  }
}

} // namespace
} // namespace tributary::test
