// Silence: when it has lasted too long, and when merely no frame is due.
#include "pktgen/run/traffic_watchdog.hpp"

#include "lib/link/memory_port.hpp"
#include "pktgen/run/measuring.hpp"
#include "tests/support/eventually.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::run {

using scenario::Kind;
using scenario::Scenario;

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Waiting final : public traffic::Traffic {
public:
  std::string waits_for = "rank 0 for contributions";
  std::atomic<link::Port*> frame_from = nullptr;
  void start(TimeNs) override {}
  void begin_measuring(TimeNs) override {}
  void stop(TimeNs) override {}
  traffic::Reception receive(scenario::QueuePairIndex, const FrameView&, TimeNs) override {
    return true;
  }
  /// A link in memory belongs to one thread: the worker itself sends the frames that should arrive.
  void generate(traffic::Ports, TimeNs) override {
    if (link::Port* other_end = frame_from.exchange(nullptr)) {
      EXPECT_NE(other_end->room(), nullptr);
      other_end->push(64);
      other_end->flush();
    }
  }
  [[nodiscard]] TimeNs next_due() const override { return never; }
  [[nodiscard]] bool drained(TimeNs) const override { return true; }
  [[nodiscard]] measure::Tally tally(TimeNs) const override { return {}; }
  [[nodiscard]] std::string waiting_for(TimeNs) const override { return waits_for; }
};

class TrafficWatchdogTest : public testing::Test {
protected:
  TrafficWatchdogTest() {
    pool_.start();
    pool_.go();
  }
  /// The check's message after `seconds`; empty without one.
  std::string check(double seconds) {
    try {
      watchdog_.check(pool_, at(seconds));
      return {};
    } catch (const RunFailed& failed) {
      return failed.what();
    }
  }
  static TimeNs at(double seconds) { return {static_cast<std::uint64_t>(seconds * 1e9)}; }
  void frame_comes_in() {
    const std::uint64_t before = pool_.counts().received;
    traffic_->frame_from = links_.second.get();
    ASSERT_TRUE(tributary::test::eventually([&] { return pool_.counts().received != before; }));
  }

  Clock clock_;
  std::pair<std::unique_ptr<link::MemoryPort>, std::unique_ptr<link::MemoryPort>> links_ =
      link::MemoryPort::joined(2048, {});
  std::vector<link::Port*> ports_{links_.first.get()};
  Waiting* traffic_ = nullptr;
  WorkerPool pool_{[this](const std::vector<bool>&) {
                     auto made = std::make_unique<Waiting>();
                     traffic_ = made.get();
                     return made;
                   },
                   ports_,
                   clock_,
                   false,
                   {}};
  TrafficWatchdog watchdog_{one_second(), ports_, TimeNs{0}};

  static Scenario one_second() {
    Scenario s;
    s.traffic.kind = Kind::unicast;
    s.phases.timeout = std::chrono::seconds(1);
    return s;
  }
};

TEST_F(TrafficWatchdogTest, NothingEverCameInNamesWhoWaitsAndWhatToLookAt) {
  EXPECT_EQ(check(0.9), "");
  EXPECT_THAT(check(1.2),
              AllOf(HasSubstr("nothing came back"), HasSubstr("within 1.2 s"),
                    HasSubstr("rank 0 for contributions"), HasSubstr("--print-switch-config")));
}

TEST_F(TrafficWatchdogTest, PeerThatHasStoppedToAnswerIsToldFromOneThatNeverDid) {
  frame_comes_in();
  EXPECT_EQ(check(0.9), "");
  EXPECT_EQ(check(1.8), "") << "not that long after the last frame";
  EXPECT_THAT(check(2.1), AllOf(HasSubstr("nothing has come back for 1.2 s"),
                                HasSubstr("still runs"), Not(HasSubstr("--print-switch-config"))));
}

TEST_F(TrafficWatchdogTest, WhatComesInNowAndThenEndsIt) {
  for (double seconds = 0.9; seconds < 10; seconds += 0.9) {
    frame_comes_in();
    EXPECT_EQ(check(seconds), "") << seconds;
  }
}

TEST_F(TrafficWatchdogTest, AWatchdogThatWaitsForNothingStaysQuiet) {
  pool_.standing_still([&] { traffic_->waits_for.clear(); });
  EXPECT_EQ(check(100), "");
}

TEST(longest_silence, counts_what_a_scenario_holds_back_by_itself) {
  using namespace std::chrono_literals;
  Scenario s;
  s.phases.timeout = 2s;
  s.traffic.reduce.leaves = 1;
  EXPECT_EQ(longest_silence_ns(s), 2'032'000'000U) << "and a retry";
  s.traffic.reduce.retry = 100ms;
  EXPECT_EQ(longest_silence_ns(s), 2'100'000'000U);
  s.traffic.reduce.rate = 0.1;
  EXPECT_EQ(longest_silence_ns(s), 12'100'000'000U);
  s.traffic.reduce.rate = 0;
  s.traffic.reduce.skew = scenario::Skew::straggler;
  s.traffic.reduce.skew_by = 5s;
  EXPECT_EQ(longest_silence_ns(s), 7'100'000'000U);
  s.traffic.reduce.skew = scenario::Skew::exponential;
  EXPECT_EQ(longest_silence_ns(s), 82'100'000'000U);
  s.traffic.reduce.skew = scenario::Skew::none;
  s.traffic.reduce.tampering.late = 0.5;
  s.traffic.reduce.tampering.late_by = 1s;
  EXPECT_EQ(longest_silence_ns(s), 3'100'000'000U);
  Scenario mixed;
  mixed.phases.timeout = 2s;
  mixed.traffic.kind = Kind::mixed;
  mixed.parts.resize(2);
  mixed.parts[0].kind = Kind::unicast;
  mixed.parts[0].stream.packets_per_second = 0.5;
  mixed.parts[1].kind = Kind::replay;
  EXPECT_EQ(longest_silence_ns(mixed), 4'000'000'000U);
}

} // namespace
} // namespace tributary::pktgen::run
