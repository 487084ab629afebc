// What is to become of frames on links that are impaired, and the order in which delayed ones come.
//
// Every statistical bound is six standard deviations wide, so with a right implementation a seed
// fails once in 500 million; the seed is fixed and can be set with TRIBUTARY_SEED.
#include "dataplane/impairment/held_frames.hpp"
#include "dataplane/impairment/impairer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace tributary::impairment::test {
namespace {

std::uint64_t seed() {
  const char* given = std::getenv("TRIBUTARY_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 20'260'101;
}

/// How many of `draws` frames meet the predicate.
template <typename F>
std::uint64_t count_fates(const Settings& impairment, std::uint64_t draws, F&& f) {
  Impairer impairer(impairment, seed());
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    hits += f(impairer.decide(TimeNs{i})) ? 1 : 0;
  }
  return hits;
}

void expect_rate(std::uint64_t hits, std::uint64_t draws, double probability) {
  const double n = static_cast<double>(draws);
  const double deviation = std::sqrt(n * probability * (1 - probability));
  EXPECT_NEAR(static_cast<double>(hits), n * probability, 6 * deviation) << "seed " << seed();
}

constexpr std::uint64_t draws = 200'000;

TEST(Impairer, loses_the_configured_part) {
  expect_rate(count_fates({.loss = 0.03}, draws, [](const Fate& f) { return f.copies == 0; }),
              draws, 0.03);
}

TEST(Impairer, duplicates_the_configured_part_of_what_is_not_lost) {
  expect_rate(count_fates({.loss = 0.5, .duplicate = 0.2}, draws,
                          [](const Fate& f) { return f.copies == 2; }),
              draws, 0.1);
}

TEST(Impairer, holds_back_the_configured_part) {
  constexpr std::uint64_t hold_ns = 200'000;
  Impairer impairer({.reorder = 0.25}, seed());
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const Fate fate = impairer.decide(TimeNs{1000});
    ASSERT_EQ(fate.copies, 1);
    ASSERT_TRUE(fate.at[0].value == 1000 || fate.at[0].value == 1000 + hold_ns);
    ASSERT_EQ(fate.held[0], fate.at[0].value != 1000);
    held += fate.held[0] ? 1 : 0;
  }
  expect_rate(held, draws, 0.25);
}

TEST(Impairer, delay_is_exact_and_jitter_spreads_over_its_whole_range) {
  Impairer impairer({.delay_ns = 10'000, .jitter_ns = 4'000}, seed());
  std::uint64_t earliest = ~0ULL;
  std::uint64_t latest = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const std::uint64_t at = impairer.decide(TimeNs{0}).at[0].value;
    ASSERT_GE(at, 10'000U);
    ASSERT_LE(at, 14'000U);
    earliest = std::min(earliest, at);
    latest = std::max(latest, at);
  }
  EXPECT_LT(earliest, 10'050U);
  EXPECT_GT(latest, 13'950U);
}

TEST(Impairer, probabilities_zero_and_one_are_exact) {
  EXPECT_EQ(count_fates({}, draws, [](const Fate& f) { return f.copies == 1; }), draws);
  EXPECT_EQ(count_fates({.loss = 1}, draws, [](const Fate& f) { return f.copies == 0; }), draws);
  EXPECT_EQ(count_fates({.duplicate = 1}, draws, [](const Fate& f) { return f.copies == 2; }),
            draws);
}

TEST(Impairer, the_same_seed_decides_the_same_and_another_one_does_not) {
  const Settings all{
      .loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .delay_ns = 5'000, .jitter_ns = 50'000};
  Impairer a(all, 1);
  Impairer b(all, 1);
  Impairer other(all, 2);
  int differences = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Fate fate = a.decide(TimeNs{i});
    const Fate same = b.decide(TimeNs{i});
    ASSERT_EQ(fate.copies, same.copies);
    ASSERT_EQ(fate.at, same.at);
    const Fate different = other.decide(TimeNs{i});
    differences += fate.copies != different.copies || fate.at != different.at ? 1 : 0;
  }
  EXPECT_GT(differences, 500);
}

TEST(Impairer, damages_the_configured_part_of_each_copy_and_each_kind_by_itself) {
  expect_rate(
      count_fates({.wire_damage = 0.1}, draws, [](const Fate& f) { return f.damage[0].on_wire; }),
      draws, 0.1);
  expect_rate(count_fates({.duplicate = 1, .header_damage = 0.1}, draws,
                          [](const Fate& f) { return f.damage[1].in_header; }),
              draws, 0.1);
  EXPECT_EQ(
      count_fates({.wire_damage = 1}, draws, [](const Fate& f) { return f.damage[0].in_header; }),
      0U);
}

TEST(Impairer, a_fault_that_is_off_changes_nothing_of_the_others) {
  Impairer some({.loss = 0.3, .jitter_ns = 1'000}, 5);
  Impairer same({.loss = 0.3, .jitter_ns = 1'000, .hold_ns = 7}, 5);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const Fate a = some.decide(TimeNs{i});
    const Fate b = same.decide(TimeNs{i});
    ASSERT_EQ(a.copies, b.copies);
    ASSERT_EQ(a.at, b.at);
  }
}

TEST(HeldFrames, come_when_they_are_due_and_in_order_when_that_is_at_once) {
  HeldFrames<int> held(4);
  EXPECT_EQ(held.next_due(), never);
  held.push(TimeNs{20}, 1);
  held.push(TimeNs{10}, 2);
  held.push(TimeNs{20}, 3);
  held.push(TimeNs{10}, 4);
  EXPECT_EQ(held.room(), 0U);
  EXPECT_EQ(held.next_due(), TimeNs{10});
  std::vector<int> order;
  while (!held.empty()) {
    order.push_back(held.pop());
  }
  EXPECT_EQ(order, (std::vector<int>{2, 4, 1, 3}));
  EXPECT_EQ(held.room(), 4U);
}

} // namespace
} // namespace tributary::impairment::test
