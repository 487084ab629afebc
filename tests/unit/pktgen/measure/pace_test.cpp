#include "pktgen/measure/pace.hpp"

#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace tributary::pktgen::measure {
namespace {

__extension__ using Wide = unsigned __int128;

/// floor(k * 10^9 / rate) by long division, one binary digit of `k` at a time.
std::uint64_t intended(std::uint64_t k, double rate) {
  int exponent = 0;
  const auto numerator = static_cast<std::uint64_t>(std::ldexp(std::frexp(rate, &exponent), 53));
  const Wide of_one = Wide{1'000'000'000} << (53 - exponent);
  Wide whole = 0;
  Wide rest = 0; // in units of 1 / numerator
  for (int bit = 63; bit >= 0; --bit) {
    whole *= 2;
    rest *= 2;
    if ((k >> bit & 1) != 0) {
      whole += of_one / numerator;
      rest += of_one % numerator;
    }
    whole += rest / numerator;
    rest %= numerator;
  }
  return static_cast<std::uint64_t>(whole);
}

TEST(pace, first_event_is_at_the_start) {
  EXPECT_EQ(Pace(3).next(), TimeNs{0});
  EXPECT_EQ(Pace(3, TimeNs{77}).next(), TimeNs{77});
}

TEST(pace, three_a_second_are_exact_thirds) {
  Pace pace(3);
  for (std::uint64_t k = 0; k < 10'000; ++k) {
    ASSERT_EQ(pace.next().value, k * 1'000'000'000 / 3) << k;
    pace.advance();
  }
}

TEST(pace, faster_than_the_clock_several_events_share_a_nanosecond) {
  Pace pace(4e9);
  for (std::uint64_t k = 0; k < 1'000; ++k) {
    ASSERT_EQ(pace.next().value, k / 4) << k;
    pace.advance();
  }
}

TEST(pace, does_not_drift_over_a_million_million_events) {
  constexpr std::uint64_t events = 1'000'000'000'000;
  for (const double rate : {7e4, 14'880'952.38, 1e6 / 3, 999'999.999, 1.25e10}) {
    Pace pace(rate);
    constexpr std::uint64_t stride = 999'983;
    std::uint64_t k = 0;
    for (; k + stride <= events; k += stride) {
      pace.advance(stride);
    }
    pace.advance(events - k);
    EXPECT_EQ(pace.next().value, intended(events, rate)) << rate;
    const long double expected = 1e9L * static_cast<long double>(events) / rate;
    EXPECT_NEAR(static_cast<double>(pace.next().value / expected), 1, 1e-9) << rate;
  }
}

TEST(pace, one_by_one_and_all_at_once_come_to_the_same_for_random_rates) {
  test::Random random(test::seed());
  for (int round = 0; round < 200; ++round) {
    const double rate = std::pow(10, std::uniform_real_distribution<>(-5.9, 14.9)(random));
    const TimeNs start{random() % 1'000'000'000'000};
    const std::uint64_t events = random() % 5'000;
    Pace singly(rate, start);
    Pace at_once(rate, start);
    for (std::uint64_t k = 0; k < events; ++k) {
      ASSERT_EQ(singly.next().value, start.value + intended(k, rate)) << rate << ' ' << k;
      singly.advance();
    }
    at_once.advance(events);
    EXPECT_EQ(singly.next(), at_once.next()) << rate << ' ' << events;
  }
}

TEST(pace, bits_a_second_with_frames_of_changing_length) {
  test::Random random(test::seed());
  constexpr double rate = 10e9;
  Pace pace(rate);
  std::uint64_t bits = 0;
  for (int frame = 0; frame < 100'000; ++frame) {
    ASSERT_EQ(pace.next().value, intended(bits, rate)) << frame;
    const std::uint64_t cost = 8 * (84 + random() % 1500);
    bits += cost;
    pace.advance(cost);
  }
  EXPECT_EQ(pace.next().value, bits / 10) << "ten bits a nanosecond";
}

TEST(pace, set_start_begins_a_new_schedule) {
  Pace pace(3);
  pace.advance();
  pace.set_start(TimeNs{1'000});
  EXPECT_EQ(pace.next(), TimeNs{1'000});
  pace.advance();
  EXPECT_EQ(pace.next(), TimeNs{333'334'333});
  pace.advance();
  pace.advance();
  EXPECT_EQ(pace.next(), TimeNs{1'000'001'000});
}

TEST(pace, refuses_rates_that_are_none) {
  EXPECT_THROW(Pace{0}, std::invalid_argument);
  EXPECT_THROW(Pace{-1}, std::invalid_argument);
  EXPECT_THROW(Pace{std::numeric_limits<double>::quiet_NaN()}, std::invalid_argument);
  EXPECT_THROW(Pace{std::numeric_limits<double>::infinity()}, std::invalid_argument);
  EXPECT_THROW(Pace{Pace::slowest / 2}, std::invalid_argument);
  EXPECT_NO_THROW(Pace{Pace::slowest});
  EXPECT_NO_THROW(Pace{Pace::fastest});
}

} // namespace
} // namespace tributary::pktgen::measure
