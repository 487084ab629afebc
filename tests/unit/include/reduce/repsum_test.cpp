// The reproducible sum: conversions, moved limbs, conditions that are withdrawn, special values,
// and how many operands it holds.
#include "tests/unit/include/reduce/bit_patterns.hpp"
#include "tests/unit/include/reduce/contributions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tributary::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Contribution sum(int m, const wire::Payload& limbs, ResultCode rc = ResultCode::success,
                 int overflow_id = 0) {
  Contribution c = contribution(Opcode::flt_repsum, limbs, rc);
  c.m = static_cast<std::int8_t>(m);
  c.overflow_id = static_cast<std::uint8_t>(overflow_id);
  return c;
}
/// `value` summed up `count` times, by doubling.
Contribution repeated(double value, std::uint32_t count) {
  Contribution power = repsum_of(value);
  Contribution total = repsum_of(0);
  for (; count != 0; count >>= 1) {
    if ((count & 1) != 0) {
      total = sent(reduced({total, power}));
    }
    power = sent(reduced({power, power}));
  }
  return total;
}

TEST(Conversion, EveryDoubleComesBack) {
  Random random(seed());
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t w = i % 4 == 0 ? random_word(random, random()) : random();
    const double value = std::bit_cast<double>(w);
    const auto converted = reduce::to_reproducible(value);
    const double back = reduce::to_double(converted);
    if (std::isnan(value)) {
      ASSERT_EQ(bits(back), quiet_nan);
    } else if (value == 0) {
      ASSERT_EQ(bits(back), 0U) << "both zeros are one";
    } else {
      ASSERT_EQ(bits(back), w);
      ASSERT_EQ(converted.limbs[0], 0U) << "a double never reaches the lowest limb";
    }
  }
}

TEST(Conversion, LimbsThatComeToInfinitiesOfBothSignsAreTheCanonicalNan) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  EXPECT_EQ(bits(reduce::to_double({{0, 0, most, 0 - most}, 60})), quiet_nan);
  EXPECT_EQ(bits(reduce::to_double({{0, 0, 0 - most, most}, 60})), quiet_nan);
}

TEST(Conversion, FollowsTheDefinitionOfMAndLimbs) {
  Random random(seed() + 1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(random_word(random, random()));
    if (!std::isfinite(value) || value == 0) {
      continue;
    }
    const auto converted = reduce::to_reproducible(value);
    const int exponent = std::max(std::ilogb(value), -1022);
    ASSERT_EQ(int{converted.m}, static_cast<int>(std::floor(exponent / 40.0)));
    // Limbs 1 and 2 are digits, so the value divides into them from the top down.
    double rest = std::fabs(value);
    for (int limb = 3; limb >= 1; --limb) {
      const double unit_up = std::ldexp(rest, -std::max(-1074, 40 * (converted.m - 3 + limb)));
      const double digit = std::floor(unit_up);
      const auto held = static_cast<std::int64_t>(converted.limbs[static_cast<std::size_t>(limb)]);
      if (40 * (converted.m - 3 + limb) >= -1000) {
        ASSERT_EQ(std::fabs(static_cast<double>(held)), digit) << std::hexfloat << value;
        rest -= std::ldexp(digit, 40 * (converted.m - 3 + limb));
      }
    }
  }
}

TEST(Conversion, OfZerosInfinitiesAndNans) {
  const wire::Payload none{};
  EXPECT_EQ(reduce::to_reproducible(0.0), (reduce::ReproducibleSum{none, -26}));
  EXPECT_EQ(reduce::to_reproducible(-0.0), (reduce::ReproducibleSum{none, -26}));
  EXPECT_EQ(reduce::to_reproducible(-infinity), (reduce::ReproducibleSum{none, 125}));
  EXPECT_EQ(reduce::to_reproducible(infinity), (reduce::ReproducibleSum{none, 126}));
  EXPECT_EQ(reduce::to_reproducible(std::bit_cast<double>(other_signalling_nan)),
            (reduce::ReproducibleSum{none, 127}));
  EXPECT_EQ(reduce::to_double({none, 125}), -infinity);
  EXPECT_EQ(reduce::to_double({none, 126}), infinity);
  EXPECT_EQ(bits(reduce::to_double({none, 127})), quiet_nan);
}

TEST(Conversion, IsAConstantExpressionForHostsThatWantOne) {
  static_assert(reduce::to_reproducible(-1.0).limbs[3] == all_ones);
  static_assert(reduce::to_reproducible(-1.0).m == 0);
}

TEST(Repsum, SmallerOperandMovesDownByTheDifference) {
  const Contribution large = sum(3, {10, 20, 30, 40});
  const Contribution small = sum(1, {0, 0, 3, 4});
  for (const Accumulator& acc : {reduced({large, small}), reduced({small, large})}) {
    EXPECT_EQ(acc.payload, (wire::Payload{13, 24, 30, 40}));
    EXPECT_EQ(acc.m, 3);
    EXPECT_EQ(acc.result_code(), ResultCode::success);
  }
}

TEST(Repsum, ADroppedLimbIsInexactOnlyWhenNotZero) {
  for (std::size_t limb = 0; limb < 4; ++limb) {
    for (int difference = 0; difference <= 6; ++difference) {
      Contribution small = sum(0, {});
      small.payload[limb] = 1;
      const Contribution large = sum(difference, {0, 0, 0, 5});
      const bool dropped = static_cast<int>(limb) < difference;
      EXPECT_EQ(reduced({large, small}).result_code(),
                dropped ? ResultCode::repsum_inexact : ResultCode::success)
          << "limb " << limb << " moved by " << difference;
    }
  }
}

TEST(Repsum, FourOrMoreBinsApartTheSmallerIsDroppedWhole) {
  for (const int m : {4, 5, 60, 124}) {
    const Accumulator acc = reduced({sum(m, {1, 2, 3, 4}), sum(0, {9, 9, 9, 9})});
    EXPECT_EQ(acc.payload, (wire::Payload{1, 2, 3, 4}));
    EXPECT_EQ(acc.result_code(), ResultCode::repsum_inexact);
  }
  EXPECT_EQ(reduced({sum(124, {1, 2, 3, 4}), sum(-128, {9, 9, 9, 9})}).m, 124);
}

TEST(Repsum, ALimbThatWrapsRaisesOverflowWithItsNumber) {
  for (std::size_t limb = 0; limb < 4; ++limb) {
    Contribution a = sum(0, {});
    Contribution b = sum(0, {});
    a.payload[limb] = word(INT64_MAX);
    b.payload[limb] = 1;
    const Accumulator acc = reduced({a, b});
    EXPECT_EQ(acc.result_code(), ResultCode::int_overflow);
    EXPECT_EQ(acc.overflow_id, limb);
    EXPECT_TRUE(acc.repsum_inexact);
    EXPECT_EQ(acc.payload[limb], word(INT64_MIN));
  }
}

TEST(Repsum, TheHighestOverflowedLimbIsReported) {
  const auto top = word(INT64_MAX);
  EXPECT_EQ(reduced({sum(0, {top, 0, top, 0}), sum(0, {1, 0, 1, 0})}).overflow_id, 2);
  EXPECT_EQ(
      reduced({sum(0, {}, ResultCode::int_overflow, 1), sum(0, {}, ResultCode::int_overflow, 3)})
          .overflow_id,
      3);
}

TEST(Repsum, AnOverflowIsWithdrawnWhenItsLimbFallsOff) {
  for (int limb = 0; limb < 4; ++limb) {
    for (int difference = 0; difference <= 5; ++difference) {
      const Contribution small = sum(0, {}, ResultCode::int_overflow, limb);
      const Contribution large = sum(difference, {0, 0, 0, 1});
      for (const Accumulator& acc : {reduced({small, large}), reduced({large, small})}) {
        if (limb >= difference) {
          EXPECT_EQ(acc.result_code(), ResultCode::int_overflow);
          EXPECT_EQ(int{acc.overflow_id}, limb - difference);
        } else {
          EXPECT_EQ(acc.result_code(), ResultCode::repsum_inexact) << "overflow implies inexact";
          EXPECT_EQ(acc.overflow_id, 0);
        }
      }
    }
  }
}

TEST(Repsum, TheLargerOperandsOverflowIsNeverWithdrawn) {
  const Contribution large = sum(5, {}, ResultCode::int_overflow, 0);
  const Contribution small = sum(0, {1, 1, 1, 1});
  EXPECT_EQ(reduced({small, large}).result_code(), ResultCode::int_overflow);
  EXPECT_EQ(reduced({large, small}).result_code(), ResultCode::int_overflow);
}

TEST(Repsum, OtherCodesStandBesideTheConditions) {
  const Contribution invalid = sum(0, {0, 0, 0, 1}, ResultCode::flt_invalid);
  const Contribution inexact = sum(0, {0, 0, 0, 1}, ResultCode::repsum_inexact);
  const Contribution too_many = sum(0, {0, 0, 0, 1}, ResultCode::contr_overflow);
  EXPECT_EQ(reduced({invalid, sum(0, {})}).result_code(), ResultCode::flt_invalid);
  EXPECT_EQ(reduced({invalid, inexact}).result_code(), ResultCode::repsum_inexact);
  EXPECT_EQ(reduced({inexact, too_many}).result_code(), ResultCode::contr_overflow);
}

TEST(Repsum, InfinityAndANumberIsThatInfinityWithoutATrace) {
  for (const double inf : {infinity, -infinity}) {
    const Contribution noisy = sum(3, {1, 2, 3, 4}, ResultCode::int_overflow, 3);
    for (const Accumulator& acc :
         {reduced({repsum_of(inf), noisy}), reduced({noisy, repsum_of(inf)})}) {
      EXPECT_EQ(reduce::to_double(sum_of(acc)), inf);
      EXPECT_EQ(acc.payload, wire::Payload{});
      EXPECT_EQ(acc.result_code(), ResultCode::success);
    }
  }
}

TEST(Repsum, NanWinsOverEverything) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double other : {1.0, infinity, -infinity, nan}) {
    const Accumulator acc = reduced({repsum_of(other), repsum_of(nan)});
    EXPECT_EQ(acc.m, reduce::repsum_nan);
    EXPECT_EQ(acc.result_code(), ResultCode::success);
    EXPECT_EQ(reduced({repsum_of(nan), repsum_of(other)}).m, reduce::repsum_nan);
  }
}

TEST(Repsum, EqualInfinitiesStay) {
  const Accumulator acc = reduced({repsum_of(-infinity), repsum_of(-infinity)});
  EXPECT_EQ(acc.m, reduce::repsum_negative_infinity);
  EXPECT_EQ(acc.result_code(), ResultCode::success);
}

TEST(RepsumLimit, JustBelowOneOverflowsAtOperand8388609) {
  const Contribution c = repsum_of(0.9999999999999999);
  constexpr std::uint32_t one_by_one = 10'000;
  Accumulator acc;
  reduce::start(acc, repeated(0.9999999999999999, (1U << 23) - one_by_one));
  for (std::uint32_t operand = 0; operand < one_by_one; ++operand) {
    reduce::combine(acc, c, NanMode::associative);
  }
  ASSERT_EQ(acc.result_code(), ResultCode::success) << "2^23 operands fit";
  reduce::combine(acc, c, NanMode::associative);
  EXPECT_EQ(acc.result_code(), ResultCode::int_overflow);
  EXPECT_EQ(acc.overflow_id, 3);
}

TEST(RepsumLimit, AHalfOverflowsAtOperand16777216) {
  EXPECT_EQ(repeated(0.5, (1U << 24) - 1).rc, ResultCode::success);
  const Accumulator acc = reduced({repeated(0.5, (1U << 24) - 1), repsum_of(0.5)});
  EXPECT_EQ(acc.result_code(), ResultCode::int_overflow);
}

TEST(RepsumLimit, AnyFullGroupFits) {
  for (const double v : {0.9999999999999999, -0.9999999999999999, 1.0995116277759998e12, 5e-324}) {
    EXPECT_EQ(repeated(v, max_contributions).rc, ResultCode::success) << v;
  }
}

} // namespace
} // namespace tributary::test
