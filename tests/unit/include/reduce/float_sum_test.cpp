// FLT_SUM against the C library: one lane at a time, so that each lane's code is checked
// separately. The other three lanes hold zeros, which add up exactly.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <string>

namespace tributary::test {
namespace {

using wire::Rounding;

constexpr Opcode all_sums[] = {Opcode::flt_sum_nearest,      Opcode::flt_sum_upward,
                               Opcode::flt_sum_downward,     Opcode::flt_sum_toward_zero,
                               Opcode::flt_sum_ftz_nearest,  Opcode::flt_sum_ftz_upward,
                               Opcode::flt_sum_ftz_downward, Opcode::flt_sum_ftz_toward_zero};

struct Sum {
  std::uint64_t result;
  ResultCode rc;
  friend bool operator==(const Sum&, const Sum&) = default;
};

Sum by_the_library(Opcode op, std::uint64_t a, std::uint64_t b) {
  constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fesetround(modes[static_cast<std::size_t>(wire::rounding_of(op))]);
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile double x = std::bit_cast<double>(a);
  volatile double y = std::bit_cast<double>(b);
  volatile double sum = x + y;
  const int raised = std::fetestexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
  double result = sum;
  ResultCode rc = (raised & FE_INVALID) != 0    ? ResultCode::flt_invalid
                  : (raised & FE_OVERFLOW) != 0 ? ResultCode::flt_overflow
                  : (raised & FE_INEXACT) != 0  ? ResultCode::flt_inexact
                                                : ResultCode::success;
  if (wire::flushes_to_zero(op) && std::fpclassify(result) == FP_SUBNORMAL) {
    result = std::copysign(0.0, result);
    rc = ResultCode::flt_inexact;
  }
  return {std::isnan(result) ? quiet_nan : bits(result), rc};
}

Sum by_the_kernel(Opcode op, std::uint64_t a, std::uint64_t b, std::size_t lane) {
  Contribution x = in_all_lanes(op, 0);
  Contribution y = x;
  x.payload[lane] = a;
  y.payload[lane] = b;
  const Accumulator acc = reduced({x, y});
  for (std::size_t other = 0; other < 4; ++other) {
    EXPECT_TRUE(other == lane || acc.payload[other] == 0);
  }
  return {acc.payload[lane], acc.result_code()};
}

class FltSum : public testing::TestWithParam<Opcode> {};
INSTANTIATE_TEST_SUITE_P(Modes, FltSum, testing::ValuesIn(all_sums),
                         [](const auto& p) { return std::string(wire::name_of(p.param)); });

TEST_P(FltSum, EqualsTheCLibraryForEveryPairOfSpecialPatterns) {
  for (const std::uint64_t a : special_patterns) {
    for (const std::uint64_t b : special_patterns) {
      for (const std::uint64_t signs : {0U, 1U, 2U, 3U}) {
        const std::uint64_t x = a ^ (signs & 1) << 63;
        const std::uint64_t y = b ^ (signs & 2) << 62;
        ASSERT_EQ(by_the_kernel(GetParam(), x, y, signs), by_the_library(GetParam(), x, y))
            << std::hex << x << " + " << y;
      }
    }
  }
}

TEST_P(FltSum, EqualsTheCLibraryForRandomPairs) {
  Random random(seed() ^ static_cast<std::uint64_t>(GetParam()));
  std::array<int, 5> seen{};
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t a = random_word(random, random());
    const std::uint64_t b = random_word(random, a);
    const Sum expected = by_the_library(GetParam(), a, b);
    ASSERT_EQ(by_the_kernel(GetParam(), a, b, static_cast<std::size_t>(i % 4)), expected)
        << std::hex << a << " + " << b;
    ++seen[static_cast<std::size_t>(expected.rc)];
  }
  for (const int rc : {0, 1, 3, 4}) {
    EXPECT_GT(seen[static_cast<std::size_t>(rc)], 100) << "code " << rc << " was hardly tested";
  }
}

TEST_P(FltSum, TellsExactFromInexactWhereFractionsJustMeet) {
  // Operands of few bits at exponents up to 60 apart: exact and inexact sums in equal measure, and
  // carries into the next binade.
  Random random(seed() + static_cast<std::uint64_t>(GetParam()));
  int exact = 0;
  constexpr int rounds = 100'000;
  for (int i = 0; i < rounds; ++i) {
    const auto few_bits = [&random] {
      const std::uint64_t ones = ~std::uint64_t{0} << random() % 53;
      const std::uint64_t fraction =
          (random() % 2 == 0 ? ones : std::uint64_t{1} << random() % 52) & 0x000FFFFFFFFFFFFF;
      return (random() & negative) | (1023 + random() % 61) << 52 | fraction;
    };
    const std::uint64_t a = few_bits();
    const std::uint64_t b = few_bits();
    const Sum expected = by_the_library(GetParam(), a, b);
    ASSERT_EQ(by_the_kernel(GetParam(), a, b, static_cast<std::size_t>(i % 4)), expected)
        << std::hex << a << " + " << b;
    exact += expected.rc == ResultCode::success ? 1 : 0;
  }
  EXPECT_GT(exact, rounds / 10);
  EXPECT_LT(exact, rounds * 9 / 10);
}

TEST_P(FltSum, PortablePathEqualsTheNativeOne) {
  Random random(seed() - static_cast<std::uint64_t>(GetParam()));
  const Opcode op = GetParam();
  for (int i = 0; i < 20'000; ++i) {
    const Contribution a = random_contribution(random, op);
    const Contribution b = random_contribution(random, op, &a);
    reduce::detail::RawSums native;
    reduce::detail::RawSums portable;
    const auto rounding = wire::rounding_of(op);
    const ResultCode by_flags =
        reduce::detail::add_through_library(a.payload, b.payload, rounding, portable);
    const ResultCode by_kernel = reduce::detail::add<reduce::FloatState::restore>(
        a.payload, b.payload, rounding, ResultCode::success, native);
    ASSERT_EQ(by_kernel, by_flags);
    wire::Payload native_words;
    wire::Payload portable_words;
    const bool flush = wire::flushes_to_zero(op);
    ASSERT_EQ(reduce::detail::finish_sums(native, flush, native_words),
              reduce::detail::finish_sums(portable, flush, portable_words));
    ASSERT_EQ(native_words, portable_words);
  }
}

TEST(FltSumRounding, OneAndALittleInEachMode) {
  const std::uint64_t one = bits(1);
  const std::uint64_t little = bits(0x1p-60);
  const auto sum = [&](Opcode op, std::uint64_t a, std::uint64_t b) {
    return reduced({in_all_lanes(op, a), in_all_lanes(op, b)}).payload[2];
  };
  EXPECT_EQ(sum(Opcode::flt_sum_nearest, one, little), one);
  EXPECT_EQ(sum(Opcode::flt_sum_upward, one, little), one + 1);
  EXPECT_EQ(sum(Opcode::flt_sum_downward, one, little), one);
  EXPECT_EQ(sum(Opcode::flt_sum_toward_zero, one, little), one);
  const std::uint64_t minus_one = one | negative;
  EXPECT_EQ(sum(Opcode::flt_sum_upward, minus_one, little | negative), minus_one);
  EXPECT_EQ(sum(Opcode::flt_sum_downward, minus_one, little | negative), minus_one + 1);
}

TEST(FltSumRounding, ExactZeroIsNegativeOnlyWhenRoundingDownward) {
  for (const Opcode op : all_sums) {
    const Accumulator acc = reduced({in_all_lanes(op, bits(3)), in_all_lanes(op, bits(-3))});
    const bool downward = wire::rounding_of(op) == Rounding::downward;
    EXPECT_EQ(acc.payload[1], downward ? minus_zero : 0) << wire::name_of(op);
    EXPECT_EQ(acc.result_code(), ResultCode::success);
  }
}

TEST(FltSumOverflow, GoesToInfinityOrTheLargestFiniteByTheMode) {
  const std::uint64_t largest = bits(1.7976931348623157e308);
  const auto sum = [&](Opcode op, std::uint64_t sign) {
    const Accumulator acc =
        reduced({in_all_lanes(op, largest | sign), in_all_lanes(op, largest | sign)});
    EXPECT_EQ(acc.result_code(), ResultCode::flt_overflow);
    return acc.payload[3];
  };
  EXPECT_EQ(sum(Opcode::flt_sum_nearest, 0), positive_infinity);
  EXPECT_EQ(sum(Opcode::flt_sum_upward, 0), positive_infinity);
  EXPECT_EQ(sum(Opcode::flt_sum_upward, negative), largest | negative);
  EXPECT_EQ(sum(Opcode::flt_sum_downward, 0), largest);
  EXPECT_EQ(sum(Opcode::flt_sum_downward, negative), negative_infinity);
  EXPECT_EQ(sum(Opcode::flt_sum_toward_zero, negative), largest | negative);
}

TEST(FltSumOverflow, ReachingTheLargestFiniteIsNone) {
  const auto op = Opcode::flt_sum_toward_zero;
  const std::uint64_t largest = bits(1.7976931348623157e308);
  EXPECT_EQ(reduced({in_all_lanes(op, largest), in_all_lanes(op, 0)}).result_code(),
            ResultCode::success);
  EXPECT_EQ(reduced({in_all_lanes(op, largest), in_all_lanes(op, bits(1))}).result_code(),
            ResultCode::flt_inexact);
}

TEST(FltSumFlush, KeepsTheSignAndIsInexact) {
  const auto op = Opcode::flt_sum_ftz_nearest;
  const Accumulator acc =
      reduced({in_all_lanes(op, bits(-3e-308)), in_all_lanes(op, bits(2.9e-308))});
  EXPECT_EQ(acc.payload[0], minus_zero);
  EXPECT_EQ(acc.result_code(), ResultCode::flt_inexact);
}

TEST(FltSumFlush, SubnormalOperandsAreUsedAsTheyAre) {
  const auto op = Opcode::flt_sum_ftz_nearest;
  const std::uint64_t smallest_normal = 0x0010000000000000;
  const Accumulator acc = reduced({in_all_lanes(op, smallest_normal), in_all_lanes(op, 1)});
  EXPECT_EQ(acc.payload[0], smallest_normal + 1);
  EXPECT_EQ(acc.result_code(), ResultCode::success);
}

} // namespace
} // namespace tributary::test
