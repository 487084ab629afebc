// Streams of which one generator, or one worker of it, has but a part.

#include "tests/unit/include/wire/seed.hpp"
#include "tests/unit/pktgen/traffic/stream_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic::test {

using link::Port;
using measure::Tally;
using scenario::Kind;
using scenario::Pattern;
using scenario::PortIndex;
using scenario::Stream;

namespace {

using tributary::test::seed;

/// The received sequences of each flow, a set for each phase of a test.
using Came = std::map<std::uint32_t, std::set<std::uint64_t>>;

/// The two sides of a stream in two generators, with a channel between them.
class TwoSides {
public:
  TwoSides(const Stream& stream, std::size_t port_count, const Imperfections& shares)
      : sender(Kind::unicast, as(stream, scenario::Role::root), placement_of(port_count), 11),
        receiver(Kind::unicast, as(stream, scenario::Role::leaves), placement_of(port_count), 12),
        channel_(shares, port_count, seed()) {
    for (std::size_t i = 0; i < port_count; ++i) {
      ports_.push_back(std::make_unique<MemoryPort>(static_cast<std::uint8_t>(i)));
      given_.push_back(ports_.back().get());
    }
  }

  void run(std::size_t rounds, Came& came) {
    for (std::size_t i = 0; i < rounds; ++i) {
      now = now + 1'000;
      sender.generate(given_, now);
      receiver.generate(given_, now);
      for (const auto& port : ports_) {
        for (Bytes& frame : port->take_sent()) {
          const Nid to = wire::dfa_of(frame.data() + wire::ethernet_header_bytes).nid();
          const PortIndex at = (to.value - Placement{}.first_nid) % ports_.size();
          for (Arriving& arriving : channel_.pass({at, std::move(frame)})) {
            give(arriving, came);
          }
        }
      }
    }
  }

  TimeNs now{5'000};
  StreamTraffic sender;
  StreamTraffic receiver;
  std::uint64_t copies = 0; ///< that arrived

private:
  static Stream as(Stream stream, scenario::Role role) {
    stream.role = role;
    return stream;
  }
  void give(Arriving& arriving, Came& came) {
    const auto length = static_cast<std::uint32_t>(arriving.bytes.size());
    Stamp stamp;
    ASSERT_EQ(read_stamp(arriving.bytes.data(), length, stamp), Stamped::good);
    came[stamp.flow].insert(stamp.sequence);
    ++copies;
    EXPECT_TRUE(receiver.receive(arriving.port, {arriving.bytes.data(), length}, now));
  }

  ImperfectChannel channel_;
  std::vector<std::unique_ptr<MemoryPort>> ports_;
  std::vector<Port*> given_;
};

TEST(StreamSides, with_its_receivers_alone_knows_losses_by_the_gaps_of_its_time) {
  TwoSides sides(unicast(Pattern::permutation, 8), 4,
                 {.lost = 0.03, .duplicated = 0.02, .reordered = 0.02});
  Came before;
  Came during;
  Came after;
  sides.sender.start(sides.now);
  sides.receiver.start(sides.now);
  sides.run(20, before);
  sides.receiver.begin_measuring(sides.now);
  sides.run(50, during);
  const std::uint64_t copies = sides.copies;
  sides.receiver.stop(sides.now);
  sides.run(5, after); // the other side continues, which does not count
  EXPECT_GT(sides.copies, copies);

  std::uint64_t expected = 0;
  std::uint64_t distinct = 0;
  for (const auto& [flow, sequences] : during) {
    const std::uint64_t first = *before[flow].rbegin() + 1;
    const std::uint64_t last = *sequences.rbegin();
    std::set<std::uint64_t> came = sequences;
    came.insert(after[flow].begin(), after[flow].end());
    expected += last + 1 - first;
    distinct +=
        static_cast<std::uint64_t>(std::distance(came.lower_bound(first), came.upper_bound(last)));
  }
  const Tally tally = sides.receiver.tally(sides.now);
  EXPECT_GT(expected - distinct, 20U);
  EXPECT_EQ(tally.figure("expected"), expected);
  EXPECT_EQ(tally.figure("lost"), expected - distinct);
  EXPECT_GT(tally.figure("duplicated"), 0U);
  EXPECT_GT(tally.figure("reordered"), 0U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 0U);
  EXPECT_TRUE(tally.latencies.empty()) << "of another clock";
  EXPECT_EQ(tally.sent.frames, 0U);

  EXPECT_FALSE(sides.receiver.drained(sides.now));
  EXPECT_TRUE(sides.receiver.drained(sides.now + StreamTraffic::quiet_ns));
}

TEST(StreamSides, with_its_senders_alone_claims_nothing_about_losses) {
  Came none;
  TwoSides sides(unicast(Pattern::random, 8), 4, {});
  sides.sender.start(sides.now);
  sides.sender.begin_measuring(sides.now);
  sides.run(3, none);
  sides.sender.stop(sides.now);
  const Tally tally = sides.sender.tally(sides.now);
  EXPECT_EQ(tally.sent.frames, 3 * 4 * Port::burst);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::loss), 0U);
  EXPECT_TRUE(std::ranges::none_of(tally.figures,
                                   [](const measure::Figure& f) { return f.name == "lost"; }));
  EXPECT_TRUE(sides.sender.drained(sides.now));
}

/// One of two workers, with port `port` of two.
struct Worker {
  Worker(const Stream& stream, PortIndex which)
      : port(static_cast<std::uint8_t>(which)), here(which),
        traffic(Kind::unicast, stream, placement(which), 3) {
    ports[which] = &port;
  }
  static Placement placement(PortIndex which) {
    Placement made = placement_of(2);
    made.elsewhere = {which != 0, which != 1};
    return made;
  }
  /// Passes this one's frames to the other, except each tenth if losses are wanted.
  void send_to(Worker& other, TimeNs now, bool with_losses) {
    std::size_t count = 0;
    for (Bytes& frame : port.take_sent()) {
      if (!with_losses || ++count % 10 != 0) {
        EXPECT_TRUE(other.traffic.receive(
            other.here, {frame.data(), static_cast<std::uint32_t>(frame.size())}, now));
      }
    }
  }
  MemoryPort port;
  PortIndex here;
  StreamTraffic traffic;
  std::vector<Port*> ports{nullptr, nullptr};
};

TEST(StreamSides, of_two_workers_wait_for_frames_as_long_as_they_send_some) {
  Worker a(unicast(Pattern::random, 10), 0);
  Worker b(unicast(Pattern::random, 10), 1);
  a.traffic.start(TimeNs{10});
  b.traffic.start(TimeNs{10});
  EXPECT_EQ(b.traffic.waiting_for(TimeNs{10}), "the first frame to come in");
  a.traffic.generate(a.ports, TimeNs{10});
  a.send_to(b, TimeNs{10}, false);
  EXPECT_EQ(b.traffic.waiting_for(TimeNs{10}), "frames that are still being sent");
  b.traffic.stop(TimeNs{20});
  EXPECT_EQ(b.traffic.waiting_for(TimeNs{20}), "late frames");
  EXPECT_EQ(b.traffic.waiting_for(TimeNs{10'000'000'000}), "");
}

TEST(StreamSides, of_two_workers_adds_up_although_each_receives_what_the_other_sent) {
  Worker a(unicast(Pattern::random, 10), 0);
  Worker b(unicast(Pattern::random, 10), 1);
  TimeNs now{10};
  a.traffic.start(now);
  b.traffic.start(now);
  const auto run = [&](int rounds, bool with_losses) {
    for (int i = 0; i < rounds; ++i) {
      now = now + 10;
      a.traffic.generate(a.ports, now);
      b.traffic.generate(b.ports, now + 3); // its clock was read a little later
      a.send_to(b, now, with_losses);
      b.send_to(a, now, false);
    }
  };
  run(5, true);
  // Frames composed now are still in flight when the measurement begins.
  now = now + 10;
  a.traffic.generate(a.ports, now);
  b.traffic.generate(b.ports, now + 3);
  for (Worker* each : {&a, &b}) {
    Progress farthest = a.traffic.progress();
    farthest[0] = std::max(farthest[0], b.traffic.progress()[0]);
    each->traffic.agree(farthest);
    each->traffic.begin_measuring(now);
  }
  a.send_to(b, now, false);
  b.send_to(a, now, false);
  run(50, true);
  a.traffic.stop(now);
  b.traffic.stop(now);
  Tally sum = a.traffic.tally(now);
  sum.merge(b.traffic.tally(now));
  EXPECT_EQ(sum.sent.frames, 2 * 50 * Port::burst);
  EXPECT_EQ(sum.figure("lost"), 50 * (Port::burst / 10));
  EXPECT_EQ(sum.figure("expected"), sum.sent.frames);
  EXPECT_EQ(sum.received.frames, sum.sent.frames - sum.figure("lost"));
  EXPECT_FALSE(a.traffic.drained(now));
  EXPECT_TRUE(a.traffic.drained(now + StreamTraffic::quiet_ns));
}

TEST(StreamSides, of_two_workers_keeps_the_rate_of_one) {
  Stream stream = unicast(Pattern::permutation);
  stream.packets_per_second = 1e6;
  Worker a(stream, 0);
  Worker b(stream, 1);
  for (Worker* each : {&a, &b}) {
    each->traffic.start(TimeNs{0});
    for (std::uint64_t now = 0; now < 1'000'000; now += 1'000) {
      each->traffic.generate(each->ports, TimeNs{now});
    }
    EXPECT_EQ(each->port.sent_frames(), 500U);
  }
}

/// Workers `which` of two, each with one of the two queue pairs of each of two ports.
Placement queue_pairs_of_worker(std::size_t which) {
  Placement placement = placement_of(2);
  placement.queue_pairs = {0, 0, 1, 1};
  placement.elsewhere = {which != 0, which != 1, which != 0, which != 1};
  return placement;
}

TEST(StreamSides, of_workers_that_share_each_port_adds_up_whichever_of_them_receives) {
  Random random(seed());
  const Stream stream = unicast(Pattern::random, 2'000); // flows by queue pair, not by node
  std::vector<std::unique_ptr<MemoryPort>> queue_pairs;
  std::vector<std::unique_ptr<StreamTraffic>> workers;
  for (std::size_t queue_pair = 0; queue_pair < 4; ++queue_pair) {
    queue_pairs.push_back(std::make_unique<MemoryPort>(static_cast<std::uint8_t>(queue_pair / 2)));
  }
  TimeNs now{10};
  for (std::size_t w = 0; w < 2; ++w) {
    workers.push_back(
        std::make_unique<StreamTraffic>(Kind::unicast, stream, queue_pairs_of_worker(w), 3));
    workers.back()->start(now);
  }
  const std::vector<Port*> ports[] = {
      {queue_pairs[0].get(), nullptr, queue_pairs[2].get(), nullptr},
      {nullptr, queue_pairs[1].get(), nullptr, queue_pairs[3].get()}};
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  for (int round = 0; round < 50; ++round) {
    now = now + 10;
    for (std::size_t w = 0; w < 2; ++w) {
      workers[w]->generate(ports[w], now);
    }
    for (std::size_t queue_pair = 0; queue_pair < 4; ++queue_pair) {
      for (Bytes& frame : queue_pairs[queue_pair]->take_sent()) {
        if (++sent % 10 == 0) {
          ++lost;
          continue;
        }
        // At the other port, on any of its queue pairs.
        const std::size_t at = (queue_pair < 2 ? 2 : 0) + random.below(2);
        EXPECT_TRUE(workers[at % 2]->receive(
            at, {frame.data(), static_cast<std::uint32_t>(frame.size())}, now));
      }
    }
  }
  for (auto& worker : workers) {
    worker->stop(now);
  }
  Tally sum = workers[0]->tally(now);
  sum.merge(workers[1]->tally(now));
  EXPECT_EQ(sum.sent.frames, sent);
  EXPECT_EQ(sent, 50 * 4 * Port::burst) << "all queue pairs send";
  EXPECT_EQ(sum.figure("lost"), lost);
  EXPECT_EQ(sum.figure("expected"), sent);
  EXPECT_EQ(sum.figure("duplicated"), 0U);
  EXPECT_EQ(sum.figure("misdelivered"), 0U);
}

TEST(StreamSides, whose_flows_would_be_counted_by_two_workers_is_refused) {
  const auto refusal = [](std::uint32_t nodes) -> std::string {
    try {
      const StreamTraffic traffic(Kind::unicast, unicast(Pattern::random, nodes),
                                  queue_pairs_of_worker(0), 3);
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(100'000), "");
  EXPECT_NE(refusal(600'000).find("take fewer nodes"), std::string::npos);
}

TEST(Stream, what_the_warm_up_did_not_manage_leaves_time_for_what_is_measured) {
  Stream stream;
  stream.packets_per_second = 1e9; // far more than a burst a port each microsecond
  StreamTraffic traffic(Kind::unicast, stream, placement_of(2), 1);
  MemoryPort a(0);
  MemoryPort b(1);
  const std::vector<Port*> ports{&a, &b};
  TimeNs now{1'000};
  traffic.start(now);
  const auto run = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      now = now + 1'000;
      traffic.generate(ports, now);
    }
  };
  run(1'000);
  traffic.begin_measuring(now);
  run(10);
  traffic.stop(now);
  const Tally tally = traffic.tally(now);
  EXPECT_GT(tally.sent.frames, 9 * Port::burst);
  EXPECT_NEAR(static_cast<double>(tally.figure("behind") + tally.sent.frames), 10'000, 100);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
