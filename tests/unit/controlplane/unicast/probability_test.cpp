// How likely random dead leaves hit every row and every column: the figures of docs/protocol/
// unicast-routes.md, and the paper's, which counts one placement only.
#include "tests/unit/controlplane/unicast/fault_classes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tributary::unicast {
namespace {

long double choose(unsigned n, unsigned k) {
  if (k > n) {
    return 0;
  }
  long double ways = 1;
  for (unsigned i = 0; i < k; ++i) {
    ways = ways * static_cast<long double>(n - i) / static_cast<long double>(i + 1);
  }
  return std::round(ways);
}

/// One particular set of n leaves is dead, as the diagonal.
long double one_placement(unsigned n, unsigned k) {
  return choose(n * n - n, k - n) / choose(n * n, k);
}
/// No column is clean: inclusion and exclusion over those that are.
long double every_column(unsigned n, unsigned k) {
  long double ways = 0;
  for (unsigned j = 0; j <= n; ++j) {
    ways += (j % 2 == 0 ? 1 : -1) * choose(n, j) * choose(n * (n - j), k);
  }
  return ways / choose(n * n, k);
}
long double every_row_and_column(unsigned n, unsigned k) {
  long double ways = 0;
  for (unsigned i = 0; i <= n; ++i) {
    for (unsigned j = 0; j <= n; ++j) {
      ways +=
          ((i + j) % 2 == 0 ? 1 : -1) * choose(n, i) * choose(n, j) * choose((n - i) * (n - j), k);
    }
  }
  return ways / choose(n * n, k);
}

/// To as many digits as the page has.
void expect_near(long double value, long double expected, long double relative) {
  EXPECT_NEAR(static_cast<double>(value / expected), 1.0, static_cast<double>(relative));
}

TEST(HitProbability, IsWhatThePageSays) {
  expect_near(one_placement(16, 16), 9.9e-26L, 0.005L);
  expect_near(one_placement(16, 18), 1.5e-23L, 0.05L);
  expect_near(one_placement(16, 20), 4.807e-22L, 0.0002L);
  expect_near(one_placement(16, 30), 1.4e-17L, 0.05L);
  expect_near(every_column(16, 16), 1.83e-6L, 0.003L);
  expect_near(every_column(16, 18), 7.14e-5L, 0.001L);
  expect_near(every_column(16, 20), 6.20e-4L, 0.001L);
  expect_near(every_column(16, 30), 6.92e-2L, 0.001L);
  expect_near(every_row_and_column(16, 16), 2.08e-12L, 0.003L);
  expect_near(every_row_and_column(16, 18), 3.51e-9L, 0.002L);
  expect_near(every_row_and_column(16, 20), 2.877e-7L, 0.0002L);
  expect_near(every_row_and_column(16, 30), 4.40e-3L, 0.002L);
}

TEST(HitProbability, IsWhatCountingGives) {
  FaultClasses classes(4);
  for (unsigned k = 1; k <= 6; ++k) {
    classes.add_mark(1);
    std::uint64_t hit = 0;
    for (const FaultClass& one : classes.classes()) {
      unsigned rows = 0;
      unsigned columns = 0;
      for (unsigned leaf = 0; leaf < 16; ++leaf) {
        rows |= one.marks[leaf] != 0 ? 1U << leaf / 4 : 0U;
        columns |= one.marks[leaf] != 0 ? 1U << leaf % 4 : 0U;
      }
      hit += rows == 15 && columns == 15 ? one.members : 0;
    }
    EXPECT_NEAR(static_cast<double>(every_row_and_column(4, k) * choose(16, k)),
                static_cast<double>(hit), 1e-6)
        << k;
  }
}

} // namespace
} // namespace tributary::unicast
