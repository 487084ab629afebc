// The parts of the worker that need neither DPDK nor a thread.
#include "dataplane/worker/idle_backoff.hpp"
#include "dataplane/worker/trace_ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tributary::dataplane::test {
namespace {

config::Process adaptive(int spin_us, int longest_us) {
  config::Process p;
  p.idle_spin = std::chrono::microseconds(spin_us);
  p.idle_sleep_max = std::chrono::microseconds(longest_us);
  return p;
}

TEST(IdleBackoff, spins_first_then_sleeps_longer_and_longer_up_to_the_longest) {
  IdleBackoff backoff(adaptive(20, 50));
  EXPECT_EQ(backoff.sleep_ns(TimeNs{1'000}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{20'999}, never), 0U);
  std::vector<std::uint64_t> sleeps;
  for (int i = 0; i < 6; ++i) {
    sleeps.push_back(backoff.sleep_ns(TimeNs{21'000}, never));
  }
  EXPECT_EQ(sleeps, (std::vector<std::uint64_t>{4'000, 8'000, 16'000, 32'000, 50'000, 50'000}));
}

TEST(IdleBackoff, starts_over_after_work) {
  IdleBackoff backoff(adaptive(20, 50));
  EXPECT_EQ(backoff.sleep_ns(TimeNs{0}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{30'000}, never), 4'000U);
  backoff.busy();
  EXPECT_EQ(backoff.sleep_ns(TimeNs{40'000}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{60'000}, never), 4'000U);
}

TEST(IdleBackoff, never_sleeps_beyond_what_is_due) {
  IdleBackoff backoff(adaptive(0, 200));
  EXPECT_EQ(backoff.sleep_ns(TimeNs{1'000}, TimeNs{2'500}), 1'500U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{3'000}, TimeNs{2'500}), 0U);
}

TEST(IdleBackoff, busy_polling_never_sleeps) {
  config::Process p = adaptive(0, 200);
  p.poll = config::Poll::busy;
  IdleBackoff backoff(p);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{0}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{1'000'000'000}, never), 0U);
}

TEST(TraceRing, keeps_the_last_events_in_order_and_drops_the_oldest) {
  TraceRing ring;
  std::vector<std::byte> frame(94);
  const std::uint64_t total = 3 * TraceRing::capacity + 17;
  for (std::uint64_t i = 0; i < total; ++i) {
    ring.add(TimeNs{i}, 2, PortNumber{3}, {.reason = core::DropReason::no_route},
             {frame.data(), 94});
    ring.commit();
  }
  std::vector<TraceEvent> events;
  ring.read(1, events);
  ASSERT_EQ(events.size(), TraceRing::capacity - TraceRing::max_uncommitted);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].time.value, total - events.size() + i);
  }
  EXPECT_EQ(events[0].worker, 1);
  EXPECT_EQ(events[0].switch_index, 2);
  EXPECT_EQ(events[0].port, PortNumber{3});
  EXPECT_EQ(events[0].reason, core::DropReason::no_route);
  EXPECT_EQ(events[0].out, no_port);
  EXPECT_FALSE(events[0].multicast);
}

TEST(TraceRing, adds_a_burst_as_its_events_one_by_one) {
  TraceRing ring;
  std::vector<std::byte> bytes(94);
  const std::array<core::FrameView, 2> frames = {{{bytes.data(), 94}, {bytes.data(), 5}}};
  const std::array<core::Decision, 2> decisions = {
      {{.reason = core::DropReason::no_route}, {.reason = core::DropReason::runt}}};
  for (std::size_t i = 0; i < TraceRing::capacity; ++i) {
    ring.add(TimeNs{i}, 2, PortNumber{3}, decisions, frames);
    ring.commit();
  }
  std::vector<TraceEvent> events;
  ring.read(1, events);
  ASSERT_EQ(events.size(), TraceRing::capacity - TraceRing::max_uncommitted);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].time.value, TraceRing::capacity - (events.size() - i + 1) / 2);
    EXPECT_EQ(events[i].reason, decisions[i % 2].reason);
  }
}

TEST(TraceRing, shows_nothing_before_it_is_committed) {
  TraceRing ring;
  std::vector<std::byte> frame(94);
  ring.add(TimeNs{1}, 0, PortNumber{0}, {}, {frame.data(), 94});
  std::vector<TraceEvent> events;
  ring.read(0, events);
  EXPECT_TRUE(events.empty());
  ring.commit();
  ring.read(0, events);
  EXPECT_EQ(events.size(), 1U);
}

TEST(TraceRing, reads_no_more_of_a_frame_than_there_is) {
  TraceRing ring;
  std::vector<std::byte> runt(5); // the address sanitizer watches
  ring.add(TimeNs{1}, 0, PortNumber{0}, {}, {runt.data(), 5});
  ring.commit();
  std::vector<TraceEvent> events;
  ring.read(0, events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].multicast);
}

} // namespace
} // namespace tributary::dataplane::test
