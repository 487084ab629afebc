#include "lib/statistics/summary.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::statistics {
namespace {

TEST(summary, of_nothing_is_zero) {
  const Summary none = summarise({});
  EXPECT_EQ(none.median, 0);
  EXPECT_EQ(none.min, 0);
  EXPECT_EQ(none.max, 0);
  EXPECT_EQ(none.spread, 0);
}

TEST(summary, median_of_an_odd_number_is_the_one_in_the_middle) {
  const std::vector<double> values = {9, 1, 4};
  const Summary summary = summarise(values);
  EXPECT_EQ(summary.median, 4);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 9);
  EXPECT_EQ(summary.spread, 2);
}

TEST(summary, median_of_an_even_number_is_the_mean_of_the_two_in_the_middle) {
  const std::vector<double> values = {10, 1, 2, 4};
  EXPECT_EQ(summarise(values).median, 3);
}

TEST(summary, spread_over_a_median_of_zero_is_zero) {
  const std::vector<double> values = {0, 0, 5};
  EXPECT_EQ(summarise(values).spread, 0);
}

TEST(summary, leaves_the_values_as_they_were) {
  const std::vector<double> values = {3, 1, 2};
  static_cast<void>(summarise(values));
  EXPECT_EQ(values, (std::vector<double>{3, 1, 2}));
}

} // namespace
} // namespace tributary::statistics
