// Exceptions by cause, within a window and in all.
#include "controlplane/retransmit/exception_log.hpp"

#include <gtest/gtest.h>

namespace tributary::retransmit::exception_log_test {
namespace {

constexpr std::uint64_t window = 8 * ns_per_second;
constexpr TimeNs start{1000 * ns_per_second};

LoggedException timeouts(std::uint32_t times) {
  return {.time = "now",
          .reporter = Nid{1},
          .peer = Nid{2},
          .vni = Vni{3},
          .cause = Cause::repeated_timeouts,
          .times = times,
          .heard = "counted"};
}

TEST(ExceptionLog, a_window_forgets_and_the_total_does_not) {
  ExceptionLog log(window);
  log.add(timeouts(5), true, start);
  log.add(timeouts(2), true, start + 4 * ns_per_second);
  log.add(timeouts(100), false, start + 4 * ns_per_second);
  EXPECT_EQ(log.recent(Cause::repeated_timeouts, start + 4 * ns_per_second), 7U);
  EXPECT_EQ(log.recent(Cause::busy_storm, start + 4 * ns_per_second), 0U);
  EXPECT_EQ(log.recent(Cause::repeated_timeouts, start + 9 * ns_per_second), 2U);
  EXPECT_EQ(log.recent(Cause::repeated_timeouts, start + 60 * ns_per_second), 0U);
  EXPECT_EQ(log.total(Cause::repeated_timeouts), 7U);
}

TEST(ExceptionLog, it_keeps_the_latest_whatever_comes) {
  ExceptionLog log(window);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    log.add(timeouts(1), true, start + i * 1000);
  }
  ASSERT_EQ(log.latest().size(), ExceptionLog::capacity);
  EXPECT_EQ(log.latest().back().number, 1'000'000U);
  EXPECT_EQ(log.total(Cause::repeated_timeouts), 1'000'000U);
}

} // namespace
} // namespace tributary::retransmit::exception_log_test
