#include "tools/simulator/engine/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tributary::simulator::engine {
namespace {

TEST(pipeline, every_event_goes_through_all_stages_and_every_stage_sees_them_in_order) {
  for (const int count : {0, 1, 5, 6, 7, 12, 13, 100}) {
    std::vector<int> events(static_cast<std::size_t>(count));
    std::iota(events.begin(), events.end(), 0);
    std::vector<int> first;
    std::vector<int> second;
    std::vector<int> third;
    in_stages(
        std::span<const int>(events), [&](int e) { first.push_back(e); },
        [&](int e) {
          ASSERT_EQ(first[static_cast<std::size_t>(e)], e); // it has been through the stage before
          second.push_back(e);
        },
        [&](int e) {
          ASSERT_EQ(second[static_cast<std::size_t>(e)], e);
          third.push_back(e);
        });
    EXPECT_EQ(first, events);
    EXPECT_EQ(second, events);
    EXPECT_EQ(third, events);
  }
}

TEST(pipeline, a_stage_is_as_far_behind_the_one_before_it_as_memory_takes) {
  std::vector<int> events(50);
  int ahead = 0;
  in_stages(
      std::span<int>(events), [&](int& e) { e = ++ahead; },
      [&](int& e) { EXPECT_EQ(ahead, std::min(e + static_cast<int>(stage_distance), 50)); });
}

} // namespace
} // namespace tributary::simulator::engine
