// A log stays readable: lines that differ in numbers alone are limited, and counted.
#include "lib/service/log_limit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace tributary::service {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

const LogLimit::Time start{std::chrono::hours(1)};

std::size_t admitted(LogLimit& limit, std::size_t lines, LogLimit::Time now) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    count += limit.admits(fmt::format("link leaf{}.3 is down", i), now) ? 1 : 0;
  }
  return count;
}

TEST(LogLimit, lines_that_differ_in_numbers_are_of_one_kind) {
  LogLimit limit;
  EXPECT_EQ(admitted(limit, 400, start), LogLimit::most_alike);
  EXPECT_TRUE(limit.admits("link spine1.3 is down", start));
}

TEST(LogLimit, equal_lines_are_fewer) {
  LogLimit limit;
  std::size_t count = 0;
  for (int i = 0; i < 100; ++i) {
    count += limit.admits("link leaf1.3 is down", start) ? 1 : 0;
  }
  EXPECT_EQ(count, LogLimit::most_equal);
  EXPECT_THAT(limit.left_out(start + LogLimit::window),
              ElementsAre("95 more lines like this one in 10 s: link leaf1.3 is down"));
}

TEST(LogLimit, what_was_left_out_is_counted_after_the_window) {
  LogLimit limit;
  EXPECT_EQ(admitted(limit, 400, start), LogLimit::most_alike);
  EXPECT_THAT(limit.left_out(start + LogLimit::window - milliseconds(1)), IsEmpty());
  EXPECT_THAT(limit.left_out(start + LogLimit::window),
              ElementsAre("336 more lines like this one in 10 s: link leaf399.3 is down"));
  EXPECT_THAT(limit.left_out(start + 2 * LogLimit::window), IsEmpty());
}

TEST(LogLimit, a_new_window_admits_as_many_again) {
  LogLimit limit;
  EXPECT_EQ(admitted(limit, 100, start), LogLimit::most_alike);
  EXPECT_EQ(limit.left_out(start + LogLimit::window).size(), 1U);
  EXPECT_EQ(admitted(limit, 100, start + LogLimit::window), LogLimit::most_alike);
}

TEST(LogLimit, a_few_lines_leave_nothing_out) {
  LogLimit limit;
  EXPECT_EQ(admitted(limit, LogLimit::most_alike, start), LogLimit::most_alike);
  EXPECT_THAT(limit.left_out(start + LogLimit::window), IsEmpty());
}

TEST(LogLimit, kinds_without_end_take_no_memory_without_end) {
  LogLimit limit;
  EXPECT_EQ(admitted(limit, 100, start), LogLimit::most_alike);
  std::string name;
  for (std::size_t i = 0; i < 100 * LogLimit::most_kinds; ++i) {
    name = "host ";
    for (std::size_t rest = i; rest != 0; rest /= 26) {
      name += static_cast<char>('a' + rest % 26);
    }
    EXPECT_TRUE(limit.admits(name, start));
  }
  EXPECT_LE(limit.kinds(), LogLimit::most_kinds);
  EXPECT_THAT(limit.left_out(start), ElementsAre("36 more lines of several kinds were left out"));
  EXPECT_THAT(limit.left_out(start), IsEmpty());
}

} // namespace
} // namespace tributary::service
