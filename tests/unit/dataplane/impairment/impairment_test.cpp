// The fate of frames on impaired links, and the order in which delayed ones arrive.
//
// Every statistical bound is six standard deviations wide, so with a right implementation a seed
// fails once in 500 million; the seed is fixed and can be set with TRIBUTARY_SEED.
#include "dataplane/impairment/held_frames.hpp"
#include "dataplane/impairment/impairer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
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

/// All that can be taken then, in order.
std::vector<int> taken(HeldFrames<int>& held, TimeNs now) {
  std::vector<int> order;
  for (HeldFrames<int>::Released released; held.take(now, released);) {
    order.push_back(released.frame);
  }
  return order;
}

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

TEST(Impairer, loses_in_bursts_of_the_configured_length_and_share) {
  const Settings settings{.good_to_bad = 0.01, .bad_to_good = 0.25};
  Impairer impairer(settings, seed());
  std::uint64_t lost = 0;
  std::uint64_t bursts = 0;
  bool before = false;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const Fate fate = impairer.decide(TimeNs{i});
    const bool now = fate.loss == Loss::in_burst;
    ASSERT_EQ(fate.copies == 0, now);
    lost += now ? 1 : 0;
    bursts += now && !before ? 1 : 0;
    before = now;
  }
  // Frames of a burst are not independent: the variance of their number is about 1 + 2 (1-r)/r
  // times that of independent ones.
  const double share = 0.01 / 0.26;
  const double n = static_cast<double>(draws);
  const double deviation = std::sqrt(n * share * (1 - share) * (1 + 2 * 0.74 / 0.26));
  EXPECT_NEAR(static_cast<double>(lost), n * share, 6 * deviation) << "seed " << seed();
  // Lengths are geometric, of mean 4 and variance 12.
  const double mean = static_cast<double>(lost) / static_cast<double>(bursts);
  EXPECT_NEAR(mean, 4, 6 * std::sqrt(12.0 / static_cast<double>(bursts))) << "seed " << seed();
}

TEST(Impairer, both_states_of_the_burst_model_have_their_own_loss) {
  expect_rate(count_fates({.loss_good = 0.1}, draws,
                          [](const Fate& f) { return f.loss == Loss::in_burst; }),
              draws, 0.1);
  // The bad state begins immediately and never ends.
  expect_rate(count_fates({.good_to_bad = 1, .bad_to_good = 0, .loss_bad = 0.3}, draws,
                          [](const Fate& f) { return f.loss == Loss::in_burst; }),
              draws, 0.3);
}

TEST(Impairer, corrupts_the_configured_part_by_the_configured_number_of_bits) {
  expect_rate(
      count_fates({.corrupt = 0.2}, draws, [](const Fate& f) { return f.damage[0].anywhere; }),
      draws, 0.2);
  for (const std::uint32_t bits : {1U, 2U, 7U, 64U}) {
    Impairer impairer({.corrupt = 1, .corrupt_bits = bits}, seed());
    std::array<bool, 94> touched{};
    for (int i = 0; i < 2'000; ++i) {
      std::array<std::byte, 94> frame{};
      impairer.corrupt(frame);
      std::uint32_t changed = 0;
      for (std::size_t at = 0; at < frame.size(); ++at) {
        changed += static_cast<std::uint32_t>(std::popcount(std::to_integer<unsigned>(frame[at])));
        touched[at] = touched[at] || frame[at] != std::byte{0};
      }
      ASSERT_EQ(changed, bits);
    }
    EXPECT_EQ(std::ranges::count(touched, true), 94) << "every byte may be hit";
  }
}

TEST(Impairer, corrupts_at_most_as_many_bits_as_there_are) {
  Impairer impairer({.corrupt = 1, .corrupt_bits = 64}, seed());
  std::array<std::byte, 2> frame{};
  impairer.corrupt(frame);
  EXPECT_EQ(frame[0], std::byte{0xFF});
  EXPECT_EQ(frame[1], std::byte{0xFF});
  impairer.corrupt({});
}

/// The fates of existing seeds, on which seeds of the virtual fabric depend.
TEST(Impairer, draws_as_it_always_did) {
  Impairer impairer({.loss = 0.1,
                     .duplicate = 0.2,
                     .reorder = 0.3,
                     .wire_damage = 0.1,
                     .header_damage = 0.1,
                     .delay_ns = 100,
                     .jitter_ns = 1'000},
                    12345);
  std::uint64_t digest = 0;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const Fate f = impairer.decide(TimeNs{i});
    digest = digest * 31 + f.copies;
    for (std::size_t copy = 0; copy < f.copies; ++copy) {
      digest = digest * 31 + f.at[copy].value;
      digest = digest * 31 + (f.held[copy] ? 1 : 0) + (f.damage[copy].on_wire ? 2 : 0) +
               (f.damage[copy].in_header ? 4 : 0);
    }
  }
  EXPECT_EQ(digest, 11723168765696114774ULL);
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
  EXPECT_EQ(taken(held, TimeNs{9}), std::vector<int>{});
  EXPECT_EQ(taken(held, TimeNs{20}), (std::vector<int>{2, 4, 1, 3}));
  EXPECT_EQ(held.room(), 4U);
}

TEST(HeldFrames, a_frame_behind_others_comes_when_so_many_have_passed) {
  HeldFrames<int> held(8, 1'000);
  held.push(TimeNs{10}, 1, 2);
  EXPECT_EQ(taken(held, TimeNs{10}), std::vector<int>{});
  EXPECT_EQ(held.next_due(), TimeNs{1'010});
  held.push(TimeNs{20}, 2);
  EXPECT_EQ(taken(held, TimeNs{20}), std::vector<int>{2});
  held.push(TimeNs{30}, 3);
  held.push(TimeNs{30}, 4);
  EXPECT_EQ(taken(held, TimeNs{30}), (std::vector<int>{3, 1, 4}));
}

TEST(HeldFrames, a_frame_that_nothing_passes_comes_in_time_all_the_same) {
  HeldFrames<int> held(8, 1'000);
  held.push(TimeNs{10}, 1, 2);
  held.push(TimeNs{20}, 2, 2);
  EXPECT_EQ(taken(held, TimeNs{1'009}), std::vector<int>{});
  HeldFrames<int>::Released released;
  ASSERT_TRUE(held.take(TimeNs{1'010}, released));
  EXPECT_EQ(released.frame, 1);
  EXPECT_TRUE(released.expired);
  EXPECT_EQ(held.next_due(), TimeNs{1'020});
  EXPECT_EQ(taken(held, never), std::vector<int>{2});
  EXPECT_TRUE(held.empty());
}

} // namespace
} // namespace tributary::impairment::test
