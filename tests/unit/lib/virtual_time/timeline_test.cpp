#include "lib/virtual_time/timeline.hpp"

#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tributary::virtual_time {
namespace {

TEST(Timeline, events_come_by_time_and_those_of_equal_time_as_scheduled) {
  Timeline<int> timeline;
  Random random(1);
  std::vector<std::pair<TimeNs, int>> expected;
  for (int i = 0; i < 1000; ++i) {
    const TimeNs at{random.below(50)};
    expected.emplace_back(at, i);
    timeline.schedule(at, i);
  }
  std::ranges::stable_sort(expected, {}, [](const auto& event) { return event.first; });
  for (const auto& [at, i] : expected) {
    EXPECT_EQ(timeline.next_time(), at);
    ASSERT_EQ(timeline.pop(), i);
    EXPECT_EQ(timeline.now(), at);
  }
  EXPECT_TRUE(timeline.empty());
}

TEST(Timeline, the_clock_never_goes_back) {
  Timeline<char> timeline;
  timeline.advance(TimeNs{100});
  timeline.schedule(TimeNs{100}, 'b');
  timeline.schedule(TimeNs{40}, 'a');
  EXPECT_EQ(timeline.pop(), 'a') << "it is overdue";
  EXPECT_EQ(timeline.now(), TimeNs{100});
  timeline.advance(TimeNs{7});
  EXPECT_EQ(timeline.now(), TimeNs{100});
  EXPECT_EQ(timeline.pop(), 'b');
}

TEST(Timeline, takes_events_that_only_move_and_times_of_any_type) {
  Timeline<std::unique_ptr<int>, double> timeline;
  timeline.schedule(0.5, std::make_unique<int>(2));
  timeline.schedule(0.25, std::make_unique<int>(1));
  EXPECT_EQ(*timeline.pop(), 1);
  EXPECT_EQ(timeline.now(), 0.25);
  EXPECT_EQ(*timeline.pop(), 2);
}

} // namespace
} // namespace tributary::virtual_time
