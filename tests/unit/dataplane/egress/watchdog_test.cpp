// A class that is paused for too long is given up, and taken up again.

#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

namespace tributary::egress::test {
namespace {

class Watchdog : public ::testing::Test {
protected:
  Watchdog() { queues.set_link_speed(1000); }

  static PortSettings settings() {
    PortSettings s;
    s.classes[3].obeys_pause = s.classes[4].obeys_pause = true;
    s.watchdog = {.detection_ns = 100 * ns_per_ms, .restoration_ns = 50 * ns_per_ms};
    return s;
  }
  /// Pauses class 3 from `from` on, again and again, until its last pause ends at `to`.
  void pause(TimeNs from, TimeNs to) {
    const std::uint64_t longest = wire::pause_ns(wire::longest_pause, 1000); // 33.6 ms
    TimeNs now = from;
    for (; elapsed_ns(to, now) > longest; now = now + longest / 2) {
      queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), now);
      queues.flush(now, device);
    }
    queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), now);
    queues.pause(pause_of(ClassSet::of(cls(3)), 0), to);
  }
  /// Whether the class is given up at this time.
  bool given_up_at(TimeNs now) {
    queues.flush(now, device);
    return queues.snapshot(cls(3)).given_up;
  }

  Queues queues{settings()};
  Device device;
};

TEST_F(Watchdog, GivesAClassUpAfterTheDetectionTimeAndDropsWhatWaits) {
  TimeNs now = ms(1000);
  for (; now < ms(1099); now = now + 10 * ns_per_ms) {
    queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), now);
    push(queues, device, cls(3), static_cast<std::uint32_t>(now.value / ns_per_ms), 1, 100, port(1),
         now);
    ASSERT_FALSE(given_up_at(now));
  }
  EXPECT_FALSE(given_up_at(TimeNs{ms(1100).value - 1}));
  EXPECT_EQ(queues.next_deadline(), ms(1100));
  EXPECT_TRUE(given_up_at(ms(1100)));
  EXPECT_EQ(device.dropped.size(), 10U);
  EXPECT_EQ(device.dropped[0], (Dropped{{1000, 100}, cls(3), DropReason::paused_too_long}));
  EXPECT_TRUE(device.sent.empty());
  EXPECT_EQ(queues.snapshot(cls(3)).given_up_times, 1U);
  EXPECT_TRUE(queues.flush(ms(1100), device)) << "it has to look again";
}

TEST_F(Watchdog, WhatAPauseFrameGaveUpIsDrainedAtOnce) {
  queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), ms(0));
  push(queues, device, cls(3), 0, 2, 100, port(1), ms(0));
  queues.flush(ms(0), device);
  for (const std::uint64_t at : {30U, 60U, 90U}) {
    queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), ms(at));
    EXPECT_EQ(queues.next_deadline(), std::min(ms(100), ms(at) + 33'553'920));
  }
  queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), ms(101));
  EXPECT_EQ(queues.next_deadline(), TimeNs{});
  queues.flush(ms(101), device);
  EXPECT_EQ(device.dropped.size(), 2U);
}

TEST_F(Watchdog, WhileAClassIsGivenUpWhatComesIsDroppedAndOthersGoOn) {
  pause(ms(0), ms(150));
  ASSERT_TRUE(given_up_at(ms(150)));
  push(queues, device, cls(3), 0, 3, 100, port(1), ms(160));
  push(queues, device, cls(4), 3, 2, 100, port(1), ms(160));
  queues.flush(ms(160), device);
  EXPECT_EQ(device.sent_ids(), numbers(3, 2));
  EXPECT_EQ(queues.snapshot(cls(3)).dropped(DropReason::paused_too_long), 3U);
}

TEST_F(Watchdog, TakesItUpAgainAfterTheRestorationTimeWithoutPause) {
  pause(ms(0), ms(150));
  EXPECT_TRUE(given_up_at(TimeNs{ms(200).value - 1}));
  EXPECT_EQ(queues.next_deadline(), ms(200));
  EXPECT_FALSE(given_up_at(ms(200)));
  EXPECT_EQ(queues.next_deadline(), never);
  push(queues, device, cls(3), 0, 1, 100, port(1), ms(200));
  EXPECT_FALSE(queues.flush(ms(200), device));
  EXPECT_EQ(device.sent.size(), 1U);
}

TEST_F(Watchdog, APauseWithinTheRestorationTimeRestartsIt) {
  pause(ms(0), ms(150));
  ASSERT_TRUE(given_up_at(ms(199)));
  pause(ms(199), ms(201));
  EXPECT_TRUE(given_up_at(ms(250)));
  EXPECT_FALSE(given_up_at(ms(251)));
  EXPECT_EQ(queues.snapshot(cls(3)).given_up_times, 1U);
}

TEST_F(Watchdog, ABreakRestartsTheDetectionHoweverOftenItIsPolled) {
  pause(ms(0), ms(99));
  pause(TimeNs{ms(99).value + 1}, ms(190)); // not checked in between
  EXPECT_FALSE(given_up_at(ms(190)));
  EXPECT_EQ(queues.snapshot(cls(3)).given_up_times, 0U);
  pause(ms(191), ms(330));
  EXPECT_TRUE(given_up_at(ms(330)));
}

TEST_F(Watchdog, APauseThatRanOutIsABreak) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 1000), ms(0)); // half a millisecond
  queues.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), ms(90));
  EXPECT_FALSE(given_up_at(ms(110)));
}

TEST_F(Watchdog, ZeroDetectionMeansNever) {
  PortSettings off = settings();
  off.watchdog.detection_ns = 0;
  Queues patient{off};
  for (TimeNs now = ms(0); now < ms(5000); now = now + 2 * ns_per_ms) {
    patient.pause(pause_of(ClassSet::of(cls(3)), wire::longest_pause), now);
    patient.flush(now, device);
  }
  EXPECT_FALSE(patient.snapshot(cls(3)).given_up);
}

TEST_F(Watchdog, LinkDownTakesTheClassUpAgain) {
  pause(ms(0), ms(150));
  ASSERT_TRUE(given_up_at(ms(150)));
  queues.link_down(DropReason::port_down, ms(151), device);
  push(queues, device, cls(3), 0, 1, 100, port(1), ms(152));
  EXPECT_FALSE(queues.flush(ms(152), device));
  EXPECT_EQ(device.sent.size(), 1U);
}

} // namespace
} // namespace tributary::egress::test
