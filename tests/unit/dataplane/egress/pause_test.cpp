// The neighbour pauses classes, and resumes them.

#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

namespace tributary::egress::test {
namespace {

constexpr std::uint64_t quantum_ns = 512; // at 1,000 Mb/s

class Pause : public ::testing::Test {
protected:
  Pause() { queues.set_link_speed(1000); }

  static PortSettings settings() {
    PortSettings s;
    s.classes[2].obeys_pause = s.classes[3].obeys_pause = true;
    s.watchdog.detection_ns = 0;
    return s;
  }
  std::vector<std::uint32_t> flushed_at(TimeNs now) {
    device.sent.clear();
    queues.flush(now, device);
    return device.sent_ids();
  }

  Queues queues{settings()};
  Device device;
  TimeNs start = ms(10);
};

TEST_F(Pause, APausedClassWaitsAndOthersDoNot) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 100), start);
  push(queues, device, cls(3), 0, 2, 100, port(1), start);
  push(queues, device, cls(2), 2, 1, 100, port(1), start);
  EXPECT_TRUE(queues.flush(start, device));
  EXPECT_EQ(device.sent_ids(), numbers(2, 1));
  EXPECT_EQ(queues.snapshot(cls(3)).waiting, (Depth{2, 200}));
  EXPECT_TRUE(queues.snapshot(cls(3)).paused);
  EXPECT_FALSE(queues.snapshot(cls(2)).paused);
}

TEST_F(Pause, EndsWhenItsQuantaAreOverAndNotBefore) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 100), start);
  push(queues, device, cls(3), 0, 2, 100, port(1), start);
  const TimeNs end = start + 100 * quantum_ns;
  EXPECT_TRUE(flushed_at(TimeNs{end.value - 1}).empty());
  EXPECT_EQ(queues.next_deadline(), end);
  EXPECT_EQ(flushed_at(end), numbers(0, 2));
  EXPECT_EQ(queues.next_deadline(), never);
  EXPECT_EQ(queues.snapshot(cls(3)).paused_ns, 100 * quantum_ns);
  EXPECT_FALSE(queues.snapshot(cls(3)).paused);
}

TEST_F(Pause, ALaterFrameReplacesItsEnd) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 100), start);
  push(queues, device, cls(3), 0, 1, 100, port(1), start);
  queues.pause(pause_of(ClassSet::of(cls(3)), 500), start + 1000);
  EXPECT_TRUE(flushed_at(start + 100 * quantum_ns).empty());
  queues.pause(pause_of(ClassSet::of(cls(3)), 1), start + 60'000); // earlier
  EXPECT_EQ(queues.next_deadline(), start + 60'000 + quantum_ns);
  EXPECT_EQ(flushed_at(start + 60'000 + quantum_ns).size(), 1U);
  EXPECT_EQ(queues.snapshot(cls(3)).paused_ns, 60'000 + quantum_ns) << "each moment once";
  EXPECT_EQ(queues.snapshot(cls(3)).pauses_received, 3U);
}

TEST_F(Pause, QuantaOfZeroEndItAtOnce) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 0xFFFF), start);
  push(queues, device, cls(3), 0, 1, 100, port(1), start);
  EXPECT_TRUE(flushed_at(start + 5).empty());
  queues.pause(pause_of(ClassSet::of(cls(3)), 0), start + 10);
  EXPECT_EQ(flushed_at(start + 10).size(), 1U);
  EXPECT_EQ(queues.snapshot(cls(3)).paused_ns, 10U);
}

TEST_F(Pause, AFrameOnlyTouchesTheClassesItNames) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 100), start);
  queues.pause(pause_of(ClassSet::of(cls(2)), 0), start);
  push(queues, device, cls(3), 0, 1, 100, port(1), start);
  EXPECT_TRUE(flushed_at(start).empty());
}

TEST_F(Pause, AClassThatDoesNotObeyGoesOnAndCountsIt) {
  queues.pause(pause_of(ClassSet::all(), 100), start); // as the older pause of the whole link
  push(queues, device, cls(0), 0, 2, 100, port(1), start);
  push(queues, device, cls(2), 2, 1, 100, port(1), start);
  EXPECT_EQ(flushed_at(start), numbers(0, 2));
  EXPECT_EQ(queues.snapshot(cls(0)).pauses_ignored, 1U);
  EXPECT_EQ(queues.snapshot(cls(0)).pauses_received, 0U);
  EXPECT_EQ(queues.snapshot(cls(2)).pauses_received, 1U);
}

TEST_F(Pause, BoundsHoldWhileAClassIsPaused) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 0xFFFF), start);
  push(queues, device, cls(3), 0, 600, 100, port(1), start);
  queues.flush(start, device);
  EXPECT_EQ(queues.snapshot(cls(3)).waiting.frames, 512U);
  EXPECT_EQ(device.dropped.size(), 88U);
  EXPECT_EQ(device.dropped.front().frame.id, 512U);
}

TEST_F(Pause, LinkDownEndsAllPauses) {
  queues.pause(pause_of(ClassSet::of(cls(3)), 0xFFFF), start);
  queues.link_down(DropReason::port_down, start + 7, device);
  EXPECT_EQ(queues.snapshot(cls(3)).paused_ns, 7U);
  push(queues, device, cls(3), 0, 1, 100, port(1), start + 8);
  EXPECT_EQ(flushed_at(start + 8).size(), 1U);
}

TEST_F(Pause, AnUnknownSpeedIsTakenForTenGigabits) {
  queues.set_link_speed(0);
  queues.pause(pause_of(ClassSet::of(cls(3)), 1000), start);
  EXPECT_EQ(queues.next_deadline(), start + 51'200);
}

} // namespace
} // namespace tributary::egress::test
