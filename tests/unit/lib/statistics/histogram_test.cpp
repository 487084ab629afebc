#include "lib/statistics/histogram.hpp"

#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace tributary::statistics {
namespace {

constexpr std::uint64_t largest = ~std::uint64_t{0};

TEST(buckets, follow_each_other_without_gap_from_zero_to_the_largest_value) {
  EXPECT_EQ(Histogram::lowest_of(0), 0U);
  for (std::size_t i = 0; i + 1 < Histogram::buckets; ++i) {
    ASSERT_LE(Histogram::lowest_of(i), Histogram::highest_of(i)) << i;
    ASSERT_EQ(Histogram::highest_of(i) + 1, Histogram::lowest_of(i + 1)) << i;
  }
  EXPECT_EQ(Histogram::highest_of(Histogram::buckets - 1), largest);
}

TEST(buckets, hold_their_lowest_and_their_highest_value) {
  for (std::size_t i = 0; i < Histogram::buckets; ++i) {
    ASSERT_EQ(Histogram::bucket_of(Histogram::lowest_of(i)), i);
    ASSERT_EQ(Histogram::bucket_of(Histogram::highest_of(i)), i);
  }
}

TEST(buckets, are_exact_below_256_and_never_wider_than_a_128th_above) {
  for (std::size_t i = 0; i < Histogram::buckets; ++i) {
    const std::uint64_t lowest = Histogram::lowest_of(i);
    const std::uint64_t further = Histogram::highest_of(i) - lowest;
    if (lowest < 256) {
      ASSERT_EQ(further, 0U) << i;
    } else {
      ASSERT_LT(further, lowest / 128) << i;
    }
  }
}

TEST(buckets, powers_of_two_begin_a_bucket_over_the_whole_range) {
  for (unsigned k = 0; k < 64; ++k) {
    const std::uint64_t power = std::uint64_t{1} << k;
    ASSERT_EQ(Histogram::lowest_of(Histogram::bucket_of(power)), power);
    if (k > 0) {
      ASSERT_EQ(Histogram::bucket_of(power - 1) + 1, Histogram::bucket_of(power));
    }
  }
}

TEST(histogram, empty_answers_zero_everywhere) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.min(), 0U);
  EXPECT_EQ(empty.max(), 0U);
  EXPECT_EQ(empty.mean(), 0.0);
  EXPECT_EQ(empty.quantile(0.5), 0U);
  empty.for_each([](auto, auto, auto) { FAIL() << "a bucket of nothing"; });
}

TEST(histogram, one_value_is_every_quantile) {
  Histogram one;
  one.record(123'456'789);
  for (const double share : {0.0, 0.001, 0.5, 0.999, 1.0}) {
    EXPECT_EQ(one.quantile(share), 123'456'789U) << share;
  }
}

TEST(histogram, sum_of_the_largest_values_does_not_wrap) {
  Histogram histogram;
  histogram.record(largest, 1000);
  histogram.record(largest);
  EXPECT_EQ(histogram.mean(), static_cast<double>(largest));
  EXPECT_EQ(histogram.quantile(0.5), largest);
}

TEST(histogram, quantiles_of_hundred_values_are_those_one_counts_by_hand) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 100; ++value) {
    histogram.record(value);
  }
  for (unsigned percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(histogram.quantile(percent / 100.0), percent);
  }
  EXPECT_EQ(histogram.quantile(0.011), 2U) << "one value is less than 1.1 % of them";
}

TEST(histogram, clear_forgets_everything) {
  Histogram histogram;
  histogram.record(7, 9);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  histogram.record(1000);
  EXPECT_EQ(histogram.min(), 1000U);
  EXPECT_EQ(histogram.max(), 1000U);
  EXPECT_EQ(histogram.mean(), 1000.0);
}

struct Distribution {
  std::string name;
  std::function<std::uint64_t(test::Random&)> draw;
};

class distributions : public testing::TestWithParam<Distribution> {
protected:
  static std::vector<std::uint64_t> values(test::Random& random) {
    std::vector<std::uint64_t> drawn(1 + random() % 20'000);
    std::generate(drawn.begin(), drawn.end(), [&] { return GetParam().draw(random); });
    return drawn;
  }
};

TEST_P(distributions, quantiles_exceed_the_sorted_values_by_a_128th_at_most) {
  test::Random random(test::seed());
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint64_t> all = values(random);
    Histogram histogram;
    for (const std::uint64_t value : all) {
      histogram.record(value);
    }
    std::sort(all.begin(), all.end());
    for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
      const double rank = std::ceil(share * static_cast<double>(all.size()) * (1 - 1e-14));
      const std::uint64_t exact = all[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
      ASSERT_GE(histogram.quantile(share), exact) << share << " of " << all.size();
      ASSERT_LE(histogram.quantile(share) - exact, exact / 128) << share << " of " << all.size();
    }
    EXPECT_EQ(histogram.quantile(0), all.front());
    EXPECT_EQ(histogram.quantile(1), all.back());
  }
}

TEST_P(distributions, minimum_maximum_mean_and_count_are_exact) {
  test::Random random(test::seed());
  const std::vector<std::uint64_t> all = values(random);
  Histogram histogram;
  for (const std::uint64_t value : all) {
    histogram.record(value);
  }
  EXPECT_EQ(histogram.count(), all.size());
  EXPECT_EQ(histogram.min(), *std::min_element(all.begin(), all.end()));
  EXPECT_EQ(histogram.max(), *std::max_element(all.begin(), all.end()));
  const long double sum = std::accumulate(all.begin(), all.end(), 0.0L);
  EXPECT_DOUBLE_EQ(histogram.mean(),
                   static_cast<double>(sum / static_cast<long double>(all.size())));
}

TEST_P(distributions, merging_equals_recording_all_in_one) {
  test::Random random(test::seed());
  const std::vector<std::uint64_t> all = values(random);
  Histogram whole;
  std::vector<Histogram> parts(5); // the last one stays empty
  for (const std::uint64_t value : all) {
    whole.record(value);
    parts[random() % 4].record(value);
  }
  Histogram merged;
  for (const Histogram& part : parts) {
    merged.merge(part);
  }
  using Bucket = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  const auto buckets_of = [](const Histogram& histogram) {
    std::vector<Bucket> found;
    histogram.for_each([&](auto low, auto high, auto n) { found.emplace_back(low, high, n); });
    return found;
  };
  EXPECT_EQ(buckets_of(merged), buckets_of(whole));
  EXPECT_EQ(merged.count(), whole.count());
  EXPECT_EQ(merged.min(), whole.min());
  EXPECT_EQ(merged.max(), whole.max());
  EXPECT_EQ(merged.mean(), whole.mean());
}

TEST_P(distributions, recording_several_times_equals_recording_one_by_one) {
  test::Random random(test::seed());
  Histogram at_once;
  Histogram singly;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = GetParam().draw(random);
    const std::uint64_t times = random() % 50;
    if (times > 0) {
      at_once.record(value, times);
    }
    for (std::uint64_t n = 0; n < times; ++n) {
      singly.record(value);
    }
  }
  EXPECT_EQ(at_once.count(), singly.count());
  EXPECT_EQ(at_once.mean(), singly.mean());
  EXPECT_EQ(at_once.quantile(0.7), singly.quantile(0.7));
}

INSTANTIATE_TEST_SUITE_P(
    of, distributions,
    testing::Values(
        Distribution{"small", [](test::Random& r) { return r() % 300; }},
        Distribution{"uniform_over_64_bits", [](test::Random& r) { return r(); }},
        Distribution{"uniform_over_octaves", [](test::Random& r) { return r() >> (r() % 64); }},
        Distribution{"exponential",
                     [](test::Random& r) {
                       return static_cast<std::uint64_t>(std::exponential_distribution<>(1e-5)(r));
                     }},
        Distribution{"long_tailed",
                     [](test::Random& r) {
                       return static_cast<std::uint64_t>(std::lognormal_distribution<>(10, 2)(r));
                     }}),
    [](const auto& one) { return one.param.name; });

} // namespace
} // namespace tributary::statistics
