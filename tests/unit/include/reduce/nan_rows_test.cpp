// Every row of the NaN tables of sections 4.3 and 4.4, both operand orders, in both modes; and the
// zeros of 4.5.
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ios>
#include <utility>
#include <vector>

namespace tributary::test {
namespace {

struct Row {
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t result;
  int rc;
};

/// Each row in both orders; in all lanes, and in each single lane beside ordinary numbers.
void expect_rows(Opcode op, NanMode mode, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const auto& [first, second] : {std::pair{row.a, row.b}, std::pair{row.b, row.a}}) {
      const Accumulator all = reduced({in_all_lanes(op, first), in_all_lanes(op, second)}, mode);
      const auto r = row.result;
      EXPECT_EQ(all.payload, (wire::Payload{r, r, r, r}))
          << wire::name_of(op) << std::hex << ' ' << first << ' ' << second;
      EXPECT_EQ(static_cast<int>(all.result_code()), row.rc)
          << wire::name_of(op) << std::hex << ' ' << first << ' ' << second;
      for (std::size_t lane = 0; lane < 4; ++lane) {
        Contribution x = in_all_lanes(op, bits(2));
        Contribution y = x;
        wire::Payload expected = x.payload;
        x.payload[lane] = first;
        y.payload[lane] = second;
        expected[lane] = r;
        const Accumulator one = reduced({x, y}, mode);
        EXPECT_EQ(one.payload, expected) << wire::name_of(op) << " lane " << lane;
        EXPECT_EQ(static_cast<int>(one.result_code()), row.rc);
      }
    }
  }
}

const std::vector<Row> nan_wins_rows{
    {quiet_nan, bits(1), quiet_nan, 0},
    {other_quiet_nan, negative_infinity, quiet_nan, 0},
    {other_quiet_nan, positive_infinity, quiet_nan, 0},
    {signalling_nan, bits(1), quiet_nan, 4},
    {other_signalling_nan, negative_infinity, quiet_nan, 4},
    {quiet_nan, other_quiet_nan, quiet_nan, 0},
    {signalling_nan, other_quiet_nan, quiet_nan, 4},
    {signalling_nan, other_signalling_nan, quiet_nan, 4},
};
const std::vector<Row> number_wins_rows{
    {quiet_nan, bits(1), bits(1), 0},
    {other_quiet_nan, positive_infinity, positive_infinity, 0},
    {other_quiet_nan, negative_infinity, negative_infinity, 0},
    {signalling_nan, bits(1), bits(1), 4},
    {other_signalling_nan, negative_infinity, negative_infinity, 4},
    {quiet_nan, other_quiet_nan, quiet_nan, 0},
    {signalling_nan, other_quiet_nan, quiet_nan, 4},
    {signalling_nan, other_signalling_nan, quiet_nan, 4},
};
const std::vector<Row> number_wins_ieee_rows{
    {quiet_nan, bits(1), bits(1), 0},
    {other_quiet_nan, negative_infinity, negative_infinity, 0},
    {signalling_nan, bits(1), quiet_nan, 4},
    {other_signalling_nan, positive_infinity, quiet_nan, 4},
    {quiet_nan, other_quiet_nan, quiet_nan, 0},
    {signalling_nan, other_quiet_nan, quiet_nan, 4},
    {signalling_nan, other_signalling_nan, quiet_nan, 4},
};
const std::vector<Row> minimum_rows{
    {bits(1), bits(2), bits(1), 0},
    {bits(-1), bits(-2), bits(-2), 0},
    {bits(-1), bits(1), bits(-1), 0},
    {negative_infinity, positive_infinity, negative_infinity, 0},
    {0, minus_zero, minus_zero, 0},
    {0, bits(5e-324), 0, 0},
    {minus_zero, bits(-5e-324), bits(-5e-324), 0},
};
const std::vector<Row> maximum_rows{
    {bits(1), bits(2), bits(2), 0},
    {bits(-1), bits(-2), bits(-1), 0},
    {bits(-1), bits(1), bits(1), 0},
    {negative_infinity, positive_infinity, positive_infinity, 0},
    {0, minus_zero, 0, 0},
    {0, bits(5e-324), bits(5e-324), 0},
    {minus_zero, bits(-5e-324), minus_zero, 0},
};

TEST(NanRows, FltMinAndFltMaxGiveNanInBothModes) {
  for (const NanMode mode : {NanMode::associative, NanMode::ieee}) {
    expect_rows(Opcode::flt_min, mode, nan_wins_rows);
    expect_rows(Opcode::flt_max, mode, nan_wins_rows);
  }
}

TEST(NanRows, MinnumAndMaxnumGiveTheNumberInAssociativeMode) {
  expect_rows(Opcode::flt_minnum, NanMode::associative, number_wins_rows);
  expect_rows(Opcode::flt_maxnum, NanMode::associative, number_wins_rows);
}

TEST(NanRows, MinnumAndMaxnumLetASignallingNanWinInIeeeMode) {
  expect_rows(Opcode::flt_minnum, NanMode::ieee, number_wins_ieee_rows);
  expect_rows(Opcode::flt_maxnum, NanMode::ieee, number_wins_ieee_rows);
}

TEST(NanRows, NumbersAndSignedZerosInBothModes) {
  for (const NanMode mode : {NanMode::associative, NanMode::ieee}) {
    expect_rows(Opcode::flt_min, mode, minimum_rows);
    expect_rows(Opcode::flt_minnum, mode, minimum_rows);
    expect_rows(Opcode::flt_max, mode, maximum_rows);
    expect_rows(Opcode::flt_maxnum, mode, maximum_rows);
  }
}

TEST(NanRows, IeeeModeIsNotAssociativeByDesign) {
  const auto op = Opcode::flt_minnum;
  const Contribution nan = in_all_lanes(op, signalling_nan);
  const Contribution one = in_all_lanes(op, bits(1));
  const Contribution two = in_all_lanes(op, bits(2));
  // The signalling NaN becomes a quiet one, and quiet ones lose.
  EXPECT_EQ(reduced({nan, one, two}, NanMode::ieee).payload[0], bits(2));
  EXPECT_EQ(reduced({one, two, nan}, NanMode::ieee).payload[0], quiet_nan);
}

TEST(NanRows, EveryTestForNanAgreesWithTheVocabulary) {
  EXPECT_FALSE(reduce::is_nan(positive_infinity));
  EXPECT_FALSE(reduce::is_nan(negative_infinity));
  EXPECT_TRUE(reduce::is_nan(signalling_nan));
  EXPECT_TRUE(reduce::is_signalling_nan(other_signalling_nan));
  EXPECT_FALSE(reduce::is_signalling_nan(other_quiet_nan));
  EXPECT_FALSE(reduce::is_signalling_nan(negative_infinity));
}

} // namespace
} // namespace tributary::test
