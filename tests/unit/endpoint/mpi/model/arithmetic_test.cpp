#include "endpoint/mpi/model/arithmetic.hpp"

#include "tests/unit/include/reduce/thread_states.hpp"
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

namespace tributary::mpi::test {
namespace {

/// Reduces the ranks' elements as a node does, and back to the program's.
template <typename T> T reduced(const Plan& plan, const std::vector<T>& ranks) {
  std::vector<std::byte> total(plan.frame_bytes);
  std::vector<std::byte> part(plan.frame_bytes);
  to_frames(plan, reinterpret_cast<const std::byte*>(&ranks[0]), 1, total.data());
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    to_frames(plan, reinterpret_cast<const std::byte*>(&ranks[i]), 1, part.data());
    EXPECT_TRUE(combine(plan.type, plan.op, total.data(), part.data(), 1));
  }
  T result{};
  from_frames(plan, total.data(), 1, reinterpret_cast<std::byte*>(&result));
  return result;
}
Plan plan(Operator op, Element element, bool reproducible = false) {
  const Verdict verdict =
      plan_reduction(op, element, {.wide_frames = true, .reproducible = reproducible});
  EXPECT_EQ(verdict.reason, Reason::none);
  return verdict.plan;
}

struct DoubleInt {
  double value;
  int index;
};
struct LongInt {
  long value;
  int index;
};

TEST(Arithmetic, SumsWrapAndExtremesKnowTheSign) {
  EXPECT_EQ(reduced<std::int8_t>(plan(Operator::sum, Element::int8), {100, 100}), -56);
  EXPECT_EQ(reduced<std::uint64_t>(plan(Operator::max, Element::uint64), {1, ~0ULL, 7}), ~0ULL);
  EXPECT_EQ(reduced<std::int64_t>(plan(Operator::min, Element::int64), {1, -9, 7}), -9);
  EXPECT_EQ(reduced<float>(plan(Operator::sum, Element::float32), {1.5F, 2.25F}), 3.75F);
}

TEST(Arithmetic, ComplexNumbersAreAddedPartByPart) {
  const Plan sum = plan(Operator::sum, Element::complex128);
  const std::complex<double> mine[]{{1.5, -2.0}, {0.25, 8.0}};
  const std::complex<double> theirs[]{{1.0, 3.0}, {-0.25, 0.5}};
  const std::size_t numbers = std::size(mine) * sum.numbers;
  std::array<std::byte, sizeof mine> total{};
  std::array<std::byte, sizeof mine> part{};
  ASSERT_EQ(numbers * sum.frame_bytes, total.size());
  to_frames(sum, reinterpret_cast<const std::byte*>(mine), numbers, total.data());
  to_frames(sum, reinterpret_cast<const std::byte*>(theirs), numbers, part.data());
  ASSERT_TRUE(combine(sum.type, sum.op, total.data(), part.data(), numbers));
  std::complex<double> result[2];
  from_frames(sum, total.data(), numbers, reinterpret_cast<std::byte*>(result));
  EXPECT_EQ(result[0], std::complex<double>(2.5, 1.0));
  EXPECT_EQ(result[1], std::complex<double>(0.0, 8.5));
}

TEST(Arithmetic, AnythingButZeroIsTrue) {
  EXPECT_EQ(reduced<int>(plan(Operator::land, Element::int32), {2, 4, -8}), 1);
  EXPECT_EQ(reduced<int>(plan(Operator::land, Element::int32), {2, 0, -8}), 0);
  EXPECT_EQ(reduced<int>(plan(Operator::lor, Element::int32), {0, 0, 256}), 1);
  EXPECT_EQ(reduced<int>(plan(Operator::lxor, Element::int32), {2, 4}), 0);
}

TEST(Arithmetic, AmongEqualValuesTheLowestIndexWinsAlsoBelowZero) {
  const Plan least = plan(Operator::minloc, Element::double_int);
  const auto found = reduced<DoubleInt>(least, {{2.0, 5}, {1.0, 4}, {1.0, -3}, {1.0, 9}});
  EXPECT_EQ(found.value, 1.0);
  EXPECT_EQ(found.index, -3);
  const Plan greatest = plan(Operator::maxloc, Element::long_int);
  constexpr long lowest = std::numeric_limits<long>::min();
  const auto other = reduced<LongInt>(greatest, {{lowest, 5}, {lowest, 4}});
  EXPECT_EQ(other.value, lowest);
  EXPECT_EQ(other.index, 4);
}

struct FloatInt {
  float value;
  int index;
};

TEST(Arithmetic, ANaNAnywhereGivesANaN) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr float nanf = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<double> doubles{1.0, -2.0, 3.0};
    std::vector<float> floats{1.0F, -2.0F, 3.0F};
    std::vector<DoubleInt> pairs{{1.0, 0}, {-2.0, 1}, {3.0, 2}};
    doubles[at] = nan;
    floats[at] = nanf;
    pairs[at].value = nan;
    for (const Operator op : {Operator::min, Operator::max}) {
      EXPECT_TRUE(std::isnan(reduced<double>(plan(op, Element::float64), doubles)));
      EXPECT_TRUE(std::isnan(reduced<float>(plan(op, Element::float32), floats)));
    }
    for (const Operator op : {Operator::minloc, Operator::maxloc}) {
      const auto found = reduced<DoubleInt>(plan(op, Element::double_int), pairs);
      EXPECT_TRUE(std::isnan(found.value));
      EXPECT_EQ(found.index, static_cast<int>(at));
    }
  }
}

TEST(Arithmetic, OfTwoZerosTheOneBelowIsTheLesserInAnyOrder) {
  for (const std::vector<double>& zeros : {std::vector{0.0, -0.0}, std::vector{-0.0, 0.0}}) {
    EXPECT_TRUE(std::signbit(reduced<double>(plan(Operator::min, Element::float64), zeros)));
    EXPECT_FALSE(std::signbit(reduced<double>(plan(Operator::max, Element::float64), zeros)));
  }
}

#if defined(TRIBUTARY_FPU)
using tributary::test::InState;
using tributary::test::no_subnormals;
namespace fpu = reduce::fpu;

TEST(Arithmetic, SubnormalNumbersStayWhateverTheThreadHasSet) {
  constexpr double tiny = std::numeric_limits<double>::denorm_min();
  constexpr float tinyf = std::numeric_limits<float>::denorm_min();
  double sum = 0;
  double least = 0;
  float sumf = 0;
  FloatInt pair{};
  {
    const InState as_fast_math(fpu::all_masked | no_subnormals);
    sum = reduced<double>(plan(Operator::sum, Element::float64), {tiny, tiny});
    least = reduced<double>(plan(Operator::min, Element::float64), {3 * tiny, 2 * tiny, tiny});
    sumf = reduced<float>(plan(Operator::sum, Element::float32), {tinyf, 0.0F});
    pair = reduced<FloatInt>(plan(Operator::minloc, Element::float_int), {{1.0F, 5}, {tinyf, 4}});
  }
  EXPECT_EQ(sum, 2 * tiny);
  EXPECT_EQ(least, tiny);
  EXPECT_EQ(sumf, tinyf);
  EXPECT_EQ(pair.value, tinyf);
  EXPECT_EQ(pair.index, 4);
}
#endif

TEST(Arithmetic, ReproducibleSumsHaveTheBitsOfNoOrder) {
  std::vector<double> values{1e300, 1.0, -1e300, 1e-300, 3.25, -1.0, 0.1, 0.2};
  std::sort(values.begin(), values.end());
  const Plan sum = plan(Operator::sum, Element::float64, true);
  const double first = reduced<double>(sum, values);
  const auto ordinary = [&] {
    double total = 0;
    for (const double value : values) {
      total += value;
    }
    return total;
  };
  const double ordinary_first = ordinary();
  bool ordinary_differs = false;
  for (int i = 0; i < 1000; ++i) {
    std::next_permutation(values.begin(), values.end());
    const double again = reduced<double>(sum, values);
    ASSERT_EQ(std::memcmp(&again, &first, sizeof first), 0);
    ordinary_differs |= ordinary() != ordinary_first;
  }
  EXPECT_TRUE(ordinary_differs) << "the values show nothing";
}

TEST(Arithmetic, ReproducibleSumsOfFloatsKeepWhatCancelsInAnyOrder) {
  std::vector<float> values{3e9F, 1.0F, -3e9F, 1e-40F, 0.1F, 7.0F};
  std::sort(values.begin(), values.end());
  const Plan sum = plan(Operator::sum, Element::float32, true);
  const float first = reduced<float>(sum, values);
  EXPECT_EQ(first, static_cast<float>(8.0 + static_cast<double>(0.1F)));
  do {
    const float again = reduced<float>(sum, values);
    ASSERT_EQ(std::memcmp(&again, &first, sizeof first), 0);
  } while (std::next_permutation(values.begin(), values.end()));
  EXPECT_EQ(reduced<float>(sum, {1e-40F, 1e-40F}), 2e-40F) << "subnormal numbers stay";
}

[[gnu::noinline]] double product_and_sum(double a, double b, double c) { return a * b + c; }

TEST(Arithmetic, OfTheBuildRoundsAProductBeforeItAdds) {
  const double a = 1 + std::ldexp(1.0, -27);
  EXPECT_EQ(product_and_sum(a, a, -(1 + std::ldexp(1.0, -26))), 0) << "fused: 2^-54";
}

TEST(Arithmetic, EveryPlanCanBeCombined) {
  for (std::size_t o = 0; o < operator_count; ++o) {
    for (std::size_t e = 0; e < element_count; ++e) {
      const Verdict verdict = plan_reduction(static_cast<Operator>(o), static_cast<Element>(e),
                                             {.wide_frames = true, .reproducible = false});
      if (verdict.reason == Reason::none) {
        std::array<std::byte, 64> total{};
        const std::array<std::byte, 64> part{};
        EXPECT_TRUE(combine(verdict.plan.type, verdict.plan.op, total.data(), part.data(), 1))
            << o << " " << e;
      }
    }
  }
  std::array<std::byte, 64> bytes{};
  EXPECT_FALSE(combine(TRIBUTARY_DOUBLE, TRIBUTARY_XOR, bytes.data(), bytes.data(), 1));
}

} // namespace
} // namespace tributary::mpi::test
