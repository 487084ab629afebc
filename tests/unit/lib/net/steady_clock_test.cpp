#include "lib/net/steady_clock.hpp"

#include <gtest/gtest.h>

namespace tributary::net {
namespace {

TEST(steady_now, is_the_time_of_timers_and_of_all_else) {
  const auto before = std::chrono::steady_clock::now();
  const TimeNs now = steady_now();
  const auto after = std::chrono::steady_clock::now();
  EXPECT_LE(before, time_point_of(now));
  EXPECT_LE(time_point_of(now), after);
}

TEST(time_point_of, keeps_every_nanosecond) {
  const TimeNs time{123'456'789'012'345'678};
  EXPECT_EQ(time_point_of(time).time_since_epoch(), std::chrono::nanoseconds(123456789012345678));
  EXPECT_EQ(time_point_of(time + 1) - time_point_of(time), std::chrono::nanoseconds(1));
}

} // namespace
} // namespace tributary::net
