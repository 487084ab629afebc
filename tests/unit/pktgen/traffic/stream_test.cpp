// A stream through a real switch core and back. Every figure is compared with an exactly known
// value.

#include "tests/support/allocations.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tests/unit/pktgen/traffic/stream_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

using link::Port;
using measure::Tally;
using scenario::Kind;
using scenario::Pattern;
using scenario::Stream;

namespace {

using tributary::test::seed;

/// Warms up, measures and ends.
void measure(StreamWorld& world, std::size_t rounds = 40, std::uint64_t step = 1'000) {
  world.traffic.start(world.now);
  world.run(rounds / 4, step);
  world.traffic.begin_measuring(world.now);
  world.run(rounds, step);
  world.finish();
}
void expect_no_faults(const StreamWorld& world) {
  const Tally tally = world.traffic.tally(world.now);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 0U);
  for (const std::string& remark : tally.remarks) {
    ADD_FAILURE() << remark;
  }
}

class EveryPattern : public testing::TestWithParam<std::tuple<Pattern, std::uint32_t>> {};

TEST_P(EveryPattern, passes_a_switch_without_one_refusal_and_comes_back_whole) {
  const auto [pattern, nodes] = GetParam();
  StreamWorld world(Kind::unicast, unicast(pattern, nodes), 4, seed());
  measure(world);
  const Tally tally = world.traffic.tally(world.now);
  expect_no_faults(world);
  EXPECT_GT(tally.sent.frames, 1'000U);
  EXPECT_EQ(tally.received.frames, tally.sent.frames);
  EXPECT_EQ(tally.received.bytes, tally.sent.bytes);
  EXPECT_EQ(tally.figure("expected"), tally.sent.frames);
  EXPECT_EQ(tally.figure("lost"), 0U);
  EXPECT_EQ(tally.figure("reordered"), 0U);
  EXPECT_EQ(tally.figure("duplicated"), 0U);
  EXPECT_EQ(world.recognised, world.sent);
  EXPECT_TRUE(world.traffic.drained(world.now));
  EXPECT_EQ(world.traffic.waiting_for(world.now), "");
}

TEST_P(EveryPattern, sends_exactly_as_many_frames_as_it_is_allowed) {
  const auto [pattern, nodes] = GetParam();
  for (const double rate : {0.0, 5e8}) {
    Stream stream = unicast(pattern, nodes);
    stream.packets_per_second = rate;
    StreamWorld world(Kind::unicast, stream, 4, seed());
    world.traffic.start(world.now);
    world.run(10, 1'000);
    world.traffic.limit(1'001);
    world.traffic.begin_measuring(world.now);
    world.run(100, 1'000);
    world.finish();
    const Tally tally = world.traffic.tally(world.now);
    expect_no_faults(world);
    EXPECT_EQ(tally.sent.frames, 1'001U) << "rate " << rate;
    EXPECT_EQ(tally.received.frames, 1'001U);
    EXPECT_EQ(tally.figure("behind"), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Stream, EveryPattern,
                         testing::Combine(testing::Values(Pattern::fixed, Pattern::random,
                                                          Pattern::hotspot, Pattern::permutation,
                                                          Pattern::bit_complement,
                                                          Pattern::transpose, Pattern::all_to_all),
                                          testing::Values(0U, 9U, 64U, 5'000U)));

void expect_one_copy_for_every_other_port(const Stream& stream) {
  StreamWorld world(Kind::multicast, stream, 5, seed());
  measure(world);
  const Tally tally = world.traffic.tally(world.now);
  expect_no_faults(world);
  EXPECT_GT(tally.sent.frames, 1'000U);
  EXPECT_EQ(tally.figure("expected"), 4 * tally.sent.frames);
  EXPECT_EQ(tally.received.frames, 4 * tally.sent.frames);
  EXPECT_EQ(tally.figure("lost"), 0U);
  EXPECT_EQ(world.arrived, 4 * world.sent);
  EXPECT_TRUE(world.traffic.drained(world.now));
}

TEST(Stream, of_a_multicast_comes_once_to_every_port_but_its_senders) {
  expect_one_copy_for_every_other_port(multicast(7));
}

TEST(Stream, of_shared_frames_comes_once_to_every_port_but_its_senders) {
  Stream stream = multicast(7);
  stream.shared = true;
  expect_one_copy_for_every_other_port(stream);
}

struct Imperfect {
  const char* name;
  Kind kind;
  Imperfections shares;
};
class AnImperfectChannel : public testing::TestWithParam<Imperfect> {};

TEST_P(AnImperfectChannel, is_accounted_to_the_frame) {
  const Imperfect& p = GetParam();
  const Stream stream = p.kind == Kind::multicast ? multicast(6) : unicast(Pattern::random, 20);
  StreamWorld world(p.kind, stream, 4, seed(), p.shares);
  world.traffic.start(world.now);
  world.traffic.begin_measuring(world.now);
  world.run(60, 1'000);
  world.finish();

  const ImperfectChannel::Account& account = world.channel.account;
  const Tally tally = world.traffic.tally(world.now);
  EXPECT_GT(account.lost + account.duplicated + account.reordered + account.damaged, 20U)
      << "nothing befell the frames: the test would show nothing";
  EXPECT_EQ(tally.figure("lost"), account.lost);
  EXPECT_EQ(tally.figure("duplicated"), account.duplicated);
  EXPECT_EQ(tally.figure("reordered"), account.reordered);
  EXPECT_EQ(tally.figure("damaged"), account.damaged);
  EXPECT_EQ(tally.figure("misdelivered"), account.misdelivered);
  EXPECT_EQ(tally.figure("too_old"), 0U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::loss), account.lost);
  EXPECT_EQ(tally.figure("expected"),
            tally.sent.frames * (p.kind == Kind::multicast ? world.ports.size() - 1 : 1));
  EXPECT_EQ(tally.received.frames, tally.figure("expected") - account.lost + account.duplicated);
  EXPECT_EQ(world.recognised, world.arrived) << "damaged or not, they are this stream's";
  EXPECT_EQ(world.traffic.drained(world.now), account.lost == 0);
  EXPECT_EQ(tally.remarks.empty(), account.damaged + account.misdelivered == 0);
}

INSTANTIATE_TEST_SUITE_P(
    Stream, AnImperfectChannel,
    testing::Values(Imperfect{"loses", Kind::unicast, {.lost = 0.02}},
                    Imperfect{"duplicates", Kind::unicast, {.duplicated = 0.02}},
                    Imperfect{"reorders", Kind::unicast, {.reordered = 0.02}},
                    Imperfect{"damages_stamps", Kind::unicast, {.bad_stamp = 0.02}},
                    Imperfect{"damages_payloads", Kind::unicast, {.bad_payload = 0.05}},
                    Imperfect{"misdelivers", Kind::unicast, {.misdelivered = 0.02}},
                    Imperfect{"does_it_all", Kind::unicast, {0.05, 0.05, 0.05, 0.01, 0.02, 0.01}},
                    Imperfect{"loses_copies", Kind::multicast, {.lost = 0.02}},
                    Imperfect{
                        "does_all_to_copies", Kind::multicast, {0.05, 0.05, 0.05, 0.01, 0.02, 0}}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Stream, counts_only_what_was_intended_since_the_measurement_began) {
  StreamWorld world(Kind::unicast, unicast(), 3, seed(), {.lost = 0.1});
  world.delay = 20'000;
  world.traffic.start(world.now);
  world.run(30, 1'000); // 20 rounds are still in flight
  const std::uint64_t lost_before = world.channel.account.lost;
  const std::uint64_t sent_before = world.sent;
  EXPECT_GT(lost_before, 0U);
  world.traffic.begin_measuring(world.now);
  world.run(30, 1'000);
  world.finish();
  const Tally tally = world.traffic.tally(world.now);
  EXPECT_EQ(tally.sent.frames, world.sent - sent_before);
  EXPECT_EQ(tally.figure("lost"), world.channel.account.lost - lost_before);
  EXPECT_EQ(tally.received.frames, tally.sent.frames - tally.figure("lost"));
  EXPECT_EQ(world.recognised, world.arrived) << "stragglers are no strangers";
}

TEST(Stream, composed_in_the_nanosecond_in_which_the_measurement_begins_counts_nowhere) {
  StreamWorld world(Kind::unicast, unicast(), 2);
  world.delay = 500;
  world.traffic.start(world.now);
  world.generate();
  world.traffic.begin_measuring(world.now);
  world.run(1, 0);
  world.finish();
  const Tally tally = world.traffic.tally(world.now);
  EXPECT_EQ(tally.sent.frames, 0U);
  EXPECT_EQ(tally.received.frames, 0U);
  EXPECT_EQ(tally.figure("lost"), 0U);
}

TEST(Stream, in_an_open_loop_is_sent_at_the_intended_times_and_shows_the_delay_as_it_is) {
  Stream stream = unicast(Pattern::permutation);
  stream.packets_per_second = 1e6;
  StreamWorld world(Kind::unicast, stream, 4);
  world.delay = 12'345;
  world.traffic.start(world.now);
  world.traffic.begin_measuring(world.now);
  const TimeNs end = world.now + 2'000'000;
  while (world.now < end) {
    world.now = std::max(world.now, world.traffic.next_due());
    world.generate();
    const TimeNs generated = world.now;
    // Frames that arrive before the next is due have their own arrival time.
    world.now = generated + 12'345;
    world.deliver();
    world.now = generated;
  }
  world.finish();
  const Tally tally = world.traffic.tally(world.now);
  EXPECT_EQ(tally.sent.frames, 2'001U) << "one at either end";
  const statistics::Histogram* latency = tally.latency("frame_from_intended");
  ASSERT_NE(latency, nullptr);
  EXPECT_EQ(latency->count(), 2'001U);
  EXPECT_EQ(latency->min(), 12'345U);
  EXPECT_EQ(latency->max(), 12'345U);
  EXPECT_EQ(tally.figure("behind"), 0U);
}

TEST(Stream, of_a_generator_that_stood_still_shows_that_in_the_latency) {
  Stream stream = unicast(Pattern::fixed);
  stream.packets_per_second = 1e6;
  StreamWorld world(Kind::unicast, stream, 2);
  world.traffic.start(world.now);
  world.traffic.begin_measuring(world.now);
  world.now = world.now + 10'000;
  world.run(1, 0);
  const Tally tally = world.traffic.tally(world.now);
  EXPECT_EQ(tally.sent.frames, 11U);
  EXPECT_EQ(tally.latency("frame_from_intended")->max(), 10'000U);
  EXPECT_EQ(tally.latency("frame_from_intended")->min(), 0U);
}

TEST(Stream, keeps_its_rate_in_bits_on_the_wire_whatever_the_sizes) {
  Stream stream = unicast(Pattern::all_to_all, 12);
  stream.bits_per_second = 10e9;
  StreamWorld world(Kind::unicast, stream, 4);
  world.traffic.start(world.now);
  world.traffic.begin_measuring(world.now);
  world.run(1'000, 1'000); // a millisecond: ten million bits
  world.finish();
  const measure::Volume sent = world.traffic.tally(world.now).sent;
  const auto bits = static_cast<double>((sent.bytes + 24 * sent.frames) * 8);
  EXPECT_NEAR(bits, 10e6, 4 * 9'020 * 8) << "but for one frame a port";
}

TEST(Stream, deals_its_rate_to_ports_by_their_senders_and_sizes_to_all_senders_alike) {
  Stream stream;
  stream.pattern = Pattern::all_to_all;
  stream.nodes = 6;
  stream.sizes = {64, 128};
  stream.packets_per_second = 6e6;
  StreamWorld world(Kind::unicast, stream, 4); // two nodes on ports 0 and 1, one on 2 and 3
  world.traffic.start(world.now);
  std::map<std::pair<std::uint32_t, std::size_t>, int> seen; // by source and size
  for (int i = 0; i < 2'000; ++i) {
    world.traffic.generate(world.given, world.now);
    for (const auto& port : world.ports) {
      for (const Bytes& frame : port->take_sent()) {
        const Nid source = wire::sfa_of(frame.data() + wire::ethernet_header_bytes).nid();
        ++seen[{source.value - 0x10000, frame.size()}];
      }
    }
    world.now = world.now + 1'000;
  }
  EXPECT_EQ(seen.size(), 12U);
  for (const auto& [which, count] : seen) {
    EXPECT_NEAR(count, 1'000, 2) << "node " << which.first << ", " << which.second << " bytes";
  }
}

TEST(Stream, is_not_held_up_on_all_ports_by_one_that_is_full) {
  Stream stream = unicast(Pattern::permutation);
  stream.packets_per_second = 4e6;
  StreamWorld world(Kind::unicast, stream, 4);
  world.ports[1]->takes = 0;
  world.traffic.start(world.now);
  world.traffic.begin_measuring(world.now);
  world.run(1'000, 1'000);
  world.generate();
  world.traffic.stop(world.now);
  EXPECT_EQ(world.ports[0]->sent_frames(), 1'001U) << "one at either end";
  EXPECT_EQ(world.ports[2]->sent_frames(), 1'000U);
  EXPECT_EQ(world.ports[1]->sent_frames(), 0U);
  EXPECT_EQ(world.figure("behind"), 1'000U - Port::burst);
  EXPECT_FALSE(world.traffic.drained(world.now));
  EXPECT_EQ(world.traffic.waiting_for(world.now), "the ports to take 32 more frames");
  EXPECT_EQ(world.traffic.next_due(), TimeNs{0}) << "a full port is to be tried again";

  world.ports[1]->takes = 100;
  world.generate();
  world.deliver();
  EXPECT_EQ(world.figure("lost"), 0U);
  EXPECT_TRUE(world.traffic.drained(world.now));
  EXPECT_EQ(world.traffic.next_due(), never);
}

TEST(Stream, says_what_it_waits_for_while_it_runs_too) {
  StreamWorld world(Kind::unicast, unicast(Pattern::permutation), 2);
  world.traffic.start(world.now);
  EXPECT_EQ(world.traffic.waiting_for(world.now), "");
  world.generate();
  EXPECT_EQ(world.traffic.waiting_for(world.now), "64 of 64 frames to come back");
  world.deliver();
  EXPECT_EQ(world.traffic.waiting_for(world.now), "");

  Stream elsewhere = unicast();
  elsewhere.role = scenario::Role::leaves;
  const StreamTraffic receiver(Kind::unicast, elsewhere, placement_of(2), 1);
  EXPECT_EQ(receiver.waiting_for(world.now), "the first frame to come in");
}

TEST(Stream, as_fast_as_possible_gives_others_a_turn_after_a_burst_a_port) {
  StreamWorld world(Kind::unicast, unicast(Pattern::random, 50), 4);
  world.traffic.start(world.now);
  world.generate();
  EXPECT_EQ(world.sent, 4 * Port::burst);
  EXPECT_EQ(world.traffic.next_due(), TimeNs{0});
  EXPECT_NE(world.traffic.tally(world.now).latency("frame_from_composing"), nullptr);
}

TEST(Stream, leaves_out_what_a_port_cannot_take_and_calls_it_a_fault) {
  Stream stream = unicast(Pattern::permutation);
  stream.sizes = {64, 2000};
  StreamTraffic traffic(Kind::unicast, stream, placement_of(2), 1);
  MemoryPort a(0, 1514);
  MemoryPort b(1, 9000);
  const std::vector<Port*> ports{&a, &b};
  traffic.start(TimeNs{1});
  traffic.begin_measuring(TimeNs{1});
  traffic.generate(ports, TimeNs{2});
  const Tally tally = traffic.tally(TimeNs{2});
  EXPECT_EQ(tally.figure("too_long"), 16U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 16U);
  EXPECT_EQ(tally.sent.frames, 48U);
  ASSERT_EQ(tally.remarks.size(), 1U);
  EXPECT_NE(tally.remarks[0].find("MTU"), std::string::npos);
}

TEST(Stream, takes_only_frames_of_its_own_run_and_kind) {
  StreamWorld mine(Kind::unicast, unicast(), 2, 5);
  StreamWorld other_seed(Kind::unicast, unicast(), 2, 6);
  StreamWorld other_kind(Kind::multicast, multicast(2), 2, 5);
  for (StreamWorld* other : {&other_seed, &other_kind}) {
    other->traffic.start(other->now);
    other->traffic.generate(other->given, other->now);
    for (Bytes& frame : other->ports[0]->take_sent()) {
      const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
      EXPECT_FALSE(mine.traffic.receive(1, view, mine.now));
    }
  }
  Bytes noise(60, std::byte{0x45});
  EXPECT_FALSE(mine.traffic.receive(0, {noise.data(), 60}, mine.now));
  EXPECT_EQ(mine.figure("damaged"), 0U);
}

TEST(Stream, allocates_nothing_between_start_and_stop) {
  StreamTraffic traffic(Kind::unicast, unicast(Pattern::random, 300), placement_of(2), 1);
  MemoryPort a(0);
  MemoryPort b(1);
  a.keeps = b.keeps = false;
  const std::vector<Port*> ports{&a, &b};
  // Frames to receive, damaged and misdelivered ones among them.
  StreamTraffic twin(Kind::unicast, unicast(Pattern::random, 300), placement_of(2), 1);
  MemoryPort c(0);
  MemoryPort d(1);
  const std::vector<Port*> twins_ports{&c, &d};
  twin.start(TimeNs{1});
  twin.generate(twins_ports, TimeNs{2});
  c.sent[0][45] ^= std::byte{1};

  const std::size_t before = tributary::test::allocations();
  traffic.start(TimeNs{1});
  for (std::uint64_t now = 2; now < 100; ++now) {
    traffic.generate(ports, TimeNs{now});
    for (Bytes& frame : c.sent) {
      (void)traffic.receive(now % 2, {frame.data(), static_cast<std::uint32_t>(frame.size())},
                            TimeNs{now});
    }
    if (now == 50) {
      traffic.begin_measuring(TimeNs{now});
    }
  }
  traffic.stop(TimeNs{100});
  EXPECT_EQ(tributary::test::allocations(), before);
  EXPECT_GT(traffic.tally(TimeNs{100}).figure("misdelivered"), 0U);
}

TEST(Stream, that_cannot_be_is_refused_with_what_to_do) {
  const auto problem = [](Kind kind, const Stream& stream, std::size_t ports,
                          std::uint32_t first_nid = 0x10000) -> std::string {
    Placement placement = placement_of(ports);
    placement.first_nid = first_nid;
    try {
      const StreamTraffic traffic(kind, stream, placement, 1);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_EQ(problem(Kind::unicast, unicast(), 2), "");
  EXPECT_NE(problem(Kind::unicast, unicast(), 1).find("two nodes on two ports"), std::string::npos);
  EXPECT_NE(problem(Kind::multicast, multicast(1), 1).find("two ports"), std::string::npos);
  EXPECT_NE(problem(Kind::unicast, unicast(Pattern::random, 4'000), 2, 0xFF000).find("first_nid"),
            std::string::npos);
  EXPECT_NE(
      problem(Kind::unicast, unicast(Pattern::transpose, 3), 3).find("no node has a destination"),
      std::string::npos);
  Stream trees = multicast(10);
  trees.first_tree = 8'190;
  EXPECT_EQ(problem(Kind::multicast, trees, 2), "trees 8190 to 8199; there are 0 to 8191");
  Stream rates = unicast();
  rates.packets_per_second = rates.bits_per_second = 1;
  EXPECT_NE(problem(Kind::unicast, rates, 2).find("give one of them"), std::string::npos);
  Stream negative = unicast();
  negative.packets_per_second = -1;
  EXPECT_NE(problem(Kind::unicast, negative, 2).find("negative"), std::string::npos);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
