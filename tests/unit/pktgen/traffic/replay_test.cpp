#include "pktgen/traffic/replay.hpp"

#include "tests/unit/pktgen/traffic/memory_port.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

using link::Port;
using measure::Tally;

namespace {

/// Frames of these lengths at these times; each byte of a frame is its number.
std::shared_ptr<const Capture>
capture_of(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& frames) {
  Capture capture;
  for (const auto& [at, length] : frames) {
    const auto number = static_cast<std::byte>(capture.frames.size());
    capture.frames.push_back({capture.bytes.size(), length, at});
    capture.bytes.insert(capture.bytes.end(), length, number);
  }
  return std::make_shared<const Capture>(std::move(capture));
}
/// Three frames in a microsecond; a round takes 1,500 ns.
std::shared_ptr<const Capture> three_frames() {
  return capture_of({{0, 60}, {300, 61}, {1'000, 62}});
}

/// `count` ports, of which this worker has all, or those in `here`.
Placement ports(std::size_t count, const std::vector<bool>& here = {}) {
  Placement placement;
  placement.ports.resize(count);
  for (const bool each : here) {
    placement.elsewhere.push_back(!each);
  }
  return placement;
}

/// A replay, its port, and the times at which frames left it.
struct Rig {
  Rig(std::shared_ptr<const Capture> capture, double speed, std::uint64_t loops)
      : traffic(std::move(capture), ports(1), speed, loops) {
    traffic.start(now);
    traffic.begin_measuring(now);
  }
  void generate() {
    const std::vector<Port*> all{&port};
    traffic.generate(all, now);
    for (const Bytes& frame : port.take_sent()) {
      sent.emplace_back(elapsed_ns(now, start), frame.size());
    }
  }
  /// As a driver without any delay would.
  void run_until(std::uint64_t end) {
    while (traffic.next_due() <= start + end) {
      now = std::max(now, traffic.next_due());
      generate();
    }
    now = start + end;
  }

  const TimeNs start{1'000'000};
  TimeNs now = start;
  MemoryPort port;
  ReplayTraffic traffic;
  std::vector<std::pair<std::uint64_t, std::size_t>> sent; ///< {after the start, length}
};
using Sent = decltype(Rig::sent);

TEST(Replay, sends_each_frame_at_its_own_time_and_then_is_over) {
  Rig rig(three_frames(), 1, 1);
  rig.run_until(10'000);
  EXPECT_EQ(rig.sent, (Sent{{0, 60}, {300, 61}, {1'000, 62}}));
  EXPECT_EQ(rig.traffic.next_due(), never);
  const Tally tally = rig.traffic.tally(rig.now);
  EXPECT_EQ(tally.sent.frames, 3U);
  EXPECT_EQ(tally.sent.bytes, 183U);
  EXPECT_EQ(tally.figure("rounds"), 1U);
  ASSERT_NE(tally.latency("lateness"), nullptr);
  EXPECT_EQ(tally.latency("lateness")->max(), 0U);
}

TEST(Replay, sends_the_bytes_that_were_captured) {
  Rig rig(three_frames(), 0, 1);
  rig.now = rig.now + 1;
  const std::vector<Port*> all{&rig.port};
  rig.traffic.generate(all, rig.now);
  ASSERT_EQ(rig.port.sent.size(), 3U);
  EXPECT_EQ(rig.port.sent[1], Bytes(61, std::byte{1}));
}

TEST(Replay, follows_one_round_by_the_next_after_the_mean_gap) {
  Rig rig(three_frames(), 1, 2);
  rig.run_until(10'000);
  EXPECT_EQ(rig.sent,
            (Sent{{0, 60}, {300, 61}, {1'000, 62}, {1'500, 60}, {1'800, 61}, {2'500, 62}}));
}

TEST(Replay, scales_all_times_by_its_speed) {
  Rig slower(three_frames(), 0.5, 2);
  slower.run_until(10'000);
  EXPECT_EQ(slower.sent,
            (Sent{{0, 60}, {600, 61}, {2'000, 62}, {3'000, 60}, {3'600, 61}, {5'000, 62}}));
  Rig faster(three_frames(), 10, 2);
  faster.run_until(10'000);
  EXPECT_EQ(faster.sent, (Sent{{0, 60}, {30, 61}, {100, 62}, {150, 60}, {180, 61}, {250, 62}}));
}

TEST(Replay, looped_without_end_keeps_its_pace_after_a_million_rounds) {
  Rig rig(three_frames(), 3, 0);
  const std::uint64_t rounds = 1'000'000 / TRIBUTARY_SEED_DIVISOR;
  rig.port.keeps = false;
  rig.run_until(rounds * 500 - 1);
  EXPECT_EQ(rig.port.sent_frames(), 3 * rounds);
  EXPECT_EQ(rig.traffic.next_due(), rig.start + rounds * 500);
}

TEST(Replay, as_fast_as_possible_sends_a_burst_at_a_time) {
  Rig rig(three_frames(), 0, 0);
  rig.generate();
  EXPECT_EQ(rig.sent.size(), Port::burst);
  EXPECT_EQ(rig.traffic.next_due(), TimeNs{0});
  EXPECT_EQ(rig.traffic.tally(rig.now).latency("lateness"), nullptr);
}

TEST(Replay, of_a_single_frame_has_no_speed) {
  Rig rig(capture_of({{0, 60}}), 1, 100);
  rig.generate();
  EXPECT_EQ(rig.sent.size(), Port::burst);
}

TEST(Replay, that_stood_still_shows_how_late_frames_were_and_what_was_still_due) {
  Rig rig(three_frames(), 1, 100);
  rig.now = rig.now + 700;
  rig.generate();
  const Tally tally = rig.traffic.tally(rig.now);
  EXPECT_EQ(tally.sent.frames, 2U);
  EXPECT_EQ(tally.latency("lateness")->max(), 700U);
  EXPECT_EQ(tally.latency("lateness")->min(), 400U);

  rig.now = rig.start + 3'300; // 62 | 60 61 62 | 60, and 61 at this moment
  rig.traffic.stop(rig.now);
  EXPECT_EQ(rig.traffic.tally(rig.now).figure("behind"), 5U);
  EXPECT_TRUE(rig.traffic.drained(rig.now));
}

TEST(Replay, is_behind_by_no_more_than_it_was_to_send) {
  Rig rig(three_frames(), 1, 2);
  rig.now = rig.now + 1'000'000;
  rig.traffic.stop(rig.now);
  EXPECT_EQ(rig.traffic.tally(rig.now).figure("behind"), 6U);
  Rig done(three_frames(), 1, 2);
  done.run_until(1'000'000);
  done.traffic.stop(done.now);
  EXPECT_EQ(done.traffic.tally(done.now).figure("behind"), 0U);
}

TEST(Replay, counts_what_was_intended_since_the_measurement_began) {
  Rig rig(three_frames(), 1, 0);
  rig.run_until(1'499);
  rig.traffic.begin_measuring(rig.now);
  rig.run_until(3'100);
  const Tally tally = rig.traffic.tally(rig.now);
  EXPECT_EQ(tally.sent.frames, 4U);
  EXPECT_EQ(tally.figure("rounds"), 1U);
}

TEST(Replay, measured_before_its_first_frame_begins_with_the_measurement) {
  Rig rig(three_frames(), 1, 1);
  rig.now = rig.now + 7'000;
  rig.traffic.begin_measuring(rig.now);
  rig.run_until(20'000);
  EXPECT_EQ(rig.sent, (Sent{{7'000, 60}, {7'300, 61}, {8'000, 62}}));
  EXPECT_EQ(rig.traffic.tally(rig.now).sent.frames, 3U);
}

TEST(Replay, leaves_out_and_counts_what_the_port_cannot_take) {
  const auto capture = capture_of({{0, 60}, {10, 2'000}, {20, 60}});
  ReplayTraffic traffic(capture, ports(1), 0, 4);
  MemoryPort port(0, 1'514);
  const std::vector<Port*> all{&port};
  traffic.start(TimeNs{1});
  traffic.begin_measuring(TimeNs{1});
  traffic.generate(all, TimeNs{1});
  const Tally tally = traffic.tally(TimeNs{1});
  EXPECT_EQ(tally.sent.frames, 8U);
  EXPECT_EQ(tally.figure("too_long"), 4U);
  ASSERT_EQ(tally.remarks.size(), 1U);
  EXPECT_NE(tally.remarks[0].find("MTU"), std::string::npos);
}

TEST(Replay, waits_for_a_full_port_and_goes_on_where_it_was) {
  Rig rig(three_frames(), 0, 20);
  rig.port.takes = 5;
  rig.generate();
  rig.generate();
  EXPECT_EQ(rig.port.sent_frames(), 5U);
  rig.traffic.stop(rig.now);
  EXPECT_FALSE(rig.traffic.drained(rig.now));
  EXPECT_EQ(rig.traffic.waiting_for(rig.now), "the ports to take 32 more frames");
  rig.port.takes = 100;
  rig.generate();
  EXPECT_TRUE(rig.traffic.drained(rig.now));
  for (std::size_t i = 0; i < rig.sent.size(); ++i) {
    EXPECT_EQ(rig.sent[i].second, 60 + i % 3) << i;
  }
}

/// Five frames in 800 ns, of three interfaces.
std::shared_ptr<const Capture> of_three_interfaces() {
  Capture capture = *capture_of({{0, 60}, {100, 61}, {300, 62}, {500, 63}, {800, 64}});
  const std::uint32_t interfaces[] = {0, 2, 1, 2, 0};
  for (std::size_t i = 0; i < capture.frames.size(); ++i) {
    capture.frames[i].interface = interfaces[i];
  }
  capture.interfaces = {"veth0", "", "veth2"};
  return std::make_shared<const Capture>(std::move(capture));
}

/// {after the start, port, length} of frames that leave the local ports, until a given time.
using Departures = std::vector<std::tuple<std::uint64_t, std::size_t, std::size_t>>;
Departures departures(ReplayTraffic& traffic, const std::vector<Port*>& all, TimeNs start,
                      std::uint64_t end) {
  Departures found;
  for (TimeNs now = start; (now = std::max(now, traffic.next_due())) <= start + end;) {
    traffic.generate(all, now);
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (all[p] != nullptr) {
        for (const Bytes& frame : static_cast<MemoryPort*>(all[p])->take_sent()) {
          found.emplace_back(elapsed_ns(now, start), p, frame.size());
        }
      }
    }
  }
  return found;
}

TEST(Replay, sends_what_each_interface_captured_by_the_port_of_its_number_and_keeps_the_times) {
  ReplayTraffic traffic(of_three_interfaces(), ports(3), 1, 2);
  MemoryPort a(0);
  MemoryPort b(1);
  MemoryPort c(2);
  traffic.start(TimeNs{1});
  traffic.begin_measuring(TimeNs{1});
  EXPECT_EQ(departures(traffic, {&a, &b, &c}, TimeNs{1}, 5'000), (Departures{{0, 0, 60},
                                                                             {100, 2, 61},
                                                                             {300, 1, 62},
                                                                             {500, 2, 63},
                                                                             {800, 0, 64},
                                                                             {1'000, 0, 60},
                                                                             {1'100, 2, 61},
                                                                             {1'300, 1, 62},
                                                                             {1'500, 2, 63},
                                                                             {1'800, 0, 64}}));
  EXPECT_EQ(traffic.tally(TimeNs{1}).figure("rounds"), 2U);
}

TEST(Replay, sends_everything_by_the_only_port) {
  ReplayTraffic traffic(of_three_interfaces(), ports(1), 1, 1);
  MemoryPort only;
  traffic.start(TimeNs{1});
  traffic.begin_measuring(TimeNs{1});
  EXPECT_EQ(departures(traffic, {&only}, TimeNs{1}, 5'000).size(), 5U);
}

TEST(Replay, of_several_workers_each_sends_by_its_own_ports_and_keeps_the_times_of_all) {
  const auto capture = of_three_interfaces();
  ReplayTraffic first(capture, ports(3, {true, false, true}), 1, 2);
  ReplayTraffic second(capture, ports(3, {false, true, false}), 1, 2);
  MemoryPort a(0);
  MemoryPort b(1);
  MemoryPort c(2);
  for (ReplayTraffic* traffic : {&first, &second}) {
    traffic->start(TimeNs{1});
    traffic->begin_measuring(TimeNs{1});
  }
  EXPECT_EQ(departures(first, {&a, nullptr, &c}, TimeNs{1}, 5'000), (Departures{{0, 0, 60},
                                                                                {100, 2, 61},
                                                                                {500, 2, 63},
                                                                                {800, 0, 64},
                                                                                {1'000, 0, 60},
                                                                                {1'100, 2, 61},
                                                                                {1'500, 2, 63},
                                                                                {1'800, 0, 64}}));
  EXPECT_EQ(departures(second, {nullptr, &b, nullptr}, TimeNs{1}, 5'000),
            (Departures{{300, 1, 62}, {1'300, 1, 62}}));
  EXPECT_TRUE(first.exhausted() && second.exhausted());
  Tally sum = first.tally(TimeNs{1});
  sum.merge(second.tally(TimeNs{1}));
  EXPECT_EQ(sum.figure("capture_frames"), 5U);
  EXPECT_EQ(sum.figure("rounds"), 2U);
  EXPECT_EQ(sum.sent.frames, 10U);
}

TEST(Replay, worker_without_frames_has_nothing_to_do) {
  ReplayTraffic traffic(three_frames(), ports(2, {false, true}), 1, 0);
  MemoryPort port(1);
  const std::vector<Port*> all{nullptr, &port};
  traffic.start(TimeNs{1});
  traffic.generate(all, TimeNs{1});
  EXPECT_EQ(traffic.next_due(), never);
  EXPECT_TRUE(traffic.exhausted());
  traffic.stop(TimeNs{10'000});
  EXPECT_TRUE(traffic.drained(TimeNs{10'000}));
  EXPECT_EQ(traffic.tally(TimeNs{10'000}).figure("capture_frames"), 0U);
}

TEST(Replay, refuses_a_capture_of_more_interfaces_than_ports_and_names_the_one_too_many) {
  try {
    ReplayTraffic(of_three_interfaces(), ports(2), 1, 1);
    FAIL() << "taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("its interface 3 (veth2), and there are 2 ports"),
              std::string::npos)
        << error.what();
  }
}

TEST(Replay, is_exhausted_when_its_last_round_is_sent) {
  Rig rig(three_frames(), 1, 2);
  rig.run_until(2'400);
  EXPECT_FALSE(rig.traffic.exhausted());
  rig.run_until(2'500);
  EXPECT_TRUE(rig.traffic.exhausted());
}

TEST(Replay, refuses_an_empty_capture_and_a_speed_that_is_none) {
  EXPECT_THROW(ReplayTraffic(std::make_shared<const Capture>(), ports(1), 1, 1),
               std::invalid_argument);
  for (const double speed : {-1.0, 1e-7, 1e7, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(ReplayTraffic(three_frames(), ports(1), speed, 1), std::invalid_argument) << speed;
  }
}

} // namespace
} // namespace tributary::pktgen::traffic::test
