// The slots of a port: pushed frames leave in order, once, whatever the shell refuses.
#include "lib/link/port.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace tributary::link {
namespace {

/// A shell that takes a set number of frames, and has a bounded number of buffers.
class FakePort : public Port {
public:
  explicit FakePort(std::size_t buffers, std::size_t frames_at_once = burst, bool gathers = false)
      : Port(frames_at_once, gathers ? Gathers::yes : Gathers::no), storage_(buffers) {
    for (Buffer& buffer : storage_) {
      free_.push_back(&buffer);
    }
  }
  [[nodiscard]] std::uint32_t longest_frame() const override { return sizeof(std::uint64_t); }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "fake"; }

  /// False without room.
  bool send(std::uint64_t value) {
    std::byte* frame = room();
    if (frame == nullptr) {
      return false;
    }
    std::memcpy(frame, &value, sizeof value);
    push(sizeof value);
    return true;
  }
  /// The same of a value whose last four bytes are at `rest`.
  bool send(std::uint64_t value, const std::uint32_t& rest) {
    std::byte* frame = room();
    if (frame == nullptr) {
      return false;
    }
    std::memcpy(frame, &value, sizeof value - sizeof rest);
    push(sizeof value - sizeof rest, std::as_bytes(std::span(&rest, 1)));
    return true;
  }
  [[nodiscard]] std::size_t buffers_held() { return stocked().size(); }

  std::size_t takes = longest_burst; ///< frames of each burst
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> waiting;
  std::size_t gathered = 0; ///< frames of which a part lay elsewhere when they were sent

private:
  struct Buffer {
    std::uint64_t value = 0;
  };

  std::size_t transmit(std::span<Slot> slots) override {
    const std::size_t count = std::min(takes, slots.size());
    for (const Slot& slot : slots.first(count)) {
      auto* buffer = static_cast<Buffer*>(slot.handle);
      EXPECT_EQ(slot.data, reinterpret_cast<std::byte*>(&buffer->value));
      EXPECT_EQ(slot.length, sizeof buffer->value);
      std::uint64_t value = buffer->value;
      if (!slot.rest.empty()) {
        ++gathered;
        std::memcpy(reinterpret_cast<std::byte*>(&value) + slot.length - slot.rest.size(),
                    slot.rest.data(), slot.rest.size());
      }
      sent.push_back(value);
      free_.push_back(buffer);
    }
    return count;
  }
  std::size_t replenish(std::span<Slot> slots) override {
    std::size_t given = 0;
    for (Slot& slot : slots) {
      if (free_.empty()) {
        break;
      }
      slot.handle = free_.back();
      slot.data = reinterpret_cast<std::byte*>(&free_.back()->value);
      free_.pop_back();
      ++given;
    }
    return given;
  }
  std::size_t take(std::span<FrameView> views) override {
    const std::size_t count = std::min(views.size(), waiting.size());
    taken_.assign(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      views[i] = {reinterpret_cast<std::byte*>(&taken_[i]), sizeof(std::uint64_t)};
    }
    return count;
  }

  std::vector<Buffer> storage_;
  std::vector<Buffer*> free_;
  std::vector<std::uint64_t> taken_;
};

class CountingTap : public FrameTap {
public:
  void sent(const Port& /*port*/, std::span<const std::byte> frame) override {
    sent_values.push_back(value_of(frame));
  }
  void received(const Port& /*port*/, std::span<const std::byte> frame) override {
    received_values.push_back(value_of(frame));
  }
  std::vector<std::uint64_t> sent_values;
  std::vector<std::uint64_t> received_values;

private:
  static std::uint64_t value_of(std::span<const std::byte> frame) {
    std::uint64_t value = 0;
    std::memcpy(&value, frame.data(), sizeof value);
    return value;
  }
};

std::vector<std::uint64_t> first(std::uint64_t count) {
  std::vector<std::uint64_t> values(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    values[i] = i;
  }
  return values;
}

TEST(PortTest, FullBurstLeavesByItselfAndTheRestWithFlush) {
  FakePort port(64);
  for (std::uint64_t i = 0; i < Port::burst + 5; ++i) {
    ASSERT_TRUE(port.send(i));
  }
  EXPECT_EQ(port.sent.size(), Port::burst);
  EXPECT_EQ(port.pending(), 5U);
  port.flush();
  EXPECT_EQ(port.sent, first(Port::burst + 5));
  EXPECT_EQ(port.counts().sent_frames, Port::burst + 5);
  EXPECT_EQ(port.counts().sent_bytes, (Port::burst + 5) * sizeof(std::uint64_t));
  EXPECT_EQ(port.counts().send_refusals, 0U);
}

// Little-endian, as the machines that this runs on: the upper half of a number is its end.
constexpr std::uint64_t with_end(std::uint64_t value, std::uint32_t end) {
  return (value & 0xFFFFFFFFU) | std::uint64_t{end} << 32;
}

TEST(PortTest, AFramesEndIsSentFromWhereItLies) {
  for (const bool gathers : {false, true}) {
    FakePort port(64, Port::burst, gathers);
    std::uint32_t end = 7;
    ASSERT_TRUE(port.send(1, end));
    ASSERT_TRUE(port.send(2));
    port.flush();
    EXPECT_EQ(port.sent, (std::vector<std::uint64_t>{with_end(1, 7), 2}));
    EXPECT_EQ(port.gathered, gathers ? 1U : 0U);
    EXPECT_EQ(port.counts().sent_bytes, 2 * sizeof(std::uint64_t));
  }
}

TEST(PortTest, KeptFramesNeedNoOtherMemoryWhateverThePortRefuses) {
  FakePort port(64, Port::burst, true);
  std::vector<std::uint32_t> ends = {10, 11, 12, 13, 14};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ASSERT_TRUE(port.send(i, ends[i]));
  }
  port.takes = 2;
  port.flush();
  port.keep_unsent();
  std::fill(ends.begin(), ends.end(), 99);
  const std::uint32_t last = 15;
  ASSERT_TRUE(port.send(5, last));
  port.takes = 3;
  port.flush();
  port.flush();
  port.keep_unsent();
  for (std::uint64_t more = 0; more < 8; ++more) {
    ASSERT_TRUE(port.send(more)) << "in slots that had an end elsewhere";
  }
  port.takes = Port::longest_burst;
  port.flush();
  std::vector<std::uint64_t> expected;
  for (std::uint32_t i = 0; i < 6; ++i) {
    expected.push_back(with_end(i, 10 + i));
  }
  for (std::uint64_t more = 0; more < 8; ++more) {
    expected.push_back(more);
  }
  EXPECT_EQ(port.sent, expected);
  EXPECT_EQ(port.gathered, 3U) << "two before they were kept, one after that";
}

TEST(PortTest, ATapSeesFramesWholeWhoseEndLiesElsewhere) {
  FakePort port(64, Port::burst, true);
  CountingTap tap;
  port.set_tap(&tap);
  const std::uint32_t end = 7;
  ASSERT_TRUE(port.send(1, end));
  port.flush();
  EXPECT_EQ(tap.sent_values, (std::vector<std::uint64_t>{with_end(1, 7)}));
  EXPECT_EQ(port.sent, tap.sent_values);
}

TEST(PortTest, RefusedFramesStayAndARefusingPortHasNoRoom) {
  FakePort port(64);
  port.takes = 0;
  std::uint64_t pushed = 0;
  while (port.send(pushed)) {
    ++pushed;
  }
  EXPECT_EQ(pushed, Port::burst);
  EXPECT_TRUE(port.sent.empty());
  EXPECT_EQ(port.counts().sent_frames, 0U);
  EXPECT_GT(port.counts().send_refusals, 0U);
  port.takes = 3;
  EXPECT_TRUE(port.send(pushed++)) << "room after a part was taken";
  port.takes = Port::longest_burst;
  port.flush();
  EXPECT_EQ(port.sent, first(pushed));
}

TEST(PortTest, BurstIsAsLongAsThePortWasMadeFor) {
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{3}, Port::longest_burst}) {
    FakePort port(200, at_once);
    ASSERT_EQ(port.frames_at_once(), at_once);
    port.waiting = first(at_once + 1);
    EXPECT_EQ(port.receive().size(), at_once);
    EXPECT_EQ(port.receive().size(), 1U);
    for (std::uint64_t i = 0; i + 1 < at_once; ++i) {
      ASSERT_TRUE(port.send(i));
    }
    EXPECT_TRUE(port.sent.empty()) << at_once;
    ASSERT_TRUE(port.send(at_once - 1));
    EXPECT_EQ(port.sent, first(at_once));
    port.takes = 0;
    for (std::uint64_t i = 0; i < at_once; ++i) {
      ASSERT_TRUE(port.send(i));
    }
    EXPECT_FALSE(port.send(at_once)) << "no more room than that";
  }
}

TEST(PortTest, WhatThereIsNothingToKnowOfSaysSo) {
  FakePort port(1);
  EXPECT_LT(port.fd(), 0);
  EXPECT_EQ(port.speed_mbps(), 0U);
  EXPECT_TRUE(port.up());
}

TEST(PortTest, OrderAndBuffersSurviveAnyMixtureOfBurstsAndRefusals) {
  const std::uint64_t seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  // Fewer buffers than slots, as many, and plenty; and bursts of several lengths.
  for (const auto& [buffers, at_once] : {std::pair<std::size_t, std::size_t>{7, Port::burst},
                                         {32, Port::burst},
                                         {200, Port::burst},
                                         {200, Port::longest_burst},
                                         {9, 5}}) {
    FakePort port(buffers, at_once);
    std::uint64_t pushed = 0;
    for (int step = 0; step < 20'000; ++step) {
      port.takes = random() % (Port::longest_burst + 1);
      for (std::uint64_t attempts = random() % 12; attempts > 0 && port.send(pushed); --attempts) {
        ++pushed;
      }
      if (random() % 3 == 0) {
        port.flush();
      }
      ASSERT_LE(port.pending(), port.buffers_held());
    }
    port.takes = Port::longest_burst;
    port.flush();
    EXPECT_EQ(port.pending(), 0U);
    EXPECT_GT(pushed, 1000U);
    EXPECT_EQ(port.sent, first(pushed));
  }
}

TEST(PortTest, TapSeesEachFrameOnceHoweverOftenItIsRefused) {
  FakePort port(64);
  CountingTap tap;
  port.set_tap(&tap);
  port.takes = 2;
  for (std::uint64_t i = 0; i < 7; ++i) {
    ASSERT_TRUE(port.send(i));
  }
  for (int i = 0; i < 4; ++i) {
    port.flush();
  }
  EXPECT_EQ(port.sent, first(7));
  EXPECT_EQ(tap.sent_values, first(7));
  port.waiting = first(40);
  EXPECT_EQ(port.receive().size(), Port::burst);
  EXPECT_EQ(port.receive().size(), 40 - Port::burst);
  EXPECT_EQ(tap.received_values, first(40));
  EXPECT_EQ(port.counts().received_frames, 40U);
  EXPECT_EQ(port.counts().received_bytes, 40 * sizeof(std::uint64_t));
}

} // namespace
} // namespace tributary::link
