// The rate limit: when frames leave, and which are dropped.
#include "dataplane/impairment/rate_limit.hpp"

#include <gtest/gtest.h>

namespace tributary::impairment::test {
namespace {

constexpr std::uint64_t frame_bytes = 1'000;
/// At 8 Mbit/s a byte takes a microsecond.
constexpr std::uint64_t kbps = 8'000;
constexpr std::uint64_t frame_ns = 1'000'000;

TEST(RateLimit, none_lets_everything_pass_at_once) {
  RateLimit limit(0, 1, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(limit.departure(TimeNs{5}, 9'000), TimeNs{5});
  }
}

TEST(RateLimit, a_burst_passes_and_what_follows_leaves_at_the_rate) {
  RateLimit limit(kbps, 3 * frame_bytes, 1'000'000);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes), TimeNs{0});
  }
  EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes), TimeNs{frame_ns});
  EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes / 2), TimeNs{frame_ns * 3 / 2});
}

TEST(RateLimit, a_pause_fills_the_bucket_again_but_no_further) {
  RateLimit limit(kbps, 2 * frame_bytes, 1'000'000);
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(limit.departure(TimeNs{0}, frame_bytes));
  }
  const TimeNs later{1'000 * frame_ns};
  EXPECT_EQ(limit.departure(later, frame_bytes), later);
  EXPECT_EQ(limit.departure(later, frame_bytes), later);
  EXPECT_EQ(limit.departure(later, frame_bytes), later + frame_ns);
}

TEST(RateLimit, drops_what_finds_the_queue_full_and_takes_what_fits_again) {
  RateLimit limit(kbps, frame_bytes, 2 * frame_bytes);
  EXPECT_TRUE(limit.departure(TimeNs{0}, frame_bytes).has_value());
  EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes), TimeNs{frame_ns});
  EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes), TimeNs{2 * frame_ns});
  EXPECT_FALSE(limit.departure(TimeNs{0}, frame_bytes).has_value());
  EXPECT_FALSE(limit.departure(TimeNs{0}, frame_bytes).has_value()) << "and owes nothing for it";
  EXPECT_EQ(limit.departure(TimeNs{frame_ns}, frame_bytes), TimeNs{3 * frame_ns});
}

TEST(RateLimit, a_frame_longer_than_the_bucket_is_deep_passes_all_the_same) {
  RateLimit limit(kbps, 1, 10 * frame_bytes);
  EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes + 1), TimeNs{frame_ns});
  EXPECT_EQ(limit.departure(TimeNs{0}, frame_bytes), TimeNs{2 * frame_ns});
}

TEST(RateLimit, in_the_long_run_carries_its_rate) {
  RateLimit limit(1'000'000, 16'384, 131'072); // 1 Gbit/s, offered twice that
  std::uint64_t carried = 0;
  TimeNs last;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    if (const auto leaves = limit.departure(TimeNs{i * 6'000}, 1'500)) {
      ASSERT_GE(*leaves, last);
      last = *leaves;
      carried += 1'500;
    }
  }
  const double seconds = 100'000 * 6e-6;
  EXPECT_NEAR(static_cast<double>(carried) * 8 / seconds, 1e9, 1e9 * 0.005);
}

} // namespace
} // namespace tributary::impairment::test
