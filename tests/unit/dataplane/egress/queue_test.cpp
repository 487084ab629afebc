// One class: collecting, order, and bounds of the queue.

#include "tests/unit/dataplane/egress/frames.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

namespace tributary::egress::test {
namespace {

PortSettings bounded(Depth limit) {
  PortSettings settings;
  for (ClassSettings& c : settings.classes) {
    c.limit = limit;
  }
  return settings;
}

TEST(Queue, NothingLeavesBeforeABurstIsCompleteOrTheFlush) {
  Queues queues{PortSettings{}};
  Device device;
  push(queues, device, cls(0), 0, burst);
  EXPECT_TRUE(device.calls.empty());
  push(queues, device, cls(0), burst, 3);
  EXPECT_EQ(device.calls, (std::vector<std::uint16_t>{burst}));
  EXPECT_FALSE(queues.empty());
  EXPECT_FALSE(queues.flush(ms(1), device));
  EXPECT_EQ(device.calls, (std::vector<std::uint16_t>{burst, 3}));
  EXPECT_EQ(device.sent_ids(), numbers(0, burst + 3));
  EXPECT_TRUE(queues.empty());
}

TEST(Queue, FlushOfNothingAsksNoDevice) {
  Queues queues{PortSettings{}};
  Device device;
  EXPECT_FALSE(queues.flush(ms(1), device));
  EXPECT_TRUE(device.calls.empty());
  EXPECT_EQ(queues.next_deadline(), never);
}

TEST(Queue, ARunOfFramesOfAnyLengthKeepsItsOrder) {
  Queues queues{PortSettings{}};
  Device device;
  std::vector<Frame> run;
  for (std::uint32_t i = 0; i < 3 * burst + 5; ++i) {
    run.push_back({i, 60});
  }
  queues.push(run.data(), 7, cls(2), port(1), ms(1), device);
  queues.push(run.data() + 7, static_cast<std::uint32_t>(run.size() - 7), cls(2), port(1), ms(1),
              device);
  queues.flush(ms(1), device);
  EXPECT_EQ(device.sent_ids(), numbers(0, 3 * burst + 5));
  EXPECT_EQ(device.calls, (std::vector<std::uint16_t>{burst, burst, burst, 5}));
}

TEST(Queue, WhatTheDeviceDoesNotTakeIsTriedAgainAndStaysInOrder) {
  Queues queues{PortSettings{}};
  Device device;
  device.room = 10;
  push(queues, device, cls(0), 0, 20);
  EXPECT_TRUE(queues.flush(ms(1), device));
  EXPECT_EQ(device.sent_ids(), numbers(0, 10));
  EXPECT_EQ(queues.snapshot(cls(0)).waiting, (Depth{10, 1000}));
  EXPECT_EQ(queues.next_deadline(), TimeNs{}) << "at once";
  push(queues, device, cls(0), 20, 5);
  device.room = 12;
  EXPECT_TRUE(queues.flush(ms(1), device));
  EXPECT_EQ(device.sent_ids(), numbers(0, 22));
  device.room = Device::endless;
  EXPECT_FALSE(queues.flush(ms(1), device));
  EXPECT_EQ(device.sent_ids(), numbers(0, 25));
  EXPECT_TRUE(device.dropped.empty());
  EXPECT_EQ(queues.snapshot(cls(0)).waiting, Depth{});
}

TEST(Queue, FramesBeyondTheBoundAreDroppedByNameAndTheOldestStay) {
  Queues queues{bounded({8, 1U << 20})};
  Device device;
  device.room = 0;
  push(queues, device, cls(0), 0, 8);
  queues.flush(ms(1), device);
  EXPECT_TRUE(device.dropped.empty()) << "exactly full";
  push(queues, device, cls(0), 8, 2);
  queues.flush(ms(1), device);
  EXPECT_EQ(device.dropped, (std::vector<Dropped>{{{8, 100}, cls(0), DropReason::queue_full},
                                                  {{9, 100}, cls(0), DropReason::queue_full}}));
  EXPECT_EQ(queues.snapshot(cls(0)).dropped(DropReason::queue_full), 2U);
  device.room = Device::endless;
  queues.flush(ms(1), device);
  EXPECT_EQ(device.sent_ids(), numbers(0, 8));
}

TEST(Queue, BytesAreABoundOfTheirOwn) {
  Queues queues{bounded({100, 1000})};
  Device device;
  device.room = 0;
  push(queues, device, cls(0), 0, 1, 600);
  push(queues, device, cls(0), 1, 1, 401); // a byte too many
  push(queues, device, cls(0), 2, 1, 400); // exactly full
  push(queues, device, cls(0), 3, 1, 1);
  queues.flush(ms(1), device);
  EXPECT_EQ(device.dropped, (std::vector<Dropped>{{{1, 401}, cls(0), DropReason::queue_full},
                                                  {{3, 1}, cls(0), DropReason::queue_full}}));
  EXPECT_EQ(queues.snapshot(cls(0)).waiting, (Depth{2, 1000}));
}

TEST(Queue, BoundsApplyToWhatTheDeviceLeft) {
  Queues queues{bounded({2, 1U << 20})};
  Device device;
  device.room = 30;
  push(queues, device, cls(0), 0, burst);
  queues.flush(ms(1), device);
  EXPECT_TRUE(device.dropped.empty()) << "30 were taken and 2 wait";
  EXPECT_EQ(queues.snapshot(cls(0)).waiting, (Depth{2, 200}));
}

TEST(Queue, AQueueOfOneFrameWorks) {
  Queues queues{bounded({1, 1U << 20})};
  Device device;
  for (std::uint32_t round = 0; round < 200; ++round) {
    device.room = 0;
    push(queues, device, cls(3), 2 * round, 2);
    queues.flush(ms(1), device);
    device.room = 1;
    queues.flush(ms(1), device);
  }
  EXPECT_EQ(device.sent.size(), 200U);
  EXPECT_EQ(device.dropped.size(), 200U);
  EXPECT_EQ(queues.snapshot(cls(3)).highest, (Depth{1, 100}));
}

TEST(Queue, CountsWhatWasSentAndTheMostThatWaited) {
  Queues queues{PortSettings{}};
  Device device;
  device.room = 3;
  push(queues, device, cls(4), 0, 10, 200);
  queues.flush(ms(1), device);
  device.room = 5;
  queues.flush(ms(1), device);
  const QueueSnapshot s = queues.snapshot(cls(4));
  EXPECT_EQ(s.frames, 8U);
  EXPECT_EQ(s.bytes, 1600U);
  EXPECT_EQ(s.waiting, (Depth{2, 400}));
  EXPECT_EQ(s.highest, (Depth{7, 1400}));
  EXPECT_EQ(queues.snapshot(cls(0)).frames, 0U);
}

TEST(Queue, BytesThatAreBroughtAlongAreCountedAsThoseThatAreAddedUp) {
  tributary::Random random(tributary::test::seed());
  Queues queues{PortSettings{}};
  Device device;
  std::vector<Frame> run;
  for (int round = 0; round < 5000; ++round) {
    run.resize(1 + random.below(40));
    std::uint64_t bytes = 0;
    for (Frame& frame : run) {
      frame.length = static_cast<std::uint32_t>(60 + random.below(1400));
      bytes += frame.length;
    }
    const TrafficClass c = cls(random.below(8) == 0 ? 3 : 2);
    const auto count = static_cast<std::uint32_t>(run.size());
    if (random.below(3) != 0) {
      queues.push(run.data(), count, bytes, c, Ingress{port(1), c}, ms(1), device);
    } else {
      queues.push(run.data(), count, c, port(1), ms(1), device);
    }
    device.room = random.below(4) == 0 ? random.below(30) : Device::endless;
    if (random.below(2) == 0) {
      queues.flush(ms(1), device);
    }
    if (random.below(200) == 0) {
      queues.link_down(DropReason::port_down, ms(1), device);
    }
  }
  device.room = Device::endless;
  while (queues.flush(ms(1), device)) {
  }
  std::uint64_t bytes = 0;
  for (const Sent& sent : device.sent) {
    bytes += sent.frame.length;
  }
  EXPECT_EQ(queues.snapshot(cls(2)).bytes + queues.snapshot(cls(3)).bytes, bytes);
  EXPECT_EQ(queues.snapshot(cls(2)).frames + queues.snapshot(cls(3)).frames, device.sent.size());
  EXPECT_FALSE(device.dropped.empty());
}

TEST(Queue, ClassesAboveSevenAreNotOutOfBounds) {
  Queues queues{PortSettings{}};
  Device device;
  push(queues, device, cls(8), 0, 1);
  push(queues, device, cls(255), 1, 1);
  queues.flush(ms(1), device);
  EXPECT_EQ(device.sent.size(), 2U);
}

TEST(Queue, LinkDownDropsWhatWaitsAndWhatWasCollected) {
  Queues queues{PortSettings{}};
  Device device;
  device.room = 0;
  push(queues, device, cls(0), 0, 4);
  queues.flush(ms(1), device);
  push(queues, device, cls(0), 4, 2);
  push(queues, device, cls(1), 6, 1);
  queues.link_down(DropReason::port_down, ms(1), device);
  EXPECT_EQ(device.dropped.size(), 7U);
  EXPECT_TRUE(queues.empty());
  EXPECT_FALSE(queues.flush(ms(1), device));
  EXPECT_EQ(queues.snapshot(cls(0)).dropped(DropReason::port_down), 6U);
  EXPECT_EQ(queues.snapshot(cls(1)).dropped(DropReason::port_down), 1U);
  EXPECT_EQ(queues.snapshot(cls(0)).waiting, Depth{});
  device.room = Device::endless;
  push(queues, device, cls(0), 7, 40);
  queues.flush(ms(1), device);
  EXPECT_EQ(device.sent_ids(), numbers(7, 40));
}

} // namespace
} // namespace tributary::egress::test
