// Which senders must pause: thresholds, hysteresis, headroom, for each port and class separately.

#include "dataplane/egress/pause_sender.hpp"
#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

namespace tributary::egress::test {
namespace {

constexpr PauseLimits limits{.xoff = {10, 5000}, .xon = {4, 2000}, .headroom = {6, 3000}};

std::array<PauseLimits, traffic_classes> everywhere() {
  std::array<PauseLimits, traffic_classes> all;
  all.fill(limits);
  return all;
}

class Accounts : public ::testing::Test {
protected:
  void enter(std::uint32_t count, std::uint32_t bytes, PortNumber in = port(1)) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_TRUE(accounts.enter(in, cls(3), bytes));
    }
  }
  void leave(std::uint32_t count, std::uint32_t bytes, PortNumber in = port(1)) {
    for (std::uint32_t i = 0; i < count; ++i) {
      accounts.leave(in, cls(3), bytes);
    }
  }
  [[nodiscard]] bool pausing(PortNumber in = port(1)) const {
    return accounts.wanted(in) == ClassSet::of(cls(3));
  }

  IngressAccounts accounts{everywhere()};
};

TEST_F(Accounts, PauseBeginsAboveXoffInFrames) {
  enter(10, 1);
  EXPECT_FALSE(pausing());
  enter(1, 1);
  EXPECT_TRUE(pausing());
  EXPECT_TRUE(accounts.ports().contains(port(1)));
}

TEST_F(Accounts, PauseBeginsAboveXoffInBytes) {
  enter(5, 1000);
  EXPECT_FALSE(pausing());
  enter(1, 1);
  EXPECT_TRUE(pausing());
}

TEST_F(Accounts, PauseEndsAtXonInBothAndNotBefore) {
  enter(11, 450);
  leave(5, 450);
  EXPECT_TRUE(pausing()) << "6 frames and 2,700 bytes: between the thresholds";
  leave(2, 450);
  EXPECT_FALSE(pausing()) << "4 frames and 1,800 bytes";
  EXPECT_TRUE(accounts.ports().empty());
  enter(6, 450);
  EXPECT_FALSE(pausing()) << "10 frames: hysteresis";
}

TEST_F(Accounts, FewFramesOfManyBytesGoOnPausing) {
  enter(6, 1000);
  leave(3, 1000);
  EXPECT_TRUE(pausing()) << "3 frames, but 3,000 bytes";
  leave(1, 1000);
  EXPECT_FALSE(pausing());
}

TEST_F(Accounts, HeadroomTakesWhatIsOnItsWayAndNoMore) {
  enter(16, 1);
  EXPECT_FALSE(accounts.enter(port(1), cls(3), 1));
  EXPECT_EQ(accounts.waiting(port(1), cls(3)), (Depth{16, 16}));
  leave(1, 1);
  enter(1, 7984); // 8,000 bytes of the 8,000
  leave(1, 1);
  EXPECT_FALSE(accounts.enter(port(1), cls(3), 3)) << "8,001 bytes";
  EXPECT_EQ(accounts.highest(port(1), cls(3)), (Depth{16, 7999}));
}

TEST_F(Accounts, EachPortAndClassCountsForItself) {
  enter(11, 1, port(1));
  enter(10, 1, port(63));
  EXPECT_TRUE(accounts.enter(port(1), cls(4), 1));
  EXPECT_TRUE(pausing(port(1)));
  EXPECT_TRUE(accounts.wanted(port(63)).empty());
  EXPECT_EQ(accounts.ports().size(), 1);
}

TEST_F(Accounts, OnePortMayHaveLimitsOfItsOwn) {
  accounts.set_limits(port(2), cls(3), {.xoff = {1, 100}, .xon = {0, 0}, .headroom = {1, 100}});
  enter(2, 1, port(2));
  EXPECT_TRUE(pausing(port(2)));
  EXPECT_FALSE(accounts.enter(port(2), cls(3), 1));
  enter(10, 1, port(1));
  EXPECT_FALSE(pausing(port(1)));
}

PortSettings lossless() {
  PortSettings settings;
  settings.classes[3].when_full = WhenFull::pause;
  settings.watchdog.detection_ns = 0;
  return settings;
}

TEST_F(Accounts, QueuesKeepThemByThePortEachFrameCameInBy) {
  Queues queues{lossless(), &accounts};
  Device device;
  device.room = 0;
  push(queues, device, cls(3), 0, 11, 100, port(1));
  push(queues, device, cls(3), 11, 5, 100, port(2));
  push(queues, device, cls(3), 16, 2, 100, no_port);
  push(queues, device, cls(0), 18, 20, 100, port(4));
  queues.flush(ms(1), device);
  EXPECT_EQ(accounts.waiting(port(1), cls(3)), (Depth{11, 1100}));
  EXPECT_EQ(accounts.waiting(port(2), cls(3)), (Depth{5, 500}));
  EXPECT_EQ(accounts.waiting(port(4), cls(0)), Depth{}) << "not lossless";
  EXPECT_TRUE(pausing(port(1)));
  EXPECT_TRUE(accounts.wanted(port(2)).empty());
  device.room = 7;
  queues.flush(ms(1), device);
  EXPECT_EQ(accounts.waiting(port(1), cls(3)).frames + accounts.waiting(port(2), cls(3)).frames +
                queues.snapshot(cls(0)).waiting.frames,
            38U - 2 - 7);
  device.room = Device::endless;
  queues.flush(ms(1), device);
  EXPECT_EQ(accounts.waiting(port(1), cls(3)), Depth{});
  EXPECT_FALSE(pausing(port(1)));
  EXPECT_TRUE(device.dropped.empty());
}

TEST_F(Accounts, AFrameThatLeavesInAnotherClassCountsInTheOneItCameIn) {
  PortSettings settings = lossless();
  settings.classes[4].when_full = WhenFull::pause;
  Queues queues{settings, &accounts};
  Device device;
  device.room = 0;
  for (std::uint32_t i = 0; i < 11; ++i) {
    queues.push(Frame{i, 100}, cls(4), Ingress{port(1), cls(3)}, ms(1), device);
  }
  queues.flush(ms(1), device);
  EXPECT_TRUE(pausing()) << "its sender sends in class 3";
  EXPECT_EQ(accounts.waiting(port(1), cls(4)), Depth{});
  device.room = Device::endless;
  queues.flush(ms(1), device);
  EXPECT_FALSE(pausing());
  EXPECT_EQ(accounts.waiting(port(1), cls(3)), Depth{});
}

TEST_F(Accounts, WhatLeavesAtOnceIsNeverEntered) {
  Queues queues{lossless(), &accounts};
  Device device;
  push(queues, device, cls(3), 0, 200, 100, port(1));
  queues.flush(ms(1), device);
  EXPECT_EQ(accounts.highest(port(1), cls(3)), Depth{});
}

TEST_F(Accounts, BeyondTheHeadroomFramesAreDroppedByNameAndOthersHaveTheirs) {
  Queues queues{lossless(), &accounts};
  Device device;
  device.room = 0;
  push(queues, device, cls(3), 0, 20, 100, port(1));
  push(queues, device, cls(3), 20, 3, 100, port(2));
  queues.flush(ms(1), device);
  EXPECT_EQ(queues.snapshot(cls(3)).dropped(DropReason::headroom_full), 4U);
  EXPECT_EQ(device.dropped.front().frame.id, 16U);
  EXPECT_EQ(accounts.waiting(port(2), cls(3)).frames, 3U);
}

TEST_F(Accounts, DrainingAndLinkDownEmptyThem) {
  PortSettings settings = lossless();
  settings.watchdog.detection_ns = ns_per_ms;
  Queues queues{settings, &accounts};
  Device device;
  queues.pause(pause_of(ClassSet::of(cls(3)), 0xFFFF), ms(1));
  push(queues, device, cls(3), 0, 12, 100, port(1));
  queues.flush(ms(1), device);
  ASSERT_TRUE(pausing());
  queues.flush(ms(2), device);
  EXPECT_EQ(queues.snapshot(cls(3)).dropped(DropReason::paused_too_long), 12U);
  EXPECT_EQ(accounts.waiting(port(1), cls(3)), Depth{});
  EXPECT_FALSE(pausing());
  queues.link_down(DropReason::port_down, ms(3), device);
  device.room = 0;
  push(queues, device, cls(3), 0, 12, 100, port(1));
  queues.flush(ms(3), device);
  ASSERT_TRUE(pausing());
  queues.link_down(DropReason::port_down, ms(4), device);
  EXPECT_FALSE(pausing());
}

TEST_F(Accounts, ThePauseOfOneWorkerStandsWhileAnotherOneHasRoom) {
  IngressAccounts other{everywhere()};
  PauseSender sender;
  const auto wanted = [&] { return accounts.wanted(port(1)) | other.wanted(port(1)); };
  enter(11, 1);
  for (int i = 0; i < 11; ++i) {
    ASSERT_TRUE(other.enter(port(1), cls(3), 1));
  }
  const auto xoff = sender.due(wanted(), ms(1));
  ASSERT_TRUE(xoff);
  sender.sent(*xoff, ms(1));
  leave(11, 1);
  EXPECT_FALSE(sender.due(wanted(), ms(1))) << "the other worker still wants it";
  for (int i = 0; i < 11; ++i) {
    other.leave(port(1), cls(3), 1);
  }
  const auto xon = sender.due(wanted(), ms(1));
  ASSERT_TRUE(xon);
  EXPECT_EQ(xon->quanta[3], 0U);
}

} // namespace
} // namespace tributary::egress::test
