#include "pktgen/traffic/flow_checker.hpp"

#include "tests/unit/include/wire/seed.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace tributary::pktgen::traffic {
namespace {

using enum Order;
using Begin = FlowChecker::Begin;
constexpr std::size_t smallest = 0; ///< memory that gives the smallest window

std::vector<Order> orders(FlowChecker& checker, const std::vector<std::uint64_t>& sequences) {
  std::vector<Order> all;
  for (const std::uint64_t sequence : sequences) {
    all.push_back(checker.arrived(0, sequence).order);
  }
  return all;
}

TEST(FlowChecker, distinguishes_order_repetition_and_gaps) {
  FlowChecker checker(1, Begin::at_start);
  EXPECT_EQ(orders(checker, {0, 1, 4, 2, 2, 4, 5, 3}),
            (std::vector{in_order, in_order, in_order, reordered, duplicate, duplicate, in_order,
                         reordered}));
  EXPECT_EQ(checker.missing(), 0U);
}

TEST(FlowChecker, misses_what_precedes_the_first_frame_when_flows_begin_at_their_start) {
  FlowChecker checker(2, Begin::at_start);
  (void)checker.arrived(1, 7);
  EXPECT_EQ(checker.missing(), 7U);
}

TEST(FlowChecker, misses_nothing_before_the_first_frame_when_flows_begin_where_seen) {
  FlowChecker checker(1, Begin::where_seen);
  (void)checker.arrived(0, 1'000);
  (void)checker.arrived(0, 1'003);
  EXPECT_EQ(checker.missing(), 2U);
  const FlowChecker::Arrival before = checker.arrived(0, 999);
  EXPECT_FALSE(before.counts);
  EXPECT_EQ(checker.missing(), 2U);
  EXPECT_TRUE(checker.arrived(0, 1'001).counts);
  EXPECT_EQ(checker.missing(), 1U);
}

TEST(FlowChecker, begun_again_in_mid_flow_counts_what_follows_the_largest_so_far) {
  FlowChecker checker(1, Begin::where_seen);
  (void)checker.arrived(0, 10);
  (void)checker.arrived(0, 15);
  checker.begin_again();
  EXPECT_EQ(checker.missing(), 0U);
  EXPECT_FALSE(checker.arrived(0, 12).counts) << "from before";
  EXPECT_EQ(checker.missing(), 0U);
  EXPECT_TRUE(checker.arrived(0, 18).counts);
  EXPECT_EQ(checker.missing(), 2U) << "16 and 17";
}

TEST(FlowChecker, ended_takes_what_was_missing_and_nothing_new) {
  FlowChecker checker(2, Begin::where_seen);
  (void)checker.arrived(0, 10);
  (void)checker.arrived(0, 13);
  checker.end();
  EXPECT_FALSE(checker.arrived(0, 14).counts);
  EXPECT_FALSE(checker.arrived(1, 77).counts);
  const FlowChecker::Arrival late = checker.arrived(0, 11);
  EXPECT_EQ(late.order, reordered);
  EXPECT_TRUE(late.counts);
  EXPECT_EQ(checker.missing(), 1U);
  checker.begin_again();
  EXPECT_TRUE(checker.arrived(0, 14).counts);
  EXPECT_EQ(checker.missing(), 0U) << "14 follows 13: what came after the end was forgotten";
}

TEST(FlowChecker, remembers_its_window_and_says_too_old_behind) {
  FlowChecker checker(1, Begin::at_start, smallest);
  ASSERT_EQ(checker.window(), 64U);
  for (std::uint64_t largest = 1'000; largest < 1'200; ++largest) {
    (void)checker.arrived(0, largest);
    EXPECT_EQ(checker.arrived(0, largest - 64).order, largest < 1'064 ? reordered : duplicate);
    EXPECT_EQ(checker.arrived(0, largest - 128).order, too_old);
  }
}

TEST(FlowChecker, takes_a_leap_over_the_whole_window) {
  FlowChecker checker(1, Begin::at_start, smallest);
  for (std::uint64_t s = 0; s < 128; ++s) {
    (void)checker.arrived(0, s);
  }
  EXPECT_EQ(checker.arrived(0, 128 + 5'000).order, in_order);
  EXPECT_EQ(checker.missing(), 5'000U);
  EXPECT_EQ(checker.arrived(0, 128 + 4'990).order, reordered) << "not taken for an older one";
}

TEST(FlowChecker, does_not_believe_a_sequence_out_of_all_proportion) {
  FlowChecker checker(1, Begin::at_start);
  (void)checker.arrived(0, 0);
  EXPECT_EQ(checker.arrived(0, std::uint64_t{1} << 60).order, absurd);
  EXPECT_EQ(checker.arrived(0, 1).order, in_order) << "and continues as if nothing had been";
  EXPECT_EQ(checker.missing(), 0U);
}

TEST(FlowChecker, spends_the_memory_it_is_given_on_the_window) {
  EXPECT_EQ(FlowChecker(1'000'000, Begin::at_start, smallest).window(), 64U);
  EXPECT_GE(FlowChecker(1'000, Begin::at_start).window(), 65'000U / 2);
  EXPECT_GE(FlowChecker(1, Begin::at_start).window(), 65'000U);
}

TEST(FlowChecker, keeps_flows_apart) {
  FlowChecker checker(3, Begin::at_start, smallest);
  for (std::uint64_t s = 0; s < 300; ++s) {
    for (std::size_t flow = 0; flow < 3; ++flow) {
      EXPECT_EQ(checker.arrived(flow, s).order, in_order);
    }
  }
}

/// The checker's expected results, from sets of all arrivals.
class Model {
public:
  explicit Model(Begin begin) : where_seen_(begin == Begin::where_seen) {
    if (!where_seen_) {
      first_ = 0;
    }
  }
  FlowChecker::Arrival arrived(std::uint64_t sequence) {
    if (!first_) {
      first_ = came_.empty() ? sequence : *came_.rbegin() + 1;
    }
    const bool counts = sequence >= *first_;
    if (!came_.insert(sequence).second) {
      return {duplicate, counts};
    }
    return {*came_.rbegin() == sequence ? in_order : reordered, counts};
  }
  void begin_again() {
    if (where_seen_) {
      first_.reset();
    }
  }
  [[nodiscard]] std::uint64_t missing() const {
    if (!first_ || came_.empty() || *came_.rbegin() < *first_) {
      return 0;
    }
    const auto counted = std::distance(came_.lower_bound(*first_), came_.end());
    return *came_.rbegin() + 1 - *first_ - static_cast<std::uint64_t>(counted);
  }
  [[nodiscard]] std::uint64_t largest() const { return came_.empty() ? 0 : *came_.rbegin(); }

private:
  bool where_seen_;
  std::set<std::uint64_t> came_;
  std::optional<std::uint64_t> first_;
};

TEST(FlowChecker, agrees_with_sets_of_all_that_came_within_its_window) {
  Random random(test::seed());
  for (int round = 0; round < 60; ++round) {
    const Begin begin = round % 2 == 0 ? Begin::at_start : Begin::where_seen;
    const std::size_t memory = random.below(3) * 4'000;
    constexpr std::size_t flows = 3;
    FlowChecker checker(flows, begin, memory);
    std::vector<Model> models(flows, Model(begin));
    for (int i = 0; i < 3'000; ++i) {
      const std::size_t flow = random.below(flows);
      Model& model = models[flow];
      std::uint64_t sequence = model.largest() + random.below(4);
      if (random.chance(0.3)) {
        sequence -= std::min(sequence, random.below(checker.window() + 1));
        sequence = std::max(
            sequence, model.largest() - std::min<std::uint64_t>(model.largest(), checker.window()));
      } else if (random.chance(0.01)) {
        sequence += random.below(1'000);
      }
      const FlowChecker::Arrival got = checker.arrived(flow, sequence);
      const FlowChecker::Arrival expected = model.arrived(sequence);
      ASSERT_EQ(got.order, expected.order) << "sequence " << sequence << " step " << i;
      ASSERT_EQ(got.counts, expected.counts) << "sequence " << sequence << " step " << i;
      if (random.chance(0.002)) {
        checker.begin_again();
        for (Model& each : models) {
          each.begin_again();
        }
      }
      std::uint64_t missing = 0;
      for (const Model& each : models) {
        missing += each.missing();
      }
      ASSERT_EQ(checker.missing(), missing) << "step " << i;
    }
  }
}

} // namespace
} // namespace tributary::pktgen::traffic
