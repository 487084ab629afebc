// Bad input at a node: each kind is refused, counted by its reason, and harmless.
#include "tests/support/allocations.hpp"
#include "tests/unit/endpoint/rdma/pair.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tributary::rdma::test {
namespace {

class RefusalTest : public PairTest {
protected:
  /// A write of three frames whose second never arrives: the sink waits in the middle of it. Later
  /// frames are made from the last one that arrived.
  void SetUp() override {
    network().set_filter([&](auto, const wire::RdmaHeader& h) {
      if (h.kind == wire::RdmaKind::wr && h.pidx == 2) {
        data = h;
      }
      return h.kind != wire::RdmaKind::wr || h.pidx != 1;
    });
    write(3000);
    network().run_for(4'000);
    ASSERT_EQ(sink->sinks_in_use(), 1U);
    ASSERT_EQ(data.kind, wire::RdmaKind::wr);
    data.pidx = 1;
    data.flags = 0;
    before.assign(to.region().begin(), to.region().end());
  }
  static std::vector<std::byte> frame_of(const wire::RdmaHeader& h, std::size_t payload = 1000) {
    const std::vector<std::byte> bytes(payload, std::byte{0xEE});
    std::vector<std::byte> frame(wire::rdma_frame_bytes(payload));
    wire::encode(h, {}, bytes, frame.data());
    return frame;
  }
  void give(std::vector<std::byte> frame) {
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    sink->receive({&view, 1}, network().now());
  }
  void expect_untouched() {
    EXPECT_TRUE(std::equal(before.begin(), before.end(), to.region().begin()));
    EXPECT_TRUE(to.canaries_live());
    EXPECT_EQ(sink->sinks_in_use(), 1U);
    network().set_filter({});
    EXPECT_TRUE(completion().done()) << "the transfer continues";
  }

  wire::RdmaHeader data;
  std::vector<std::byte> before;
};

TEST_F(RefusalTest, ABadCrc) {
  auto frame = frame_of(data);
  frame.back() ^= std::byte{1};
  give(frame);
  EXPECT_EQ(sink->counters().bad_crc, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, AnUnknownKind) {
  data.kind = static_cast<wire::RdmaKind>(15);
  give(frame_of(data));
  EXPECT_EQ(sink->counters().unknown_kind, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, AWrongGeneration) {
  --data.generation;
  give(frame_of(data));
  EXPECT_EQ(sink->counters().wrong_generation, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, AnotherTransfer) {
  ++data.message;
  give(frame_of(data));
  data.message -= 1;
  data.scid ^= 1;
  give(frame_of(data));
  data.scid ^= 1;
  data.source = Nid{99};
  give(frame_of(data));
  data.dcid = 999;
  give(frame_of(data));
  EXPECT_EQ(sink->counters().zombie, 4U);
  expect_untouched();
}

TEST_F(RefusalTest, AnotherVni) {
  data.vni = Vni{0x0500};
  give(frame_of(data));
  EXPECT_EQ(sink->counters().foreign_vni, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, AFrameBehindTheEnd) {
  data.pidx = 3;
  give(frame_of(data));
  EXPECT_EQ(sink->counters().beyond_end, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, AWrongLength) {
  give(frame_of(data, 999));
  give(frame_of(data, 0));
  EXPECT_EQ(sink->counters().wrong_length, 2U);
  expect_untouched();
}

TEST_F(RefusalTest, ADuplicate) {
  data.pidx = 0;
  give(frame_of(data));
  EXPECT_EQ(sink->counters().duplicates, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, AFrameForAnotherHost) {
  data.destination = Nid{77};
  give(frame_of(data));
  EXPECT_EQ(sink->counters().misdirected, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, ARequestWithoutItsFields) {
  data.kind = wire::RdmaKind::rqt;
  give(frame_of(data, 47));
  EXPECT_EQ(sink->counters().bad_request, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, ALengthThatDisagreesWithN) {
  data.kind = wire::RdmaKind::rqt;
  data.scid = 40;
  data.value = 1500;
  data.pidx = 3;
  std::vector<std::byte> request(wire::rdma_request_bytes);
  wire::encode(wire::RdmaRequest{.key = key.value, .incarnation = 1, .payload = 1000},
               std::span<std::byte, wire::rdma_request_bytes>(request));
  std::vector<std::byte> frame(wire::rdma_frame_bytes(request.size()));
  wire::encode(data, {}, request, frame.data());
  give(frame);
  EXPECT_EQ(sink->counters().refused_length, 1U);
  wire::encode(wire::RdmaRequest{.key = key.value, .incarnation = 1, .payload = 0},
               std::span<std::byte, wire::rdma_request_bytes>(request));
  wire::encode(data, {}, request, frame.data());
  give(frame);
  EXPECT_EQ(sink->counters().refused_frame_size, 1U);
  expect_untouched();
}

TEST_F(RefusalTest, ARequestOfAnotherIncarnation) {
  data.kind = wire::RdmaKind::rqt;
  data.value = 3000;
  data.pidx = 3;
  data.word = 0;
  std::vector<std::byte> request(wire::rdma_request_bytes);
  wire::encode(wire::RdmaRequest{.key = key.value, .incarnation = 0, .payload = 1000},
               std::span<std::byte, wire::rdma_request_bytes>(request));
  std::vector<std::byte> frame(wire::rdma_frame_bytes(request.size()));
  wire::encode(data, {}, request, frame.data());
  give(frame);
  EXPECT_EQ(sink->counters().challenged, 1U);
  expect_untouched();
}

using TrimmedTest = PairTest;

TEST_F(TrimmedTest, AFrameIsAskedForAtOnceAndNothingIsWritten) {
  std::vector<std::byte> last;
  network().set_filter([&](auto frame, const wire::RdmaHeader& h) {
    if (h.kind == wire::RdmaKind::wr && h.pidx == 2) {
      last.assign(frame.begin(), frame.end());
    }
    return h.kind != wire::RdmaKind::wr || h.pidx == 0;
  });
  write(3000);
  while (sink->counters().data_placed == 0) {
    ASSERT_TRUE(network().step());
  }
  last.resize(wire::trim(last.data()));
  network().inject(last);
  network().set_filter({});
  while (sink->counters().trimmed == 0) {
    ASSERT_TRUE(network().step());
  }
  EXPECT_EQ(sink->counters().sink_timeouts, 0U);
  EXPECT_EQ(sink->counters().resends_sent, 1U);
  EXPECT_EQ(sink->counters().data_placed, 1U);
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(arrived(3000));
}

class CapacityTest : public PairTest {};

TEST_F(CapacityTest, OfSixtyFiveThousandTransfersAtOnceAllAreDone) {
  Options a = small(source_nid);
  a.sources = most_contexts;
  a.completions = most_contexts;
  Options b = small(sink_nid);
  b.sinks = most_contexts;
  b.records = 2 * most_contexts; // two thirds are one peer's share
  make(a, b);
  rdma_policy::Policy policy = quick_policy();
  policy.initial_timeout_ns = policy.least_timeout_ns = policy.most_timeout_ns = ns_per_second;
  policy.sink_credit = policy.least_credit = 1; // all but one wait for credit
  policy.finished_ns = ns_per_second;
  set_policy(policy);
  for (std::size_t i = 0; i < most_contexts; ++i) {
    ASSERT_EQ(source
                  ->write({.peer = sink_nid,
                           .vni = vni,
                           .memory = from.region().subspan(i, 4),
                           .key = key,
                           .offset = i})
                  .error,
              BeginError::none);
  }
  std::size_t most = 0;
  std::size_t done = 0;
  network().run_until(network().now() + 10 * ns_per_second, [&] {
    most = std::max(most, sink->sinks_in_use());
    while (const auto completion = source->take_completion()) {
      done += completion->done() ? 1 : 0;
    }
    return done == most_contexts;
  });
  EXPECT_EQ(most, (2 * most_contexts + 2) / 3) << "the share of one peer";
  EXPECT_EQ(done, most_contexts);
  EXPECT_EQ(sink->sinks_in_use(), 0U);
}

TEST_F(CapacityTest, NothingIsAllocatedForATransfer) {
  // Frames go by hand: the test network allocates.
  struct Wire final : link::Port {
    std::uint32_t longest_frame() const override { return 1070; }
    wire::MacAddress address() const override { return {}; }
    std::string description() const override { return "wire"; }
    std::size_t transmit(std::span<Slot> slots) override {
      for (const Slot& slot : slots) {
        const FrameView view{slot.data, slot.length};
        to->receive({&view, 1}, TimeNs{1});
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
    Node* to = nullptr;
    std::size_t used = 0;
    std::array<std::array<std::byte, 1070>, burst> buffers{};
  };
  Wire there;
  Wire back;
  there.to = sink.get();
  back.to = source.get();
  const std::size_t before = tributary::test::allocations();
  ASSERT_EQ(
      source
          ->write({.peer = sink_nid, .vni = vni, .memory = from.region().first(50'000), .key = key})
          .error,
      BeginError::none);
  while (source->has_to_send() || sink->has_to_send()) {
    for (const auto& [node, port] :
         {std::pair{source.get(), &there}, std::pair{sink.get(), &back}}) {
      engine::Outlet outlet(*port);
      node->send(outlet);
      port->flush();
    }
  }
  const auto end = source->take_completion();
  EXPECT_EQ(tributary::test::allocations(), before);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->done());
  EXPECT_TRUE(arrived(50'000));
}

} // namespace
} // namespace tributary::rdma::test
