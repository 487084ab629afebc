#include "tools/simulator/traffic/traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tributary::simulator::traffic {
namespace {

using testing::HasSubstr;

HostPlaces grid_of_64() { return {64, std::vector<bool>(64, true), {4, 4}}; }

Traffic make(Pattern pattern, const HostPlaces& places = grid_of_64()) {
  return {{.pattern = pattern}, places, 7};
}

TEST(traffic, permutation_is_one_and_has_no_fixed_point) {
  Traffic traffic = make(Pattern::permutation);
  std::set<std::uint32_t> to;
  for (std::uint32_t h = 0; h < 64; ++h) {
    EXPECT_NE(traffic.destination(h), h);
    to.insert(traffic.destination(h));
  }
  EXPECT_EQ(to.size(), 64U);
}

TEST(traffic, shift_counts_live_hosts_only) {
  HostPlaces places = grid_of_64();
  places.alive[1] = false;
  Traffic traffic({.pattern = Pattern::shift, .shift = 1}, places, 7);
  EXPECT_EQ(traffic.destination(0), 2U);
  EXPECT_EQ(traffic.destination(63), 0U);
  EXPECT_EQ(traffic.first(1), Traffic::never);
  EXPECT_EQ(traffic.senders(), 63U);
}

TEST(traffic, bit_complement_inverts_all_bits) {
  Traffic traffic = make(Pattern::bit_complement);
  EXPECT_EQ(traffic.destination(0), 63U);
  EXPECT_EQ(traffic.destination(0b101010), 0b010101U);
}

TEST(traffic, transpose_reverses_coordinates_and_the_diagonal_is_silent) {
  Traffic traffic = make(Pattern::transpose);
  // Leaf (1, 2), place 3 to leaf (2, 1), place 3; four hosts a leaf.
  EXPECT_EQ(traffic.destination((1 * 4 + 2) * 4 + 3), (2U * 4 + 1) * 4 + 3);
  EXPECT_EQ(traffic.first((2 * 4 + 2) * 4), Traffic::never);
  EXPECT_EQ(traffic.senders(), 48U);
}

TEST(traffic, uniform_reaches_all_others_alike) {
  Traffic traffic = make(Pattern::uniform);
  std::vector<int> counts(64);
  for (int i = 0; i < 63'000; ++i) {
    ++counts[traffic.destination(5)];
  }
  for (std::uint32_t h = 0; h < 64; ++h) {
    EXPECT_NEAR(counts[h], h == 5 ? 0 : 1000, h == 5 ? 0 : 160) << h;
  }
}

TEST(traffic, hotspot_gets_its_share) {
  Traffic traffic({.pattern = Pattern::hotspot, .hot = 1, .hot_share = 0.5}, grid_of_64(), 7);
  std::vector<int> counts(64);
  for (int i = 0; i < 10'000; ++i) {
    ++counts[traffic.destination(static_cast<std::uint32_t>(i % 64))];
  }
  std::ranges::sort(counts);
  EXPECT_NEAR(counts.back(), 5000, 300);
  EXPECT_LT(counts[62], 200);
}

double mean_load(const TrafficSpec& spec) {
  Traffic traffic(spec, grid_of_64(), 3);
  std::uint64_t tick = traffic.first(0);
  constexpr int packets = 200'000;
  for (int i = 0; i < packets; ++i) {
    tick = traffic.next(0, tick);
  }
  return packets * static_cast<double>(spec.flits) / static_cast<double>(tick);
}

TEST(traffic, offers_the_load_it_was_asked_for) {
  EXPECT_NEAR(mean_load({.load = 0.3}), 0.3, 0.005);
  EXPECT_NEAR(mean_load({.load = 1.0}), 1.0, 0.01);
  EXPECT_NEAR(mean_load({.load = 0.01, .flits = 1}), 0.01, 0.0005);
}

TEST(traffic, bursts_keep_the_load_and_come_at_full_rate) {
  EXPECT_NEAR(mean_load({.load = 0.3, .burst = 16}), 0.3, 0.01);
  Traffic traffic({.load = 0.1, .burst = 50}, grid_of_64(), 3);
  std::uint64_t tick = traffic.first(0);
  int at_once = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t next = traffic.next(0, tick);
    at_once += next - tick == 8 ? 1 : 0;
    tick = next;
  }
  EXPECT_GT(at_once, 900);
}

TEST(traffic, no_host_sends_to_excluded_hosts) {
  Traffic traffic = make(Pattern::uniform);
  const std::vector<std::uint32_t> dead{0, 1, 2, 3};
  traffic.exclude(dead);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_GT(traffic.destination(9), 3U);
  }
  Traffic pairs = make(Pattern::bit_complement);
  pairs.exclude(dead);
  EXPECT_EQ(pairs.destination(63), Traffic::no_host);
}

std::string refusal(const TrafficSpec& spec, const HostPlaces& places) {
  try {
    Traffic traffic(spec, places, 1);
    return "";
  } catch (const TrafficError& problem) {
    return problem.what();
  }
}

TEST(traffic, what_a_pattern_cannot_do_is_said) {
  const HostPlaces odd{60, std::vector<bool>(60, true), {4, 5}};
  EXPECT_THAT(refusal({.pattern = Pattern::bit_complement}, odd), HasSubstr("power of two"));
  EXPECT_THAT(refusal({.pattern = Pattern::transpose}, odd), HasSubstr("same size"));
  EXPECT_THAT(refusal({.pattern = Pattern::hotspot, .hot = 61}, odd), HasSubstr("1 to 60"));
  EXPECT_THAT(refusal({}, {4, {true, false, false, false}, {}}), HasSubstr("fewer than two"));
}

} // namespace
} // namespace tributary::simulator::traffic
