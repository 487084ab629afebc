// Two switches, one link, pause frames as bytes: a fast sender, a slow way out, and a link with
// latency.
//
//   frames ---> queues of A ==== link, 2 us each way ====> queues of B ---> slow device
//               obey pauses  <======= pause frames =======   account, and ask
//
// Time advances in steps; in each, the link carries as much as it can in that time, and B's output
// a fifth of it.

#include "dataplane/egress/pause_sender.hpp"
#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace tributary::egress::test {
namespace {

constexpr std::uint32_t speed_mbps = 10'000;
constexpr std::uint64_t latency_ns = 2000;
constexpr std::uint64_t step_ns = 1000;
constexpr std::uint32_t frame_bytes = 1250;                           // a microsecond
constexpr std::uint64_t round_trip_ns = 2 * latency_ns + 3 * step_ns; // and either end's reaction

struct Outcome {
  std::uint64_t delivered = 0;
  std::uint64_t dropped_at_b = 0;
  std::uint64_t pauses = 0;
  std::uint64_t idle_steps = 0; ///< in which the way out had nothing to send
  Depth highest;
};

/// Carries frames for 20,000 steps; B's class has this headroom.
Outcome carry(Depth headroom) {
  PauseLimits limits{
      .xoff = {20, 20 * frame_bytes}, .xon = {8, 8 * frame_bytes}, .headroom = headroom};
  std::array<PauseLimits, traffic_classes> all;
  all.fill(limits);
  IngressAccounts accounts_a;
  IngressAccounts accounts(all);
  PortSettings settings;
  settings.classes[3].when_full = WhenFull::pause;
  settings.classes[3].limit = {4096, 64U << 20};
  Queues a{settings, &accounts_a};
  Queues b{settings, &accounts};
  a.set_link_speed(speed_mbps);
  PauseSender sender;
  sender.set_link_speed(speed_mbps);
  Device link;
  Device way_out;
  struct OnTheLink {
    TimeNs arrives;
    Frame frame;
  };
  struct PauseOnTheLink {
    TimeNs arrives;
    std::array<std::byte, wire::pause_frame_bytes> bytes;
  };
  std::deque<OnTheLink> to_b;
  std::deque<PauseOnTheLink> to_a;
  Outcome outcome;
  std::uint32_t next = 0;
  std::size_t taken_by_link = 0;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const TimeNs now{ms(1).value + step * step_ns};
    while (!to_a.empty() && to_a.front().arrives <= now) {
      wire::PauseFrame pause;
      EXPECT_EQ(wire::decode(to_a.front().bytes, pause), wire::PauseError::none);
      a.pause(pause, now);
      to_a.pop_front();
    }
    link.room = step_ns * speed_mbps / 8000 / frame_bytes;
    if (a.snapshot(cls(3)).waiting.frames < 10) {
      a.push(Frame{next++, frame_bytes}, cls(3), no_port, now, link);
    }
    a.flush(now, link);
    for (; taken_by_link < link.sent.size(); ++taken_by_link) {
      to_b.push_back({now + latency_ns, link.sent[taken_by_link].frame});
    }
    while (!to_b.empty() && to_b.front().arrives <= now) {
      b.push(to_b.front().frame, cls(3), port(1), now, way_out);
      to_b.pop_front();
    }
    way_out.room = step % 5 == 0 ? 1 : 0;
    const std::size_t before = way_out.sent.size();
    b.flush(now, way_out);
    outcome.idle_steps += step % 5 == 0 && way_out.sent.size() == before ? 1 : 0;
    if (const auto pause = sender.due(accounts.wanted(port(1)), now)) {
      to_a.push_back({now + latency_ns, {}});
      wire::encode(*pause, wire::host_mac(Nid{1}), to_a.back().bytes);
      sender.sent(*pause, now);
    }
  }
  outcome.delivered = way_out.sent.size();
  outcome.dropped_at_b = way_out.dropped.size();
  outcome.pauses = sender.counters(cls(3)).pauses.read();
  outcome.highest = accounts.highest(port(1), cls(3));
  for (std::size_t i = 1; i < way_out.sent.size(); ++i) {
    EXPECT_GT(way_out.sent[i].frame.id, way_out.sent[i - 1].frame.id);
  }
  EXPECT_TRUE(link.dropped.empty());
  return outcome;
}

TEST(LosslessLink, NothingIsLostWithTheHeadroomOfItsLengthAndTheWayOutIsNeverIdle) {
  const auto bytes =
      static_cast<std::uint32_t>(headroom_bytes(speed_mbps, round_trip_ns, frame_bytes));
  const Outcome outcome = carry({100, bytes});
  EXPECT_EQ(outcome.dropped_at_b, 0U);
  EXPECT_GE(outcome.delivered, 3990U) << "all that fits through";
  EXPECT_LE(outcome.idle_steps, 5U) << "only until the first frame is there";
  EXPECT_GT(outcome.pauses, 100U);
  EXPECT_GT(outcome.highest.frames, 20U) << "the headroom was used";
}

TEST(LosslessLink, WithoutHeadroomFramesOnTheirWayAreLost) {
  const Outcome outcome = carry({0, 0});
  EXPECT_GT(outcome.dropped_at_b, 0U);
}

} // namespace
} // namespace tributary::egress::test
