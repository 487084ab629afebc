// Programs of one host through shared memory, and the wire beside it.
#include "lib/link/link_error.hpp"
#include "lib/link/memory_port.hpp"
#include "lib/link/node_port.hpp"
#include "lib/link/wait.hpp"
#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/portals.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tributary::link::test {
namespace {

constexpr Nid own_nid{0x12};
constexpr Nid other_nid{0x34};
constexpr Vni of_job{0x0400};
constexpr std::uint32_t frame_bytes = 200;

/// Keeps what was sent, and gives nothing. It throws while `fails`.
class FarEnd final : public Port {
public:
  FarEnd(std::vector<std::uint32_t>& sent, const bool& fails)
      : sent_(&sent), fails_(&fails), memory_(64 * frame_bytes) {
    for (std::size_t i = 0; i < 64; ++i) {
      free_.push_back(&memory_[i * frame_bytes]);
    }
  }
  [[nodiscard]] std::uint32_t longest_frame() const override { return frame_bytes; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "far end"; }

private:
  std::size_t transmit(std::span<Slot> slots) override {
    if (*fails_) {
      throw LinkError(LinkError::Kind::interface_down, "it is down");
    }
    for (const Slot& slot : slots) {
      sent_->push_back(wire::load_be<std::uint32_t>(slot.data + 60));
      free_.push_back(slot.data);
    }
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    std::size_t count = 0;
    for (; count < slots.size() && !free_.empty(); ++count) {
      slots[count].data = free_.back();
      free_.pop_back();
    }
    return count;
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::vector<std::uint32_t>* sent_;
  const bool* fails_;
  std::vector<std::byte> memory_;
  std::vector<std::byte*> free_;
};

class NodePortTest : public testing::Test {
protected:
  [[nodiscard]] std::unique_ptr<NodePort> program(std::uint16_t number) {
    return std::make_unique<NodePort>(std::make_unique<FarEnd>(by_wire, fails),
                                      EndPoint(own_nid, number), of_job, interface);
  }
  /// False if the port takes no more.
  static bool send(Port& port, EndPoint to, std::uint32_t content) {
    std::byte* const frame = port.room();
    if (frame == nullptr) {
      return false;
    }
    wire::write_ethernet_header(frame, {}, {}, wire::default_ethertype);
    std::byte* const packet = frame + wire::ethernet_header_bytes;
    wire::store_be<std::uint32_t>(packet + wire::portals_offset::dfa,
                                  wire::FabricAddress::unicast(to).value);
    wire::store_be<std::uint32_t>(frame + 60, content);
    port.push(64 + content % 100);
    port.flush();
    return true;
  }
  /// The contents of all frames that have come.
  static std::vector<std::uint32_t> received(Port& port) {
    std::vector<std::uint32_t> all;
    for (int empty = 0; empty < 40;) { // the wire has its turn in between
      const auto frames = port.receive();
      empty = frames.empty() ? empty + 1 : 0;
      for (const FrameView& view : frames) {
        const auto content = wire::load_be<std::uint32_t>(view.data + 60);
        EXPECT_EQ(view.length, 64 + content % 100);
        all.push_back(content);
      }
    }
    return all;
  }

  std::string interface = fmt::format("test{}", ::getpid());
  std::vector<std::uint32_t> by_wire;
  bool fails = false;
};

TEST_F(NodePortTest, FramesOfTheHostDoNotUseTheWireAndOthersDo) {
  const auto a = program(1);
  const auto b = program(2);
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(send(*a, i % 2 == 0 ? EndPoint(own_nid, 2) : EndPoint(other_nid, 2), i));
  }
  EXPECT_EQ(received(*b), (std::vector<std::uint32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(by_wire, (std::vector<std::uint32_t>{1, 3, 5, 7, 9}));
  EXPECT_TRUE(send(*b, {own_nid, 1}, 77));
  EXPECT_EQ(received(*a), (std::vector<std::uint32_t>{77}));
}

TEST_F(NodePortTest, WhatAWireThatIsDownHasNotTakenLeavesOnceWhenItIsUp) {
  const auto a = program(1);
  fails = true;
  std::vector<std::uint32_t> all;
  std::size_t refused = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    all.push_back(i);
    try {
      EXPECT_TRUE(send(*a, EndPoint(other_nid, 2), i));
    } catch (const LinkError&) {
      ++refused; // it stays in the burst
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_THROW(a->flush(), LinkError);
  EXPECT_TRUE(by_wire.empty());
  fails = false;
  a->flush();
  EXPECT_EQ(by_wire, all);
  EXPECT_EQ(a->pending(), 0U);
}

TEST_F(NodePortTest, AProgramReachesItself) {
  const auto a = program(1);
  EXPECT_TRUE(send(*a, {own_nid, 1}, 5));
  EXPECT_EQ(received(*a), (std::vector<std::uint32_t>{5}));
}

TEST_F(NodePortTest, ManyFramesOfSeveralSendersArriveInTheOrderOfEach) {
  const auto sink = program(9);
  std::vector<std::unique_ptr<NodePort>> senders;
  for (std::uint16_t n = 0; n < 4; ++n) {
    senders.push_back(program(n));
  }
  std::vector<std::uint32_t> next(4);
  std::vector<std::uint32_t> seen(4);
  for (int round = 0; round < 2'000; ++round) {
    for (std::uint32_t n = 0; n < 4; ++n) {
      next[n] += send(*senders[n], {own_nid, 9}, n * 100'000 + next[n]) ? 1 : 0;
    }
    for (const FrameView& view : sink->receive()) {
      const auto content = wire::load_be<std::uint32_t>(view.data + 60);
      EXPECT_EQ(content % 100'000, seen[content / 100'000]++);
    }
  }
  for (const std::uint32_t content : received(*sink)) {
    EXPECT_EQ(content % 100'000, seen[content / 100'000]++);
  }
  EXPECT_EQ(seen, next);
}

TEST_F(NodePortTest, WhoIsNotThereIsNotWaitedFor) {
  const auto a = program(1);
  EXPECT_TRUE(send(*a, {own_nid, 4}, 1));
  EXPECT_EQ(a->dropped_on_host(), 1U);
  EXPECT_EQ(a->pending(), 0U);
}

TEST_F(NodePortTest, WhoTakesNothingHoldsUpForAWhileAndIsLeftOutThen) {
  const auto a = program(1);
  const auto b = program(2);
  std::size_t sent = 0;
  while (sent < 1'000 && a->pending() == 0) {
    send(*a, {own_nid, 2}, 1);
    ++sent;
  }
  EXPECT_EQ(a->pending(), 1U) << "the ring is full";
  EXPECT_LT(sent, 1'000U);
  ::usleep(2 * NodePort::patience_ns / 1'000);
  a->flush();
  EXPECT_EQ(a->pending(), 0U);
  EXPECT_EQ(a->dropped_on_host(), 1U);
}

TEST_F(NodePortTest, TheNextProgramOfANumberIsReached) {
  const auto a = program(1);
  auto b = program(2);
  EXPECT_TRUE(send(*a, {own_nid, 2}, 1));
  EXPECT_EQ(received(*b).size(), 1U);
  b.reset();
  b = program(2);
  // The first frames go where the former one was; then it is noticed, and looked for again.
  std::vector<std::uint32_t> got;
  for (int i = 0; i < 500 && got.empty(); ++i) {
    send(*a, {own_nid, 2}, 2);
    ::usleep(1'000);
    got = received(*b);
  }
  EXPECT_FALSE(got.empty());
}

TEST_F(NodePortTest, AWaitEndsWithAFrame) {
  const auto a = program(1);
  const auto b = program(2);
  EXPECT_TRUE(send(*a, {own_nid, 2}, 1));
  EXPECT_EQ(received(*b).size(), 1U); // connected
  pollfd waiting{.fd = b->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);
  EXPECT_TRUE(send(*a, {own_nid, 2}, 2));
  EXPECT_EQ(::poll(&waiting, 1, 1'000), 1);
  EXPECT_EQ(received(*b).size(), 1U);
  // One that came before the wait was announced ends it, too.
  EXPECT_TRUE(send(*a, {own_nid, 2}, 3));
  waiting.fd = b->fd();
  EXPECT_EQ(::poll(&waiting, 1, 1'000), 1);
}

} // namespace
} // namespace tributary::link::test
