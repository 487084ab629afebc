#include "tests/fabric/event_queue.hpp"

#include <gtest/gtest.h>

namespace tributary::fabric {
namespace {

TEST(EventQueue, orders_by_time) {
  EventQueue queue;
  queue.push(TimeNs{30}, EventKind::script, 3);
  queue.push(TimeNs{10}, EventKind::script, 1);
  queue.push(TimeNs{20}, EventKind::script, 2);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(queue.next_time().value, 10 * i);
    EXPECT_EQ(queue.pop().subject, i);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next_time(), never);
}

TEST(EventQueue, keeps_the_order_of_insertion_for_equal_times) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < 100; ++i) {
    queue.push(TimeNs{5}, EventKind::script, i);
  }
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(queue.pop().subject, i);
  }
}

} // namespace
} // namespace tributary::fabric
