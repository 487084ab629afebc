// The impairments: seeded decisions, and the stage that holds real frames.
//
// Every statistical bound is six standard deviations wide, so with a right implementation a seed
// fails once in 500 million; the seed is fixed and can be set with TRIBUTARY_SEED.
#include "dataplane/port/impairment.hpp"
#include "dataplane/port/impairment_stage.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "tests/unit/port/shared_eal.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace tributary::dataplane::test {
namespace {

std::uint64_t seed() {
  const char* given = std::getenv("TRIBUTARY_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 20'260'101;
}

/// How many of `draws` frames meet the predicate.
template <typename F>
std::uint64_t count_fates(const config::Impairment& impairment, std::uint64_t draws, F&& f) {
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
  constexpr std::uint64_t hold_ns = std::chrono::nanoseconds(reorder_hold).count();
  Impairer impairer({.reorder = 0.25}, seed());
  std::uint64_t held = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const Fate fate = impairer.decide(TimeNs{1000});
    ASSERT_EQ(fate.copies, 1);
    ASSERT_TRUE(fate.at[0].value == 1000 || fate.at[0].value == 1000 + hold_ns);
    held += fate.at[0].value != 1000 ? 1 : 0;
  }
  expect_rate(held, draws, 0.25);
}

TEST(Impairer, delay_is_exact_and_jitter_spreads_over_its_whole_range) {
  Impairer impairer(
      {.delay = std::chrono::microseconds(10), .jitter = std::chrono::microseconds(4)}, seed());
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
  const config::Impairment all{.loss = 0.1,
                               .duplicate = 0.1,
                               .reorder = 0.1,
                               .delay = std::chrono::microseconds(5),
                               .jitter = std::chrono::microseconds(50)};
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

class ImpairmentStageTest : public ::testing::Test {
protected:
  rte_mbuf* frame(std::uint8_t tag) {
    rte_mbuf* buffer = rte_pktmbuf_alloc(shared_eal().pool());
    *reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(buffer, 64)) = tag;
    return buffer;
  }
  static std::uint8_t tag_of(const rte_mbuf* buffer) {
    return *rte_pktmbuf_mtod(buffer, const std::uint8_t*);
  }
  std::vector<std::uint8_t> take(ImpairmentStage& stage, TimeNs now) {
    std::vector<std::uint8_t> tags;
    rte_mbuf* buffer = nullptr;
    while (stage.take_due(now, &buffer, 1) == 1) {
      tags.push_back(tag_of(buffer));
      rte_pktmbuf_free(buffer);
    }
    return tags;
  }
};

TEST_F(ImpairmentStageTest, gives_frames_back_in_order_when_they_are_due) {
  ImpairmentStage stage({.delay = std::chrono::microseconds(1)}, seed(), shared_eal().pool());
  for (std::uint8_t i = 0; i < 5; ++i) {
    rte_mbuf* f = frame(i);
    EXPECT_EQ(stage.admit(&f, 1, TimeNs{i < 3 ? 0U : 500U}), 0U);
  }
  EXPECT_EQ(stage.next_due(), TimeNs{1000});
  EXPECT_TRUE(take(stage, TimeNs{999}).empty());
  EXPECT_EQ(take(stage, TimeNs{1000}), (std::vector<std::uint8_t>{0, 1, 2}));
  EXPECT_EQ(take(stage, TimeNs{1500}), (std::vector<std::uint8_t>{3, 4}));
  EXPECT_EQ(stage.next_due(), never);
}

TEST_F(ImpairmentStageTest, a_duplicate_is_a_buffer_of_its_own) {
  ImpairmentStage stage({.duplicate = 1}, seed(), shared_eal().pool());
  rte_mbuf* original = frame(7);
  stage.admit(&original, 1, TimeNs{0});
  rte_mbuf* two[2] = {};
  ASSERT_EQ(stage.take_due(TimeNs{0}, two, 2), 2);
  EXPECT_NE(rte_pktmbuf_mtod(two[0], void*), rte_pktmbuf_mtod(two[1], void*));
  EXPECT_EQ(tag_of(two[0]), 7);
  EXPECT_EQ(tag_of(two[1]), 7);
  rte_pktmbuf_free_bulk(two, 2);
}

TEST_F(ImpairmentStageTest, lost_and_held_frames_return_to_the_pool_and_capacity_is_bounded) {
  const std::uint32_t before = shared_eal().free_buffers();
  {
    ImpairmentStage lossy({.loss = 1}, seed(), shared_eal().pool());
    rte_mbuf* f = frame(0);
    EXPECT_EQ(lossy.admit(&f, 1, TimeNs{0}), 1U);
    EXPECT_EQ(shared_eal().free_buffers(), before);
    ImpairmentStage slow({.delay = std::chrono::seconds(9)}, seed(), shared_eal().pool());
    std::uint32_t lost = 0;
    for (std::size_t i = 0; i < ImpairmentStage::capacity + 10; ++i) {
      rte_mbuf* one = frame(0);
      lost += slow.admit(&one, 1, TimeNs{0});
    }
    EXPECT_EQ(lost, 10U);
    EXPECT_EQ(shared_eal().free_buffers(), before - ImpairmentStage::capacity);
  }
  EXPECT_EQ(shared_eal().free_buffers(), before);
}

} // namespace
} // namespace tributary::dataplane::test
