// The switch in the generator's own thread: every frame that enters leaves, or is accounted for.
#include "pktgen/transport/loop.hpp"

#include "frames.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"
#include "tests/unit/lib/link/private_network.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tributary::pktgen::transport::test {

using scenario::Kind;
using scenario::Scenario;

namespace {

using link::test::PrivateNetwork;
using port::test::shared_eal;

Scenario scenario_of(Kind kind, std::size_t ports) {
  Scenario scenario;
  scenario.name = "test";
  scenario.traffic.kind = kind;
  scenario.ports.resize(ports);
  return scenario;
}

std::uint64_t drops(const core::Counters& counters) {
  std::uint64_t sum = 0;
  for (const core::PortCounters& port : counters.ports) {
    for (const core::Counter& drop : port.drops) {
      sum += drop.read();
    }
  }
  return sum;
}

/// Turns the loop, and takes the frames of each port, until it stays quiet.
std::vector<Numbers> turn_until_quiet(LoopSwitch& loop) {
  const auto ports = loop.ports();
  std::vector<Numbers> received(ports.size());
  for (int quiet = 0; quiet < 20;) {
    loop.turn(TimeNs{1});
    ++quiet;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      ports[p]->flush();
      for (const FrameView& frame : ports[p]->receive()) {
        received[p].push_back(number_in(frame.data));
        quiet = 0;
      }
      quiet = ports[p]->pending() == 0 ? quiet : 0;
    }
  }
  return received;
}

/// Random frames between all nodes, as many as the ports take, with turns and takes in between:
/// each arrives once, at the right port, in the order of its flow.
void expect_all_unicast_frames_arrive(LoopSwitch& loop, const Scenario& scenario) {
  const std::uint64_t seed = 4711;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto ports = loop.ports();
  const std::size_t n = ports.size();
  std::vector<std::map<std::size_t, std::uint64_t>> sent(n); // [from][to]: frames
  std::vector<std::map<std::size_t, std::uint64_t>> got(n);  // [to][from]
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  const auto take = [&](std::size_t p) {
    for (const FrameView& frame : ports[p]->receive()) {
      const std::uint64_t number = number_in(frame.data);
      ASSERT_EQ(frame.length, number_frame_bytes);
      ASSERT_EQ(wire::ethertype_of(frame.data), scenario.ethertype);
      ASSERT_EQ(number & 0xFFFFFFFF, got[p][number >> 32]++) << "at port " << p;
      ++out;
    }
  };
  for (int step = 0; step < 3000; ++step) {
    const std::size_t from = random() % n;
    const std::size_t to = (from + 1 + random() % (n - 1)) % n;
    const auto address =
        wire::FabricAddress::unicast(Nid{scenario.first_nid + static_cast<std::uint32_t>(to)});
    // Mostly more than a burst, and now and then more than a link holds.
    for (std::uint64_t attempts = random() % (random() % 50 == 0 ? 2000 : 60); attempts > 0;
         --attempts) {
      if (!push_number(*ports[from], from << 32 | sent[from][to], address)) {
        break;
      }
      ++sent[from][to];
      ++in;
    }
    if (random() % 2 == 0) {
      loop.turn(TimeNs{1});
    }
    take(random() % n);
  }
  // The kernel may take a moment; the bound only ends a test that has failed.
  for (int turns = 0; turns < 200'000 && out != in; ++turns) {
    for (std::size_t p = 0; p < n; ++p) {
      ports[p]->flush();
      take(p);
    }
    loop.turn(TimeNs{1});
  }
  for (std::size_t p = 0; p < n; ++p) {
    take(p);
  }
  EXPECT_GT(in, 10'000U);
  EXPECT_EQ(out, in);
  EXPECT_EQ(drops(loop.counters()), 0U);
}

TEST(LoopSwitchTest, EveryUnicastFrameArrivesInOrderWhateverIsFull) {
  const Scenario scenario = scenario_of(Kind::unicast, 3);
  const auto loop = LoopSwitch::through_memory(scenario);
  ASSERT_EQ(loop->ports().size(), 3U);
  expect_all_unicast_frames_arrive(*loop, scenario);
}

TEST(LoopSwitchTest, RingsLoseNothingEither) {
  const Scenario scenario = scenario_of(Kind::unicast, 3);
  const std::uint32_t free = shared_eal().free_buffers();
  {
    const auto loop = LoopSwitch::through_rings(scenario, shared_eal());
    expect_all_unicast_frames_arrive(*loop, scenario);
  }
  EXPECT_EQ(shared_eal().free_buffers(), free);
}

TEST(LoopSwitchTest, SocketsOnTheLoopbackInterfaceKeepTheLinksApart) {
  if (!PrivateNetwork::skip_reason().empty()) {
    GTEST_SKIP() << PrivateNetwork::skip_reason();
  }
  PrivateNetwork::run("ip link set lo up");
  Scenario scenario = scenario_of(Kind::unicast, 3);
  const auto loop = LoopSwitch::through_sockets(scenario);
  EXPECT_EQ(loop->description(), "through raw sockets on lo");
  expect_all_unicast_frames_arrive(*loop, scenario);
  for (Port* port : loop->ports()) {
    EXPECT_EQ(port->counts().receive_drops, 0U);
  }
}

TEST(LoopSwitchTest, GeneratorsThatCalibrateAtOnceDoNotHearEachOther) {
  if (!PrivateNetwork::skip_reason().empty()) {
    GTEST_SKIP() << PrivateNetwork::skip_reason();
  }
  PrivateNetwork::run("ip link set lo up");
  const Scenario scenario = scenario_of(Kind::unicast, 2);
  const auto loop = LoopSwitch::through_sockets(scenario);
  const auto other = LoopSwitch::through_sockets(scenario);
  ASSERT_TRUE(send_numbers(*loop->ports()[0], 0, 10,
                           wire::FabricAddress::unicast(Nid{scenario.first_nid + 1})));
  EXPECT_EQ(turn_until_quiet(*loop)[1], numbers(0, 10));
  EXPECT_TRUE(turn_until_quiet(*other)[1].empty());
  std::vector<std::unique_ptr<LoopSwitch>> many;
  const auto one_too_many = [&] {
    for (int i = 0; i < 10; ++i) {
      many.push_back(LoopSwitch::through_sockets(scenario));
    }
  };
  EXPECT_THROW(one_too_many(), std::runtime_error);
  EXPECT_FALSE(many.empty());
}

TEST(LoopSwitchTest, MulticastComesOutOfAllOtherPorts) {
  const auto loop = LoopSwitch::through_memory(scenario_of(Kind::multicast, 8));
  constexpr std::uint64_t sent = 200;
  ASSERT_TRUE(send_numbers(*loop->ports()[0], 0, sent,
                           wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0})));
  const auto received = turn_until_quiet(*loop);
  EXPECT_TRUE(received[0].empty());
  for (std::size_t p = 1; p < 8; ++p) {
    EXPECT_EQ(received[p], numbers(0, sent)) << "port " << p;
  }
}

TEST(LoopSwitchTest, AMulticastWaitsForTheSlowestAndReachesAllOnce) {
  const auto loop = LoopSwitch::through_memory(scenario_of(Kind::multicast, 3));
  const auto ports = loop->ports();
  const auto tree = wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0});
  std::uint64_t sent = 0;
  std::uint64_t at_fast = 0;
  // Port 2 takes nothing until everything is stuck.
  for (int step = 0; step < 200; ++step) {
    while (sent < 5000 && push_number(*ports[0], sent, tree)) {
      ++sent;
    }
    loop->turn(TimeNs{1});
    for (const FrameView& frame : ports[1]->receive()) {
      EXPECT_EQ(number_in(frame.data), at_fast++);
    }
  }
  EXPECT_LT(at_fast, sent);
  EXPECT_LT(sent, 5000U) << "the sender was not held up";
  ports[0]->flush();
  const auto rest = turn_until_quiet(*loop);
  EXPECT_EQ(at_fast + rest[1].size(), sent);
  EXPECT_EQ(rest[2], numbers(0, sent));
}

TEST(LoopSwitchTest, ContributionsComeOutAsOneResult) {
  Scenario scenario = scenario_of(Kind::reduce, 4);
  scenario.traffic.reduce.leaves = 6;
  const auto loop = LoopSwitch::through_memory(scenario);
  const auto ports = loop->ports();
  ASSERT_TRUE(send_reduction(*ports[0], reduction(TreeNumber{0}, true)));
  loop->turn(TimeNs{1});
  for (std::size_t leaf_port = 1; leaf_port < 4; ++leaf_port) {
    EXPECT_EQ(ports[leaf_port]->receive().size(), 1U) << leaf_port;
  }
  for (std::uint64_t leaf = 1; leaf <= 6; ++leaf) {
    ASSERT_TRUE(send_reduction(*ports[1 + (leaf - 1) % 3], reduction(TreeNumber{0}, false, leaf)));
  }
  loop->turn(TimeNs{2});
  const auto results = ports[0]->receive();
  ASSERT_EQ(results.size(), 1U);
  wire::ReductionFrame result;
  ASSERT_EQ(wire::decode(std::span<const std::byte>(results[0].data, results[0].length),
                         wire::default_ethertype, result),
            wire::DecodeError::none);
  EXPECT_EQ(result.word.count, 6U);
  EXPECT_EQ(result.payload[0], 21U);
  EXPECT_EQ(result.payload[3], 84U);
}

TEST(LoopSwitchTest, WhatAnEngineHoldsComesOutWhenItsTimeIsOver) {
  Scenario scenario = scenario_of(Kind::reduce, 2);
  scenario.traffic.reduce.leaves = 3;
  const auto loop = LoopSwitch::through_memory(scenario);
  const auto ports = loop->ports();
  ASSERT_TRUE(send_reduction(*ports[0], reduction(TreeNumber{0}, true)));
  loop->turn(TimeNs{1});
  ASSERT_TRUE(send_reduction(*ports[1], reduction(TreeNumber{0}, false, 5)));
  loop->turn(TimeNs{2});
  EXPECT_TRUE(ports[0]->receive().empty());
  loop->turn(TimeNs{60'000'000'000}); // longer than any timer
  const auto results = ports[0]->receive();
  ASSERT_EQ(results.size(), 1U);
  wire::ReductionFrame result;
  ASSERT_EQ(wire::decode(std::span<const std::byte>(results[0].data, results[0].length),
                         wire::default_ethertype, result),
            wire::DecodeError::none);
  EXPECT_EQ(result.word.count, 1U);
  EXPECT_EQ(result.payload[0], 5U);
}

TEST(LoopSwitchTest, FramesForTheSideThatIsElsewhereAreCounted) {
  Scenario scenario = scenario_of(Kind::multicast, 2);
  scenario.traffic.stream.role = scenario::Role::root;
  const auto loop = LoopSwitch::through_memory(scenario);
  ASSERT_EQ(loop->ports().size(), 2U);
  ASSERT_TRUE(send_numbers(*loop->ports()[0], 0, 5,
                           wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{0})));
  loop->turn(TimeNs{1});
  EXPECT_EQ(loop->sent_far(), 5U);
}

} // namespace
} // namespace tributary::pktgen::transport::test
