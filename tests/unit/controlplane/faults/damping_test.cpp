// Flapping links, by the numbers of RFC 2439: the penalty of a flap, its decay, when a link is
// suppressed and when it is used again.
#include "controlplane/faults/damping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tributary::faults {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr DampingSettings settings{.enabled = true,
                                   .penalty = 1000,
                                   .cut_off = 2500,
                                   .reuse = 750,
                                   .half_life_ns = 5 * ns_per_second,
                                   .longest_ns = 20 * ns_per_second};
constexpr TimeNs start{1'000'000'000'000};

TimeNs after_s(double s) {
  return start + static_cast<std::uint64_t>(s * static_cast<double>(ns_per_second));
}

TEST(Damping, the_figure_of_merit_halves_every_half_life) {
  Damping damping(settings);
  damping.down(7, start);
  EXPECT_DOUBLE_EQ(damping.figure(7, start), 1000);
  EXPECT_DOUBLE_EQ(damping.figure(7, after_s(5)), 500);
  EXPECT_DOUBLE_EQ(damping.figure(7, after_s(15)), 125);
  EXPECT_DOUBLE_EQ(damping.figure(8, start), 0);
}

TEST(Damping, the_third_time_down_within_a_second_suppresses) {
  Damping damping(settings);
  EXPECT_FALSE(damping.down(7, start));
  EXPECT_FALSE(damping.down(7, after_s(0.5)));
  EXPECT_TRUE(damping.down(7, after_s(1)));
  EXPECT_TRUE(damping.is_suppressed(7));
  EXPECT_EQ(damping.flaps(7), 3U);
  EXPECT_FALSE(damping.down(7, after_s(1.5))) << "it is suppressed already";
  EXPECT_THAT(damping.suppressed(), ElementsAre(7));
}

TEST(Damping, a_link_that_goes_down_every_minute_is_never_suppressed) {
  Damping damping(settings);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(damping.down(7, after_s(60.0 * i)));
  }
  EXPECT_EQ(damping.next_release(), never);
}

TEST(Damping, it_is_used_again_when_the_figure_is_below_reuse_and_not_before) {
  Damping damping(settings);
  for (int i = 0; i < 3; ++i) {
    damping.down(7, start);
  }
  // 3000 to 750 are two half-lives.
  EXPECT_THAT(damping.release(after_s(9.99)), IsEmpty());
  const TimeNs at = damping.next_release();
  EXPECT_EQ(at, damping.reused_at(7));
  EXPECT_NEAR(static_cast<double>(elapsed_ns(at, start)), 10e9, 2);
  EXPECT_THAT(damping.release(at), ElementsAre(7));
  EXPECT_FALSE(damping.is_suppressed(7));
  EXPECT_EQ(damping.next_release(), never);
  EXPECT_LT(damping.figure(7, at), settings.reuse);
}

TEST(Damping, going_down_while_suppressed_takes_longer) {
  Damping damping(settings);
  for (int i = 0; i < 3; ++i) {
    damping.down(7, start);
  }
  const TimeNs before = damping.next_release();
  damping.down(7, after_s(5)); // 1500 + 1000
  EXPECT_GT(damping.next_release(), before);
  EXPECT_NEAR(static_cast<double>(elapsed_ns(damping.next_release(), after_s(5))),
              5e9 * std::log2(2500.0 / 750.0), 2);
}

TEST(Damping, nothing_is_suppressed_for_longer_than_the_longest_time) {
  Damping damping(settings);
  for (int i = 0; i < 1000; ++i) {
    damping.down(7, start);
  }
  EXPECT_DOUBLE_EQ(damping.figure(7, start), 750 * 16) << "the ceiling: four half-lives";
  EXPECT_NEAR(static_cast<double>(elapsed_ns(damping.next_release(), start)), 20e9, 2);
}

TEST(Damping, links_do_not_touch_each_other) {
  Damping damping(settings);
  for (int i = 0; i < 3; ++i) {
    damping.down(7, start);
    damping.down(8, after_s(1));
  }
  for (int i = 0; i < 3; ++i) {
    damping.down(9, after_s(20.0 * i));
  }
  EXPECT_TRUE(damping.is_suppressed(7));
  EXPECT_TRUE(damping.is_suppressed(8));
  EXPECT_FALSE(damping.is_suppressed(9));
  EXPECT_THAT(damping.release(after_s(1000)), ElementsAre(7, 8));
}

TEST(Damping, what_is_nearly_forgotten_takes_no_room) {
  Damping damping(settings);
  for (Damping::Key link = 0; link < 1000; ++link) {
    damping.down(link, after_s(link));
  }
  // 1000 to 375 is less than eight seconds.
  EXPECT_LE(damping.size(), 9U);
}

TEST(Damping, switched_off_it_suppresses_nothing_and_lets_go) {
  Damping damping(settings);
  for (int i = 0; i < 3; ++i) {
    damping.down(7, start);
  }
  DampingSettings off = settings;
  off.enabled = false;
  damping.reconfigure(off, start);
  EXPECT_FALSE(damping.is_suppressed(7));
  EXPECT_FALSE(damping.down(7, start));
}

} // namespace
} // namespace tributary::faults
