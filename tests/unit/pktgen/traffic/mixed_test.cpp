#include "pktgen/traffic/mixed.hpp"

#include "pktgen/traffic/stream.hpp"
#include "tests/unit/pktgen/traffic/memory_port.hpp"
#include "tests/unit/pktgen/traffic/stream_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

using measure::Tally;

namespace {

/// Sends frames of its own length, and behaves as its fields say.
class Puppet : public Traffic {
public:
  explicit Puppet(std::uint32_t length) : length_(length) {}

  void start(TimeNs) override { ++started; }
  void begin_measuring(TimeNs) override { ++began; }
  void stop(TimeNs) override { ++stopped; }
  Reception receive(scenario::QueuePairIndex, const FrameView& frame, TimeNs) override {
    return frame.length == length_;
  }
  void generate(Ports ports, TimeNs) override {
    for (std::size_t i = 0; i < a_turn && waiting > 0; ++i, --waiting) {
      if (ports[port]->room() == nullptr) {
        return;
      }
      ports[port]->push(length_);
      ++sent;
    }
  }
  [[nodiscard]] TimeNs next_due() const override { return waiting > 0 ? TimeNs{0} : later; }
  [[nodiscard]] Progress progress() const override { return Progress(length_ - 59, sent); }
  void agree(const Progress& farthest) override { agreed = farthest; }
  [[nodiscard]] bool exhausted() const override { return is_drained; }
  [[nodiscard]] bool drained(TimeNs) const override { return is_drained; }
  [[nodiscard]] Tally tally(TimeNs) const override {
    Tally tally;
    tally.sent = {sent, sent * length_};
    tally.figures = {{"things", sent}, {"lost", 2, measure::Figure::Meaning::loss}};
    tally.latencies.push_back({"delay", {}});
    tally.latencies[0].histogram.record(length_);
    tally.remarks = {"a remark"};
    return tally;
  }
  [[nodiscard]] std::string waiting_for(TimeNs) const override { return wants; }

  std::size_t a_turn = 32;
  std::uint64_t waiting = 0; ///< frames that are due
  TimeNs later = never;
  scenario::PortIndex port = 0;
  bool is_drained = true;
  Progress agreed;
  std::string wants;
  std::uint64_t sent = 0;
  int started = 0;
  int began = 0;
  int stopped = 0;

private:
  std::uint32_t length_;
};

/// Puppets with these shares on a common port.
class Theatre {
public:
  explicit Theatre(const std::vector<double>& shares, bool keep_claims = false)
      : mixed(make(shares, keep_claims)), ports_{&port, &other_port} {
    port.keeps = other_port.keeps = false;
  }
  void generate(int times) {
    for (int i = 0; i < times; ++i) {
      mixed.generate(ports_, TimeNs{5});
    }
  }

private:
  std::vector<MixedTraffic::Part> make(const std::vector<double>& shares, bool keep_claims) {
    std::vector<MixedTraffic::Part> parts;
    for (const double share : shares) {
      auto puppet = std::make_unique<Puppet>(static_cast<std::uint32_t>(60 + puppets.size()));
      puppets.push_back(puppet.get());
      parts.push_back({"puppet", std::move(puppet), share, keep_claims});
    }
    return parts;
  }

public:
  std::vector<Puppet*> puppets;
  MixedTraffic mixed;
  MemoryPort port;
  MemoryPort other_port;

private:
  std::vector<link::Port*> ports_;
};

constexpr std::uint64_t plenty = 1U << 30;

TEST(Mixed, converges_to_the_shares_whatever_the_parts_send_in_a_turn) {
  Theatre theatre({1, 2, 5});
  const std::size_t turns[] = {32, 1, 17};
  for (std::size_t i = 0; i < 3; ++i) {
    theatre.puppets[i]->waiting = plenty;
    theatre.puppets[i]->a_turn = turns[i];
  }
  theatre.generate(10'000);
  const auto total = static_cast<double>(theatre.port.sent_frames() + theatre.port.pending());
  EXPECT_GE(total, 10'000.0 * 64);
  EXPECT_NEAR(static_cast<double>(theatre.puppets[0]->sent), total / 8, 64);
  EXPECT_NEAR(static_cast<double>(theatre.puppets[1]->sent), total * 2 / 8, 64);
  EXPECT_NEAR(static_cast<double>(theatre.puppets[2]->sent), total * 5 / 8, 64);
}

TEST(Mixed, keeps_the_shares_on_a_port_that_takes_little_at_a_time) {
  Theatre theatre({1, 3});
  for (Puppet* puppet : theatre.puppets) {
    puppet->waiting = plenty;
  }
  for (int i = 0; i < 20'000; ++i) {
    theatre.port.takes = static_cast<std::size_t>(i % 7);
    theatre.generate(1);
  }
  const auto total = static_cast<double>(theatre.puppets[0]->sent + theatre.puppets[1]->sent);
  EXPECT_GT(total, 50'000.0);
  EXPECT_NEAR(static_cast<double>(theatre.puppets[0]->sent), total / 4, 64);
}

TEST(Mixed, leaves_the_turns_of_an_idle_part_to_the_others_for_good) {
  Theatre theatre({1, 1});
  theatre.puppets[0]->waiting = plenty;
  theatre.generate(100);
  EXPECT_GE(theatre.puppets[0]->sent, 6'400U) << "all of it";
  EXPECT_EQ(theatre.puppets[1]->sent, 0U);
  const std::uint64_t before = theatre.puppets[0]->sent;
  theatre.puppets[1]->waiting = plenty;
  theatre.generate(100);
  EXPECT_NEAR(static_cast<double>(theatre.puppets[0]->sent - before),
              static_cast<double>(theatre.puppets[1]->sent), 64)
      << "it cannot catch up with what it did not want";
}

TEST(Mixed, holds_back_a_part_that_is_ahead_of_one_that_waits_for_answers) {
  Theatre theatre({3, 1}, true);
  theatre.puppets[0]->is_drained = theatre.puppets[1]->is_drained = false;
  theatre.mixed.start(TimeNs{1});
  theatre.puppets[1]->waiting = plenty;
  for (int i = 0; i < 1000; ++i) {
    theatre.puppets[0]->waiting += 3; // as answers arrive
    theatre.generate(1);
  }
  EXPECT_EQ(theatre.puppets[0]->sent, 3'000U);
  EXPECT_NEAR(static_cast<double>(theatre.puppets[1]->sent), 1'000, 96)
      << "a burst a port ahead, and a turn";
  EXPECT_EQ(theatre.mixed.next_due(), never) << "a part that is held back has nothing due";
  // A part that has nothing left to send, or no hosts here, is not waited for.
  theatre.puppets[0]->is_drained = true;
  theatre.generate(100);
  EXPECT_GE(theatre.puppets[1]->sent, 6'400U);
}

TEST(Mixed, waits_for_no_part_once_it_is_stopped) {
  Theatre theatre({1, 1}, true);
  theatre.puppets[0]->is_drained = theatre.puppets[1]->is_drained = false;
  theatre.mixed.start(TimeNs{1});
  theatre.puppets[1]->waiting = plenty;
  theatre.generate(100);
  EXPECT_LE(theatre.puppets[1]->sent, 96U);
  theatre.mixed.stop(TimeNs{2});
  theatre.generate(100);
  EXPECT_GE(theatre.puppets[1]->sent, 6'400U);
}

TEST(Mixed, serves_a_part_below_its_share_at_once) {
  Theatre theatre({1, 1});
  theatre.puppets[0]->waiting = plenty;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    ++theatre.puppets[1]->waiting;
    theatre.generate(1);
    EXPECT_EQ(theatre.puppets[1]->sent, i);
  }
}

TEST(Mixed, does_not_let_one_part_s_full_port_stop_the_others) {
  Theatre theatre({1, 1});
  theatre.port.takes = 0;
  theatre.puppets[0]->waiting = theatre.puppets[1]->waiting = plenty;
  theatre.puppets[1]->port = 1;
  theatre.generate(100);
  EXPECT_EQ(theatre.puppets[0]->sent, link::Port::burst) << "what fits before the port";
  EXPECT_GT(theatre.puppets[1]->sent, 3'000U);
}

TEST(Mixed, passes_on_the_phases_and_gathers_what_the_parts_say) {
  Theatre theatre({1, 1});
  theatre.mixed.start(TimeNs{1});
  theatre.mixed.begin_measuring(TimeNs{2});
  theatre.mixed.stop(TimeNs{3});
  for (const Puppet* puppet : theatre.puppets) {
    EXPECT_EQ(std::tuple(puppet->started, puppet->began, puppet->stopped), std::tuple(1, 1, 1));
  }
  EXPECT_EQ(theatre.mixed.next_due(), never);
  theatre.puppets[1]->later = TimeNs{77};
  EXPECT_EQ(theatre.mixed.next_due(), TimeNs{77});

  EXPECT_TRUE(theatre.mixed.drained(TimeNs{4}));
  theatre.puppets[1]->is_drained = false;
  EXPECT_FALSE(theatre.mixed.drained(TimeNs{4}));
  EXPECT_FALSE(theatre.mixed.exhausted());

  EXPECT_EQ(theatre.mixed.waiting_for(TimeNs{4}), "");
  theatre.puppets[0]->wants = "godot";
  theatre.puppets[1]->wants = "applause";
  EXPECT_EQ(theatre.mixed.waiting_for(TimeNs{4}), "puppet: godot; puppet_2: applause");
}

TEST(Mixed, hands_each_part_its_own_of_what_workers_agree_about) {
  Theatre theatre({1, 1});
  theatre.puppets[0]->waiting = 7;
  theatre.puppets[1]->waiting = 9;
  theatre.generate(1);
  EXPECT_EQ(theatre.mixed.progress(), (Progress{7, 9, 9}));
  theatre.mixed.agree({10, 11, 12});
  EXPECT_EQ(theatre.puppets[0]->agreed, (Progress{10}));
  EXPECT_EQ(theatre.puppets[1]->agreed, (Progress{11, 12}));
}

TEST(Mixed, offers_frames_to_all_parts_until_one_takes_it) {
  Theatre theatre({1, 1});
  Bytes frame(62);
  EXPECT_TRUE(theatre.mixed.receive(0, {frame.data(), 60}, TimeNs{1}));
  EXPECT_TRUE(theatre.mixed.receive(0, {frame.data(), 61}, TimeNs{1}));
  EXPECT_FALSE(theatre.mixed.receive(0, {frame.data(), 62}, TimeNs{1}));
}

TEST(Mixed, names_figures_after_their_part) {
  Theatre theatre({1, 1});
  theatre.puppets[0]->waiting = 3;
  theatre.puppets[1]->waiting = 4;
  theatre.generate(1);
  const Tally tally = theatre.mixed.tally(TimeNs{1});
  EXPECT_EQ(tally.sent.frames, 7U);
  EXPECT_EQ(tally.sent.bytes, 3 * 60U + 4 * 61U);
  EXPECT_EQ(tally.figure("puppet.things"), 3U);
  EXPECT_EQ(tally.figure("puppet_2.things"), 4U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::loss), 4U);
  ASSERT_NE(tally.latency("puppet_2.delay"), nullptr);
  EXPECT_EQ(tally.latency("puppet_2.delay")->max(), 61U);
  EXPECT_EQ(tally.remarks, (std::vector<std::string>{"puppet: a remark", "puppet_2: a remark"}));
}

TEST(Mixed, distinguishes_the_frames_of_several_streams) {
  scenario::Stream unicast;
  unicast.pattern = scenario::Pattern::all_to_all;
  scenario::Stream other; // no copy, in which g++ 14 sees a write beyond an empty vector
  other.pattern = scenario::Pattern::all_to_all;
  other.packets_per_second = 1e6;
  std::vector<MixedTraffic::Part> parts;
  parts.push_back(
      {"fast",
       std::make_unique<StreamTraffic>(scenario::Kind::unicast, unicast, placement_of(3), 1), 3});
  parts.push_back(
      {"slow", std::make_unique<StreamTraffic>(scenario::Kind::unicast, other, placement_of(3), 2),
       1});
  MixedTraffic mixed(std::move(parts));
  SwitchBetween between(scenario::Kind::unicast, unicast, placement_of(3));
  MemoryPort a(0);
  MemoryPort b(1);
  MemoryPort c(2);
  const std::vector<link::Port*> ports{&a, &b, &c};
  TimeNs now{1};
  mixed.start(now);
  mixed.begin_measuring(now);
  std::size_t count = 0;
  std::size_t lost = 0;
  for (int i = 0; i < 300; ++i) {
    now = now + 1'000;
    if (i == 299) {
      mixed.stop(now);
    }
    mixed.generate(ports, now);
    for (scenario::PortIndex from = 0; from < 3; ++from) {
      for (Bytes& frame : static_cast<MemoryPort*>(ports[from])->take_sent()) {
        for (Arriving& arriving : between.pass(from, frame)) {
          if (++count % 100 == 0) {
            ++lost;
            continue;
          }
          EXPECT_TRUE(mixed.receive(
              arriving.port,
              {arriving.bytes.data(), static_cast<std::uint32_t>(arriving.bytes.size())}, now));
        }
      }
    }
  }
  const Tally tally = mixed.tally(now);
  EXPECT_GT(lost, 100U);
  EXPECT_EQ(tally.figure("fast.lost") + tally.figure("slow.lost"), lost);
  EXPECT_EQ(tally.figure("fast.misdelivered") + tally.figure("slow.damaged"), 0U);
  EXPECT_EQ(tally.received.frames, tally.sent.frames - lost);
  EXPECT_NEAR(static_cast<double>(tally.figure("slow.expected")), 299, 3) << "its own rate";
}

TEST(Mixed, refuses_no_parts_and_no_share) {
  EXPECT_THROW(MixedTraffic({}), std::invalid_argument);
  EXPECT_THROW(Theatre({1, 0}), std::invalid_argument);
  EXPECT_THROW(Theatre({-1}), std::invalid_argument);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
