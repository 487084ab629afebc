// The generator's clock against the kernel's.
#include "pktgen/run/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tributary::pktgen::run {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// A reading of the generator's clock, and the kernel's before and after it.
struct Reading {
  steady_clock::time_point before;
  TimeNs time;
  steady_clock::time_point after;

  [[nodiscard]] std::int64_t width_ns() const { return (after - before) / 1ns; }
};

/// The tightest of several: interruptions between the two clocks do not count.
Reading read(const Clock& clock) {
  Reading tightest;
  for (int i = 0; i < 50; ++i) {
    Reading reading;
    reading.before = steady_clock::now();
    reading.time = clock.now();
    reading.after = steady_clock::now();
    tightest = i == 0 || reading.width_ns() < tightest.width_ns() ? reading : tightest;
  }
  return tightest;
}

TEST(Clock, RunsAsFastAsTheKernels) {
  const Clock clock;
  const Reading a = read(clock);
  std::this_thread::sleep_for(100ms);
  const Reading b = read(clock);
  const auto shortest = static_cast<double>((b.before - a.after) / 1ns);
  const auto longest = static_cast<double>((b.after - a.before) / 1ns);
  const auto elapsed = static_cast<double>(elapsed_ns(b.time, a.time));
  // Calibration is exact to a few microseconds in 20 ms.
  EXPECT_GT(elapsed, shortest * 0.99);
  EXPECT_LT(elapsed, longest * 1.01);
  EXPECT_LT(longest, shortest * 1.05) << "the readings were too far apart to say anything";
  EXPECT_GT(clock.hz(), 1e6);
}

TEST(Clock, NeverGoesBack) {
  const Clock clock;
  TimeNs last = clock.now();
  for (int i = 0; i < 100'000; ++i) {
    const TimeNs now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, KnowsTheCalendar) {
  const Clock clock;
  const auto calendar =
      std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  EXPECT_NEAR(static_cast<double>(clock.calendar_ns(clock.now())), static_cast<double>(calendar),
              1e9);
}

} // namespace
} // namespace tributary::pktgen::run
