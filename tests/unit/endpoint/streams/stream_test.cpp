// What one side writes the other one takes, in order and once, whatever the network does.
#include "tests/support/allocations.hpp"
#include "tests/unit/endpoint/streams/stream_host.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary::streams::test {
namespace {

using rdma::test::Faults;

TEST_F(StreamTest, BytesArriveInOrderInBothDirectionsAtOnce) {
  const Bytes there = some_bytes(40'000, 1);
  const Bytes back = some_bytes(30'000, 2);
  write(*left, right_nid, there);
  write(*right, left_nid, back);
  ASSERT_TRUE(runs_until([&] {
    return right->from(left_nid).size() == there.size() &&
           left->from(right_nid).size() == back.size();
  }));
  EXPECT_EQ(right->from(left_nid), there);
  EXPECT_EQ(left->from(right_nid), back);
  EXPECT_EQ(left->streams.counters().resent + right->streams.counters().resent, 0U);
  network().run_for(1'000'000);
  EXPECT_EQ(left->streams.frames_in_use() + right->streams.frames_in_use(), 0U)
      << "all frames were answered";
}

TEST_F(StreamTest, WhatWaitsGoesTogetherInFullFrames) {
  open();
  const std::uint64_t before = left->streams.counters().sent;
  for (int i = 0; i < 100; ++i) {
    left->write(right_nid, some_bytes(20, 3)); // nothing leaves before the network is pumped
  }
  network().pump();
  ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == 2'000; }));
  EXPECT_LE(left->streams.counters().sent - before, 14U);
}

struct Spoiled {
  const char* name;
  Faults faults;
  std::uint64_t jitter_ns;
};

class SpoiledTest : public StreamTest, public testing::WithParamInterface<Spoiled> {};

TEST_P(SpoiledTest, EveryByteArrivesInOrder) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    make({.delay_ns = 1000, .jitter_ns = GetParam().jitter_ns, .faults = GetParam().faults}, seed);
    const Bytes there = some_bytes(60'000, seed);
    const Bytes back = some_bytes(20'000, seed + 1000);
    write(*left, right_nid, there);
    write(*right, left_nid, back);
    ASSERT_TRUE(runs_until([&] {
      return right->from(left_nid).size() >= there.size() &&
             left->from(right_nid).size() >= back.size();
    })) << "seed "
        << seed << ": " << right->from(left_nid).size() << " and " << left->from(right_nid).size();
    ASSERT_EQ(right->from(left_nid), there) << "seed " << seed;
    ASSERT_EQ(left->from(right_nid), back) << "seed " << seed;
    ASSERT_TRUE(left->ended.empty() && right->ended.empty()) << "seed " << seed;
    network().run_for(50'000'000);
    ASSERT_EQ(left->streams.frames_in_use() + right->streams.frames_in_use(), 0U)
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, SpoiledTest,
    testing::Values(
        Spoiled{"loss", {.loss = 0.01}, 0}, Spoiled{"heavy_loss", {.loss = 0.2}, 0},
        Spoiled{"duplicates", {.duplicate = 0.1}, 500}, Spoiled{"damage", {.corrupt = 0.05}, 0},
        Spoiled{"spraying", {}, 20'000}, Spoiled{"late", {.late = 0.02, .late_ns = 800'000}, 500},
        Spoiled{
            "everything",
            {.loss = 0.02, .duplicate = 0.02, .corrupt = 0.01, .late = 0.005, .late_ns = 800'000},
            5'000}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(StreamTest, ReorderingCostsFewCopies) {
  make({.delay_ns = 1000, .jitter_ns = 10'000});
  write(*left, right_nid, some_bytes(400'000, 1));
  ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == 400'000; }));
  const Counters& c = left->streams.counters();
  EXPECT_GT(right->streams.counters().held, c.sent / 2) << "frames did come out of order";
  EXPECT_LT(c.resent, c.sent / 20);
}

TEST_F(StreamTest, ALossCostsARoundTripAndNotATimeOut) {
  open();
  std::uint64_t dropped = 0;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    const bool drops = h.kind == wire::RdmaKind::str && h.source == left_nid && dropped == 0;
    dropped += drops ? 1 : 0;
    return !drops;
  });
  const TimeNs begun = network().now();
  write(*left, right_nid, some_bytes(2'000, 4)); // ten frames, of which the first is lost
  ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == 2'000; }));
  EXPECT_EQ(dropped, 1U);
  EXPECT_EQ(left->streams.counters().resent, 1U);
  EXPECT_EQ(left->streams.counters().timeouts, 0U);
  EXPECT_LT(elapsed_ns(network().now(), begun), 20'000U);
}

TEST_F(StreamTest, AnAnswerTravelsWithDataWhereThereIsSome) {
  open();
  const std::uint64_t before =
      left->streams.counters().answers_sent + right->streams.counters().answers_sent;
  for (std::size_t i = 0; i < 50; ++i) { // ping, pong
    write(*left, right_nid, some_bytes(8, 1));
    ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == 8 * (i + 1); }));
    write(*right, left_nid, some_bytes(8, 1));
    ASSERT_TRUE(runs_until([&] { return left->from(right_nid).size() == 8 * (i + 1); }));
  }
  EXPECT_LE(left->streams.counters().answers_sent + right->streams.counters().answers_sent,
            before + 1);
}

TEST_F(StreamTest, AnOwnerThatTakesNothingHoldsUpItsPeerAndNoMemoryGrows) {
  open();
  right->set_takes(false);
  const Bytes all = some_bytes(100'000, 5);
  write(*left, right_nid, all);
  network().run_for(ns_per_second); // a thousand time-outs
  EXPECT_TRUE(left->ended.empty()) << "a peer that waits is not one that is gone";
  EXPECT_TRUE(right->from(left_nid).empty());
  EXPECT_LE(right->streams.frames_in_use(), 64U);
  EXPECT_LE(left->streams.frames_in_use(), 64U);
  EXPECT_FALSE(left->has_written_all());
  right->set_takes(true);
  network().pump();
  ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == all.size(); }));
  EXPECT_EQ(right->from(left_nid), all);
}

TEST_F(StreamTest, CreditThatIsLostIsAskedFor) {
  open();
  right->set_takes(false);
  write(*left, right_nid, some_bytes(50'000, 6));
  network().run_for(10'000'000);
  std::size_t lost = 0;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    const bool drops = h.kind == wire::RdmaKind::ack && h.source == right_nid && lost < 3;
    lost += drops ? 1 : 0;
    return !drops;
  });
  right->set_takes(true);
  network().pump();
  ASSERT_TRUE(runs_until([&] { return right->from(left_nid).size() == 50'000; }));
  EXPECT_EQ(lost, 3U);
}

TEST_F(StreamTest, ManySendersAtOnceHaveNoMoreCreditThanTheReceiversRoom) {
  constexpr std::uint32_t senders = 40;
  Options sink = small(right_nid);
  sink.sessions = senders;
  sink.receive_room = 4 * senders; // less than `least_credit` for each, and far less than W
  sink.hold_frames = 64;
  make({.delay_ns = 1000, .jitter_ns = 500, .faults = {.loss = 0.01}}, 1, small(left_nid), sink);
  std::vector<std::unique_ptr<StreamHost>> all;
  for (std::uint32_t i = 0; i < senders; ++i) {
    const EndPoint address(left_nid, static_cast<std::uint16_t>(256 + i));
    all.push_back(std::make_unique<StreamHost>(small(address)));
    network().add(*all.back(), address, 270);
    all.back()->write(right_nid, some_bytes(20'000, i));
  }
  std::uint64_t most = 0;
  ASSERT_TRUE(runs_until([&] {
    std::uint64_t credit = 0;
    bool done = true;
    for (std::uint32_t i = 0; i < senders; ++i) {
      const EndPoint peer(left_nid, static_cast<std::uint16_t>(256 + i));
      const Session* const session = right->session_with(peer);
      credit += session == nullptr ? 0 : session->granted - session->expected;
      done = done && right->from(peer).size() == 20'000;
    }
    most = std::max(most, credit);
    return done;
  }));
  EXPECT_LE(most, 2U * 8 * senders) << "least_credit for each, but for what was given before";
  for (std::uint32_t i = 0; i < senders; ++i) {
    EXPECT_EQ(right->from({left_nid, static_cast<std::uint16_t>(256 + i)}), some_bytes(20'000, i));
  }
}

TEST_F(StreamTest, NumbersRiseBeyondAllBits) {
  // A frame a byte would take long: 2^32 frames. What counts is arithmetic.
  EXPECT_TRUE(is_before(0xFFFFFFFF, 0));
  EXPECT_TRUE(is_before(0xFFFFFFF0, 0x10));
  EXPECT_FALSE(is_before(0, 0xFFFFFFFF));
  EXPECT_FALSE(is_before(5, 5));
}

TEST_F(StreamTest, NothingIsAllocatedForAFrame) {
  // Frames go by hand: the test network allocates.
  struct Wire final : link::Port {
    std::uint32_t longest_frame() const override { return 270; }
    wire::MacAddress address() const override { return {}; }
    std::string description() const override { return "wire"; }
    std::size_t transmit(std::span<Slot> slots) override {
      for (const Slot& slot : slots) {
        wire::RdmaFrame frame;
        EXPECT_EQ(wire::decode({slot.data, slot.length}, wire::default_ethertype, frame),
                  wire::RdmaError::none);
        to->take(frame, [this](std::uint32_t, std::span<const std::byte> data) {
          taken += data.size();
          return true;
        });
      }
      used = 0;
      return slots.size();
    }
    std::size_t replenish(std::span<Slot> slots) override {
      std::size_t count = 0;
      for (; count < slots.size() && used < burst; ++count) {
        slots[count].data = buffers[used++].data();
      }
      return count;
    }
    std::size_t take(std::span<FrameView>) override { return 0; }
    Streams* to = nullptr;
    std::size_t taken = 0;
    std::size_t used = 0;
    std::array<std::array<std::byte, 270>, burst> buffers{};
  };
  Streams from(small(left_nid));
  Streams sink(small(right_nid));
  Wire there;
  Wire back;
  there.to = &sink;
  back.to = &from;
  const std::size_t before = tributary::test::allocations();
  const auto s = from.open(right_nid, vni);
  ASSERT_TRUE(s);
  std::size_t written = 0;
  for (std::uint64_t now = 1; there.taken < 20'000 && now < 1'000; ++now) {
    while (written < 20'000) {
      const Streams::Space space = from.space(*s, 1);
      if (space.data == nullptr) {
        break;
      }
      std::memset(space.data, 7, space.bytes);
      from.commit(*s, space.bytes);
      written += space.bytes;
    }
    for (auto& [streams, port] : {std::pair(&from, &there), std::pair(&sink, &back)}) {
      streams->poll(TimeNs{1000 * now});
      engine::Outlet outlet(*port);
      (void)streams->send(outlet);
      port->flush();
    }
  }
  EXPECT_GE(there.taken, 20'000U);
  EXPECT_EQ(tributary::test::allocations(), before);
}

} // namespace
} // namespace tributary::streams::test
