#include "controlplane/rest/event_queue.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tributary::rest {
namespace {

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

api::Event small_event(std::uint64_t number) {
  return {number, "link", boost::json::object{{"text", "t"}}};
}

TEST(event_text, is_one_block_of_server_sent_events) {
  EXPECT_EQ(event_text(small_event(7)), "id: 7\nevent: link\ndata: {\"text\":\"t\"}\n\n");
}

TEST(EventQueue, gives_events_in_their_order_and_once) {
  EventQueue queue(10);
  queue.add(small_event(1));
  queue.add(small_event(2));
  EXPECT_EQ(queue.take(all), event_text(small_event(1)) + event_text(small_event(2)));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.take(all), "");
}

TEST(EventQueue, take_ends_after_the_event_that_reaches_the_size) {
  EventQueue queue(10);
  queue.add(small_event(1));
  queue.add(small_event(2));
  EXPECT_EQ(queue.take(1), event_text(small_event(1)));
  EXPECT_FALSE(queue.empty());
}

TEST(EventQueue, what_was_kept_does_not_count_as_being_behind) {
  EventQueue queue(2);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    queue.add(small_event(i));
  }
  queue.live();
  queue.add(small_event(101));
  queue.add(small_event(102));
  EXPECT_FALSE(queue.overrun());
  queue.add(small_event(103));
  EXPECT_TRUE(queue.overrun());
}

TEST(EventQueue, after_an_overrun_nothing_comes_any_more) {
  EventQueue queue(1);
  queue.live();
  queue.add(small_event(1));
  queue.add(small_event(2));
  EXPECT_TRUE(queue.overrun());
  queue.add(small_event(3));
  EXPECT_EQ(queue.take(all), "") << "a gap would go unnoticed";
}

} // namespace
} // namespace tributary::rest
