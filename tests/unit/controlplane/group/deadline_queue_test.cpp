#include "controlplane/group/deadline_queue.hpp"

#include <gtest/gtest.h>

namespace tributary::group {
namespace {

TEST(DeadlineQueue, gives_what_is_due_by_time_and_then_by_key) {
  DeadlineQueue<int> queue;
  queue.set(3, {10});
  queue.set(1, {20});
  queue.set(2, {10});
  EXPECT_EQ(queue.next(), TimeNs{10});
  EXPECT_EQ(queue.take_due({9}), std::nullopt);
  EXPECT_EQ(queue.take_due({10}), 2);
  EXPECT_EQ(queue.take_due({10}), 3);
  EXPECT_EQ(queue.take_due({10}), std::nullopt);
  EXPECT_EQ(queue.take_due({99}), 1);
  EXPECT_EQ(queue.next(), never);
}

TEST(DeadlineQueue, a_new_deadline_replaces_the_old_one) {
  DeadlineQueue<int> queue;
  queue.set(1, {10});
  queue.set(1, {30});
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.take_due({29}), std::nullopt);
  queue.set(1, {5});
  EXPECT_EQ(queue.take_due({5}), 1);
  EXPECT_EQ(queue.take_due({99}), std::nullopt);
}

TEST(DeadlineQueue, dropping_and_never_are_the_same) {
  DeadlineQueue<int> queue;
  queue.set(1, {10});
  queue.set(2, {10});
  queue.drop(1);
  queue.drop(7);
  queue.set(2, never);
  EXPECT_EQ(queue.size(), 0U);
  EXPECT_EQ(queue.next(), never);
}

} // namespace
} // namespace tributary::group
