// Between classes: strict and weighted service.

#include "tests/unit/dataplane/egress/frames.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace tributary::egress::test {
namespace {

std::vector<std::uint8_t> classes_sent(const Device& device) {
  std::vector<std::uint8_t> classes;
  for (const Sent& s : device.sent) {
    classes.push_back(s.traffic_class.value);
  }
  return classes;
}

TEST(Service, FramesOfSeveralClassesEachKeepTheirOrder) {
  Queues queues{PortSettings{}};
  Device device;
  for (std::uint32_t i = 0; i < 400; ++i) {
    push(queues, device, cls(i % 3), i, 1);
  }
  queues.flush(ms(1), device);
  ASSERT_EQ(device.sent.size(), 400U);
  std::array<std::uint32_t, 3> last{};
  for (const Sent& s : device.sent) {
    ASSERT_EQ(s.traffic_class.value, s.frame.id % 3);
    ASSERT_GE(s.frame.id, last[s.frame.id % 3]);
    last[s.frame.id % 3] = s.frame.id;
  }
}

TEST(Service, StrictClassesGoFirstAndTheHigherNumberBeforeTheLower) {
  PortSettings settings;
  settings.classes[2].service = settings.classes[5].service = Service::strict;
  Queues queues{settings};
  Device device;
  device.room = 0;
  for (const unsigned c : {0U, 2U, 5U, 7U}) {
    push(queues, device, cls(c), c, 2);
  }
  queues.flush(ms(1), device);
  device.room = Device::endless;
  queues.flush(ms(1), device);
  EXPECT_EQ(classes_sent(device), (std::vector<std::uint8_t>{5, 5, 2, 2, 0, 0, 7, 7}));
}

TEST(Service, AStrictClassTakesAllTheDeviceHas) {
  PortSettings settings;
  settings.classes[5].service = Service::strict;
  Queues queues{settings};
  Device device;
  for (int round = 0; round < 50; ++round) {
    device.room = 4;
    push(queues, device, cls(5), 0, 4);
    push(queues, device, cls(0), 0, 1);
    queues.flush(ms(1), device);
  }
  EXPECT_EQ(queues.snapshot(cls(5)).frames, 200U);
  EXPECT_EQ(queues.snapshot(cls(0)).frames, 0U);
}

constexpr std::array<std::uint16_t, 3> weights = {1, 3, 10};
constexpr std::uint32_t longest = 1518;

/// Three weighted classes that always have frames, of random lengths, while the device takes a few
/// at a time.
struct Contended {
  explicit Contended(std::uint32_t quantum_bytes) : random(tributary::test::seed()) {
    PortSettings settings;
    settings.quantum_bytes = quantum_bytes;
    for (std::size_t c = 0; c < weights.size(); ++c) {
      settings.classes[c].weight = weights[c];
    }
    queues = std::make_unique<Queues>(settings);
  }
  void round() {
    device.room = 0;
    for (unsigned c = 0; c < weights.size(); ++c) {
      while (queues->snapshot(cls(c)).waiting.frames < 300) {
        push(*queues, device, cls(c), 0, 1, 60 + static_cast<std::uint32_t>(random() % 1459));
        queues->flush(ms(1), device);
      }
    }
    device.room = random() % 80;
    queues->flush(ms(1), device);
  }

  tributary::test::Random random;
  std::unique_ptr<Queues> queues;
  Device device;
};

TEST(Service, WeightedSharesAreWithinOneFrameOfExactAfterEachTurn) {
  constexpr std::uint32_t quantum = 2048; // so that no turn passes without a frame
  Contended contended(quantum);
  while (contended.device.sent.size() < 100'000) {
    contended.round();
  }
  ASSERT_TRUE(contended.device.dropped.empty());
  std::array<std::uint64_t, 3> turns{};
  std::array<std::uint64_t, 3> bytes{};
  const auto& sent = contended.device.sent;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const std::uint8_t c = sent[i].traffic_class.value;
    bytes[c] += sent[i].frame.length;
    if (i + 1 < sent.size() && sent[i + 1].traffic_class.value != c) {
      ++turns[c];
      const std::uint64_t exact = turns[c] * quantum * weights[c];
      ASSERT_LE(bytes[c], exact);
      ASSERT_GT(bytes[c] + longest, exact) << "class " << int{c} << ", turn " << turns[c];
    }
  }
  EXPECT_GT(turns[0], 1000U);
  EXPECT_LE(turns[0] - turns[2], 1U) << "as many turns for each";
}

TEST(Service, WeightedSharesHoldWhereFramesAreLongerThanTheQuantum) {
  constexpr std::uint32_t quantum = least_quantum_bytes;
  Contended contended(quantum);
  for (int round = 0; round < 3000; ++round) {
    contended.round();
    const auto sent = [&](unsigned c) {
      return static_cast<double>(contended.queues->snapshot(cls(c)).bytes) / weights[c];
    };
    for (unsigned c = 1; c < weights.size(); ++c) {
      // A quantum, and a frame of either.
      ASSERT_NEAR(sent(0), sent(c), quantum + longest + longest / static_cast<double>(weights[c]));
    }
  }
  EXPECT_GT(contended.queues->snapshot(cls(0)).frames, 1000U);
}

TEST(Service, WhatAClassDoesNotUseIsTheOthers) {
  PortSettings settings;
  settings.classes[1].weight = 100;
  Queues queues{settings};
  Device device;
  device.room = 0;
  push(queues, device, cls(0), 0, 200);
  push(queues, device, cls(1), 200, 1);
  queues.flush(ms(1), device);
  device.room = 201;
  EXPECT_FALSE(queues.flush(ms(1), device));
  EXPECT_EQ(device.sent.size(), 201U);
}

TEST(Service, AClassThatWasEmptySavedNothingUp) {
  PortSettings settings;
  settings.quantum_bytes = 1000;
  Queues queues{settings};
  Device device;
  const auto both = [&](std::uint32_t of_each) {
    device.room = 0;
    push(queues, device, cls(0), 0, of_each, 600);
    push(queues, device, cls(1), 0, of_each, 600);
    queues.flush(ms(1), device);
    device.room = Device::endless;
    queues.flush(ms(1), device);
  };
  both(1); // each leaves with 400 bytes of its turn unused
  device.sent.clear();
  both(3);
  // 1,000 bytes each: one frame, and 400 are left over; the next turn has 1,400: two frames.
  EXPECT_EQ(classes_sent(device), (std::vector<std::uint8_t>{1, 0, 1, 1, 0, 0}));
}

} // namespace
} // namespace tributary::egress::test
