// The generator's clock against the kernel's.
#include "pktgen/run/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tributary::pktgen {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

TEST(Clock, RunsAsFastAsTheKernels) {
  const Clock clock;
  const TimeNs a = clock.now();
  const auto real_a = steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const TimeNs b = clock.now();
  const auto real_b = steady_clock::now();
  const auto real = std::chrono::duration_cast<nanoseconds>(real_b - real_a).count();
  // Interruptions between the readings cost microseconds, or milliseconds on a busy machine; a
  // wrong calibration costs percents at least.
  EXPECT_NEAR(static_cast<double>(elapsed_ns(b, a)), static_cast<double>(real), 20e6);
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
} // namespace tributary::pktgen
