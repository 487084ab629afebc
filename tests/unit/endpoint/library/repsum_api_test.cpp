// Reproducible sums that a program makes itself.
#include "tributary/tributary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tributary::library {
namespace {

/// The sum of all numbers, by one state for each.
template <typename T> T summed(const std::vector<T>& numbers, tributary_type type) {
  std::vector<tributary_repsum_state> states(numbers.size());
  EXPECT_EQ(tributary_repsum_make(numbers.data(), type, numbers.size(), states.data()),
            TRIBUTARY_OK);
  for (std::size_t i = 1; i < states.size(); ++i) {
    EXPECT_EQ(tributary_repsum_add(&states[0], &states[i], 1), TRIBUTARY_OK);
  }
  T sum{};
  EXPECT_EQ(tributary_repsum_read(states.data(), 1, &sum, type), TRIBUTARY_OK);
  return sum;
}

TEST(Repsum, SumsHaveTheSameBitsInEveryOrder) {
  std::vector<double> numbers{1e16, 1.0, -1e16, 0.1, 3.5, -0.25};
  std::sort(numbers.begin(), numbers.end());
  do {
    EXPECT_EQ(summed(numbers, TRIBUTARY_DOUBLE), 4.35);
  } while (std::next_permutation(numbers.begin(), numbers.end()));
}

TEST(Repsum, FloatsCancelExactlyAndStaySubnormal) {
  EXPECT_EQ(summed<float>({3e9F, 0.25F, -3e9F}, TRIBUTARY_FLOAT), 0.25F);
  EXPECT_EQ(summed<float>({1e-40F, 1e-40F}, TRIBUTARY_FLOAT), 2 * 1e-40F);
  EXPECT_TRUE(std::isnan(summed<float>(
      {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()},
      TRIBUTARY_FLOAT)));
}

TEST(Repsum, MicroBatchesAgreeInEveryOrder) {
  constexpr std::size_t count = 16;
  std::vector<float> numbers(3 * count);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::ldexp(static_cast<float>(i * 37 % 101) - 50, static_cast<int>(i % 20) - 10);
  }
  const auto by_parts = [&](std::array<std::size_t, 3> order) {
    std::vector<tributary_repsum_state> total(count);
    std::vector<tributary_repsum_state> part(count);
    const float* const first = numbers.data();
    EXPECT_EQ(tributary_repsum_make(first + order[0] * count, TRIBUTARY_FLOAT, count, total.data()),
              TRIBUTARY_OK);
    for (const std::size_t n : {order[1], order[2]}) {
      EXPECT_EQ(tributary_repsum_make(first + n * count, TRIBUTARY_FLOAT, count, part.data()),
                TRIBUTARY_OK);
      EXPECT_EQ(tributary_repsum_add(total.data(), part.data(), count), TRIBUTARY_OK);
    }
    std::vector<float> sums(count);
    EXPECT_EQ(tributary_repsum_read(total.data(), count, sums.data(), TRIBUTARY_FLOAT),
              TRIBUTARY_OK);
    return sums;
  };
  EXPECT_EQ(by_parts({0, 1, 2}), by_parts({2, 0, 1}));
}

TEST(Repsum, ASumThatWouldOverflowIsRefusedAndUnchanged) {
  const std::array<double, 2> numbers{1.0, 0x1p40 - 1}; // the second one's digits are the largest
  std::array<tributary_repsum_state, 2> total{};
  std::array<tributary_repsum_state, 2> part{};
  ASSERT_EQ(tributary_repsum_make(numbers.data(), TRIBUTARY_DOUBLE, 2, total.data()), TRIBUTARY_OK);
  for (int doubled = 0; doubled < 23; ++doubled) { // 2^23 numbers
    part = total;
    ASSERT_EQ(tributary_repsum_add(total.data(), part.data(), 2), TRIBUTARY_OK) << doubled;
  }
  part = total;
  EXPECT_EQ(tributary_repsum_add(total.data(), part.data(), 2), TRIBUTARY_ERR_FULL);
  EXPECT_NE(std::string(tributary_last_error(nullptr)).find("sum 1 of 2"), std::string::npos);
  std::array<double, 2> sums{};
  EXPECT_EQ(tributary_repsum_read(total.data(), 2, sums.data(), TRIBUTARY_DOUBLE), TRIBUTARY_OK);
  EXPECT_EQ(sums, (std::array<double, 2>{0x1p24, 0x1p23 * (0x1p40 - 1)}));
}

TEST(Repsum, RefusesOtherTypesAndMissingBuffers) {
  double number = 1;
  tributary_repsum_state state{};
  EXPECT_EQ(tributary_repsum_make(&number, TRIBUTARY_INT64, 1, &state), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_NE(std::string(tributary_last_error(nullptr)).find("give TRIBUTARY_DOUBLE"),
            std::string::npos);
  EXPECT_EQ(tributary_repsum_read(&state, 1, &number, TRIBUTARY_FLOAT16), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_repsum_make(nullptr, TRIBUTARY_DOUBLE, 1, &state), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_repsum_add(&state, nullptr, 1), TRIBUTARY_ERR_ARGUMENT);
  EXPECT_EQ(tributary_repsum_add(nullptr, nullptr, 0), TRIBUTARY_OK);
}

} // namespace
} // namespace tributary::library
