// RDMA transfers through a real switch core: that every byte is checked, on either end.
#include "pktgen/traffic/rdma.hpp"

#include "tests/support/allocations.hpp"
#include "tests/unit/pktgen/traffic/rdma_world.hpp"
#include "tributary/wire/rdma.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<std::uint64_t> edges = {0, 1, 1443, 1444, 1445, 100'003};

TEST(RdmaTraffic, OfTwoHostsDoesAsManyAsAskedAndEveryByteIsRight) {
  RdmaWorld world(2);
  RdmaTraffic& traffic = world.add(transfers(edges), {0, 1});
  ASSERT_TRUE(world.transfer(120));
  const measure::Tally tally = traffic.tally(world.now);
  EXPECT_EQ(tally.figure("transfers"), 120U);
  EXPECT_EQ(tally.figure("writes") + tally.figure("reads"), 120U);
  EXPECT_GT(tally.figure("writes"), 30U);
  EXPECT_GT(tally.figure("reads"), 30U);
  EXPECT_EQ(tally.figure("payload_bytes"), 20 * (1 + 1443 + 1444 + 1445 + 100'003U));
  EXPECT_EQ(tally.figure("writes_arrived"), tally.figure("writes"));
  EXPECT_EQ(tally.figure("reads_served"), tally.figure("reads"));
  EXPECT_EQ(tally.figure("arrived_digest"), tally.figure("written_digest"));
  EXPECT_NE(tally.figure("arrived_digest"), 0U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 0U)
      << testing::PrintToString(tally.remarks);
  EXPECT_EQ(tally.figure("resent_frames"), 0U);
  EXPECT_EQ(tally.latency("write_done")->count(), tally.figure("writes"));
  EXPECT_EQ(tally.latency("read_done")->count(), tally.figure("reads"));
  EXPECT_EQ(tally.sent.frames, tally.figure("data_frames") + tally.figure("control_frames"));
  EXPECT_EQ(tally.sent.bytes, tally.received.bytes);
  EXPECT_TRUE(traffic.drained(world.now));
  EXPECT_EQ(traffic.waiting_for(world.now), "");
}

TEST(RdmaTraffic, ThroughANetworkThatLosesRepeatsAndSwapsIsDoneAllTheSame) {
  RdmaWorld world(4, {.lost = 0.02, .repeated = 0.02, .late = 0.02});
  scenario::Rdma settings = transfers({60'000, 7});
  settings.pattern = scenario::Pattern::all_to_all;
  world.add(settings, {0, 1, 2, 3});
  ASSERT_TRUE(world.transfer(200));
  EXPECT_EQ(world.figure("transfers"), 200U);
  EXPECT_EQ(world.figure("digest_errors"), 0U);
  EXPECT_EQ(world.figure("transfers_failed"), 0U);
  EXPECT_EQ(world.figure("arrived_digest"), world.figure("written_digest"));
  EXPECT_GT(world.figure("lost_frames"), 0U);
  EXPECT_GT(world.figure("late_frames"), 0U);
  EXPECT_GT(world.figure("duplicate_frames"), 0U);
  EXPECT_GE(world.figure("resent_frames"), world.figure("lost_frames"));
}

TEST(RdmaTraffic, AWrongByteBehindARightCrcIsADigestErrorOfAWriteAndOfARead) {
  for (const double read_share : {0.0, 1.0}) {
    RdmaWorld world(2);
    scenario::Rdma settings = transfers({5000});
    settings.read_share = read_share;
    RdmaTraffic& traffic = world.add(settings, {0, 1});
    bool forged = false;
    world.tamper = [&](Bytes& bytes) {
      wire::RdmaFrame frame;
      ASSERT_EQ(wire::decode(bytes, wire::default_ethertype, frame), wire::RdmaError::none);
      if (frame.header.kind == wire::RdmaKind::wr && frame.header.pidx == 1 && !forged) {
        forged = true;
        const std::size_t at = static_cast<std::size_t>(frame.payload.data() - bytes.data());
        bytes[at + 100] ^= std::byte{4};
        wire::encode(frame.header, {}, std::span(bytes).subspan(at), bytes.data());
      }
    };
    ASSERT_TRUE(world.transfer(10));
    const measure::Tally tally = traffic.tally(world.now);
    EXPECT_EQ(tally.figure("digest_errors"), 1U);
    EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 1U);
    ASSERT_FALSE(tally.remarks.empty());
    EXPECT_THAT(tally.remarks.front(), HasSubstr("byte 1544 of 5000"));
    EXPECT_EQ(tally.figure("arrived_digest") == tally.figure("written_digest"), read_share == 1);
  }
}

TEST(RdmaTraffic, OfTwoGeneratorsAgreesByTheSeedAlone) {
  RdmaWorld world(2, {.lost = 0.01, .repeated = 0, .late = 0});
  scenario::Rdma serving = transfers({40'000});
  serving.serve = true;
  serving.clients = 3;
  scenario::Rdma beginning = transfers({40'000});
  beginning.to = 0x10001;
  beginning.clients = 3;
  RdmaTraffic& server = world.add_end(serving, 1);
  RdmaTraffic& client = world.add_end(beginning, 0);
  EXPECT_FALSE(server.sends());
  ASSERT_TRUE(world.transfer(50));
  const measure::Tally at_client = client.tally(world.now);
  const measure::Tally at_server = server.tally(world.now);
  EXPECT_EQ(at_client.figure("transfers"), 50U);
  EXPECT_EQ(at_server.figure("writes_arrived") + at_server.figure("reads_served"), 50U);
  EXPECT_EQ(at_server.figure("arrived_digest"), at_client.figure("written_digest"));
  EXPECT_EQ(at_server.sum(measure::Figure::Meaning::fault), 0U);
  EXPECT_TRUE(client.drained(world.now));
  EXPECT_FALSE(server.drained(world.now)) << "the last DONE may be lost";
  world.now = world.now + RdmaTraffic::quiet_ns;
  EXPECT_TRUE(server.drained(world.now));
}

TEST(RdmaTraffic, OfTwoGeneratorsWithDifferentSeedsIsRefusedAndSaysWhy) {
  RdmaWorld world(2);
  scenario::Rdma serving = transfers({1000});
  serving.serve = true;
  scenario::Rdma beginning = transfers({1000});
  beginning.to = 0x10001;
  world.add_end(serving, 1, 1);
  RdmaTraffic& client = world.add_end(beginning, 0, 2);
  world.transfer(4);
  const measure::Tally tally = client.tally(world.now);
  EXPECT_EQ(tally.figure("transfers"), 0U);
  EXPECT_EQ(tally.figure("transfers_failed"), 4U);
  EXPECT_GT(tally.sum(measure::Figure::Meaning::fault), 0U);
  ASSERT_FALSE(tally.remarks.empty());
  EXPECT_THAT(tally.remarks.front(), HasSubstr("the peer has refused it"));
}

TEST(RdmaTraffic, OfTwoWorkersIsOneTraffic) {
  RdmaWorld world(4);
  scenario::Rdma settings = transfers({10'000});
  world.add(settings, {0, 2});
  world.add(settings, {1, 3});
  ASSERT_TRUE(world.transfer(101));
  EXPECT_EQ(world.figure("transfers"), 101U);
  EXPECT_EQ(world.figure("writes_arrived"), world.figure("writes"));
  EXPECT_EQ(world.figure("arrived_digest"), world.figure("written_digest"));
  EXPECT_EQ(world.figure("digest_errors"), 0U);
}

TEST(RdmaTraffic, SaysWhenItHasSomethingToDo) {
  RdmaWorld world(2, {.lost = 0.02, .repeated = 0, .late = 0.02});
  world.only_when_due = true;
  RdmaTraffic& traffic = world.add(transfers(edges), {0, 1});
  EXPECT_EQ(traffic.next_due(), never) << "it has not started";
  world.start();
  EXPECT_LE(traffic.next_due(), world.now) << "there is something to begin";
  ASSERT_TRUE(world.transfer(120));
  EXPECT_EQ(world.figure("transfers"), 120U);
  EXPECT_EQ(world.figure("digest_errors"), 0U);
}

TEST(RdmaTraffic, WhatBeganInTheWarmUpIsNotCounted) {
  RdmaWorld world(2);
  RdmaTraffic& traffic = world.add(transfers({200'000}), {0, 1});
  world.start();
  for (int i = 0; i < 100; ++i) {
    world.round();
  }
  world.measure(10);
  ASSERT_TRUE(world.run_until([&] { return traffic.exhausted(); }));
  world.stop();
  EXPECT_EQ(world.figure("transfers"), 10U);
  EXPECT_EQ(world.figure("writes_arrived"), world.figure("writes"));
  EXPECT_EQ(world.figure("arrived_digest"), world.figure("written_digest"));
}

TEST(RdmaTraffic, JumboFramesAreAsLongAsTheMtu) {
  RdmaWorld world(2);
  scenario::Rdma settings = transfers({500'000});
  settings.mtu = 9000;
  world.add(settings, {0, 1});
  ASSERT_TRUE(world.transfer(8));
  EXPECT_EQ(world.longest_seen, 9014U);
  EXPECT_EQ(world.figure("data_frames"), 8 * 56U); // of 8,944 bytes
  EXPECT_EQ(world.figure("digest_errors"), 0U);
}

TEST(RdmaTraffic, APortThatTakesNoFrameOfTheMtuIsNamed) {
  RdmaWorld world(2, {}, 1514);
  scenario::Rdma settings = transfers({1});
  settings.mtu = 4000;
  world.add(settings, {0, 1});
  world.start();
  EXPECT_THAT([&] { world.round(); },
              ThrowsMessage<std::runtime_error>(
                  AllOf(HasSubstr("memory takes an MTU of up to 1500"), HasSubstr("--mtu 1500"))));
}

TEST(RdmaTraffic, APeerThatDoesNotAnswerIsWaitedForByName) {
  RdmaWorld world(2, {.lost = 1, .repeated = 0, .late = 0});
  RdmaTraffic& traffic = world.add(transfers({1000}, 1), {0, 1});
  world.start();
  world.measure(2);
  world.round();
  EXPECT_THAT(traffic.waiting_for(world.now), HasSubstr("2 transfers to end"));
  EXPECT_LT(traffic.next_due(), never);
  for (int i = 0; i < 1000; ++i) {
    world.now = std::max(world.now, traffic.next_due());
    world.round();
  }
  EXPECT_GT(world.now.value, ns_per_second);
  EXPECT_THAT(traffic.waiting_for(world.now), HasSubstr("begun "));
  EXPECT_FALSE(traffic.exhausted());
  EXPECT_EQ(traffic.tally(world.now).figure("transfers_unfinished"), 0U);
  world.stop();
  const measure::Tally tally = traffic.tally(world.now);
  EXPECT_FALSE(traffic.drained(world.now));
  EXPECT_EQ(tally.figure("transfers_unfinished"), 2U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 2U);
}

TEST(RdmaTraffic, AFullPortIsNotAskedAgainAtOnce) {
  RdmaWorld world(2);
  RdmaTraffic& traffic = world.add(transfers({1'000'000}), {0, 1});
  world.start();
  world.round();
  world.ports[0]->takes = world.ports[1]->takes = 0;
  for (int i = 0; i < 4; ++i) {
    world.round();
  }
  const TimeNs last = world.now;
  EXPECT_GT(traffic.next_due(), TimeNs{last.value - RdmaWorld::round_ns});
  world.ports[0]->takes = world.ports[1]->takes = ~std::size_t{0};
  world.measure(4);
  EXPECT_TRUE(world.run_until([&] { return traffic.exhausted(); }));
}

TEST(RdmaTraffic, AllocatesNothingOnTheWay) {
  RdmaWorld world(2);
  for (auto& port : world.ports) {
    port->keeps = false; // the test's own storage allocates
  }
  RdmaTraffic& traffic = world.add(transfers({100'000}), {0, 1});
  world.start();
  std::vector<link::Port*> given = {world.ports[0].get(), world.ports[1].get()};
  const std::size_t before = tributary::test::allocations();
  for (int i = 0; i < 200; ++i) {
    world.now = world.now + 10'000;
    traffic.generate(given, world.now);
  }
  EXPECT_EQ(tributary::test::allocations(), before);
}

TEST(RdmaTraffic, OtherFramesAreNotItsOwn) {
  RdmaWorld world(2);
  RdmaTraffic& traffic = world.add(transfers({1}), {0, 1});
  world.start();
  Bytes frame(wire::rdma_overhead_bytes);
  wire::RdmaHeader header;
  header.source = Nid{0x10000};
  header.destination = Nid{0x10001};
  const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
  wire::encode(header, {}, {}, frame.data());
  EXPECT_TRUE(traffic.receive(0, view, world.now));
  EXPECT_FALSE(traffic.receive(0, {frame.data(), 60}, world.now)) << "too short";
  header.destination = Nid{0x10002};
  wire::encode(header, {}, {}, frame.data());
  EXPECT_FALSE(traffic.receive(0, view, world.now)) << "nobody's";
  header.destination = Nid{0x10001};
  wire::encode(header, {}, {}, frame.data());
  frame[wire::ethernet_header_bytes + wire::portals_offset::command] = std::byte{0xC1};
  EXPECT_FALSE(traffic.receive(0, view, world.now)) << "no RDMA frame";
}

TEST(RdmaTraffic, SettingsThatCannotBeAreRefusedWithTheReason) {
  const auto refusal = [](const scenario::Rdma& settings, const Placement& placement) {
    try {
      RdmaTraffic traffic(settings, placement, 1, 1);
    } catch (const std::invalid_argument& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  const Placement two = placement_of(2);
  scenario::Rdma settings = transfers({1});
  EXPECT_EQ(refusal(settings, two), "");
  settings.to = two.first_nid + 1;
  EXPECT_THAT(refusal(settings, two), HasSubstr("is a host of this generator"));
  settings = transfers({1}, 10'000);
  settings.nodes = 100;
  EXPECT_THAT(refusal(settings, two), HasSubstr("fewer nodes or transfers in flight"));
  EXPECT_THAT(refusal(transfers({}), two), HasSubstr("need a size"));
  EXPECT_NE(refusal(transfers({1}), placement_of(1)), "") << "no host to do transfers with";
  Placement queues = two;
  queues.queue_pairs = {0, 0, 1};
  EXPECT_THAT(refusal(transfers({1}), queues), HasSubstr("one queue"));
  Placement high = two;
  high.first_nid = max_nid;
  EXPECT_THAT(refusal(transfers({1}), high), HasSubstr("first_nid"));
}

TEST(RdmaTraffic, MemoryIsThatOfSlotsAndContexts) {
  scenario::Rdma settings = transfers({1 << 20, 10}, 8);
  const std::uint64_t mebibyte = 1 << 20;
  EXPECT_GE(memory_of_rdma(settings, 2), (1 + 2 * 8 * (1 + 2)) * mebibyte);
  settings.pattern = scenario::Pattern::permutation;
  EXPECT_LT(memory_of_rdma(settings, 2), (1 + 2 * 8 * 2 + 1) * mebibyte);
  settings.to = 7;
  EXPECT_LT(memory_of_rdma(settings, 1), (1 + 8 + 1) * mebibyte);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
