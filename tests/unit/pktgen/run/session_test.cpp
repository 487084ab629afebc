// Whole runs against a hosted switch: calibration, repeats, a search, an interruption. One process
// can start DPDK once, so all of them share one switch.
#include "pktgen/run/prepare.hpp"
#include "pktgen/run/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tributary::pktgen::run {

using link::Port;
using measure::Figure;
using result::LiveFigures;
using result::Measurement;
using result::Result;
using scenario::Scenario;

namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

class CountingView final : public result::LiveView {
public:
  std::function<void(const LiveFigures&)> at_show = [](const LiveFigures&) {};
  void show(const LiveFigures& figures, TimeNs) override { at_show(figures); }
  void finish() override {}
};

/// A port that fails in mid-run, as a device that is removed does.
class FailingTap final : public link::FrameTap {
public:
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> fails_after{0};
  explicit FailingTap(std::vector<Port*> ports) : ports_(std::move(ports)) { tap_all(this); }
  ~FailingTap() override { tap_all(nullptr); }
  FailingTap(const FailingTap&) = delete;
  FailingTap& operator=(const FailingTap&) = delete;
  void sent(const Port&, std::span<const std::byte>) override { count(); }
  void received(const Port&, std::span<const std::byte>) override { count(); }

private:
  void count() {
    if (++seen > fails_after) {
      throw std::runtime_error("the link was eaten");
    }
  }
  void tap_all(link::FrameTap* tap) {
    for (Port* port : ports_) {
      port->set_tap(tap);
    }
  }
  std::vector<Port*> ports_;
};

class SessionTest : public testing::Test {
protected:
  static Scenario scenario() {
    Scenario s;
    s.traffic.reduce.leaves = 6;
    s.traffic.reduce.trees = 4;
    s.hosted.emplace().ports = 3;
    s.hosted->busy = false;
    s.phases.warmup = std::chrono::milliseconds(20);
    s.phases.duration = std::chrono::milliseconds(100);
    s.seed = 1;
    return s;
  }
  /// Measures until something was done, however busy the machine is.
  static void be_patient(Scenario& s) {
    s.phases.duration = std::chrono::hours(1);
    s.phases.operations = 50;
  }
  static transport::Transport& transport() {
    // Never destroyed: DPDK's threads outlive it anyway.
    static auto* shared = new transport::Transport(scenario());
    return *shared;
  }
  Result run(const Scenario& s) {
    Result result;
    Session(s, transport(), clock_, view_, interruptions_).run(result);
    return result;
  }

  Clock clock_;
  CountingView view_;
  std::atomic<unsigned> interruptions_{0};
};

TEST_F(SessionTest, RepeatsAreMeasuredUnderTheCeiling) {
  Scenario s = scenario();
  s.phases.repeats = 2;
  be_patient(s);
  const Result result = run(s);
  EXPECT_EQ(result.failure, "");
  ASSERT_TRUE(result.ceiling);
  EXPECT_GT(result.ceiling->frames_per_second, 0);
  EXPECT_NEAR(result.ceiling->frames_per_second * result.ceiling->cycles_per_frame, clock_.hz(),
              clock_.hz() / 1000);
  ASSERT_EQ(result.repeats.size(), 2U);
  ASSERT_TRUE(result.latency_floor);
  EXPECT_GT(result.latency_floor->ns, 0U);
  EXPECT_TRUE(result.latency_floor->rests);
  for (const Measurement& m : result.repeats) {
    EXPECT_GT(m.operations, 0U);
    EXPECT_EQ(m.operations, m.tally.figure("operations"));
    EXPECT_EQ(m.tally.sum(Figure::Meaning::fault), 0U);
    EXPECT_EQ(m.ports.size(), 3U);
    ASSERT_TRUE(m.switch_figures);
    EXPECT_GT(m.switch_figures->received_frames, 0U);
    EXPECT_GE(m.generator_busy, 0);
    EXPECT_LE(m.generator_busy, 1);
  }
  ASSERT_THAT(result.derived, Contains(Pair("root_frames_per_reduction", testing::_)));
}

TEST_F(SessionTest, SeveralWorkersShareTheMembersOfOneScenario) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  s.phases.repeats = 3;
  be_patient(s);
  s.cores = usable_cores();
  s.cores.resize(std::min<std::size_t>(s.cores.size(), 3));
  for (const double rate : {0.0, 2000.0}) {
    s.traffic.reduce.rate = rate;
    const Result result = run(s);
    EXPECT_EQ(result.failure, "");
    ASSERT_EQ(result.repeats.size(), 3U);
    for (const Measurement& m : result.repeats) {
      EXPECT_GT(m.operations, 0U);
      EXPECT_EQ(m.tally.figure("operations_at_leaves"), 6 * m.tally.figure("operations"));
      EXPECT_EQ(m.tally.figure("results_checked"), 7 * m.tally.figure("reductions"));
      EXPECT_EQ(m.tally.sum(Figure::Meaning::fault), 0U);
    }
  }
}

TEST_F(SessionTest, EnoughOperationsEndAMeasurement) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  be_patient(s);
  const Result result = run(s);
  ASSERT_EQ(result.repeats.size(), 1U);
  EXPECT_EQ(result.repeats[0].operations, 50U) << "no less, and no more";
  EXPECT_LT(result.repeats[0].seconds, 600);
}

TEST_F(SessionTest, SearchEndsAtARateThatPassedWithinItsPrecision) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  s.search.wanted = true;
  s.search.loss = 0.05;
  s.search.precision = 0.3;
  const Result result = run(s);
  ASSERT_TRUE(result.search);
  ASSERT_FALSE(result.search->steps.empty());
  double lowest_failed = 1e300;
  for (const result::SearchStep& step : result.search->steps) {
    EXPECT_GE(step.tries.size(), 2U) << "one try decides nothing";
    EXPECT_LE(step.tries.size(), 3U);
    const auto passed = std::ranges::count_if(step.tries, &result::SearchTry::passed);
    EXPECT_EQ(step.passed, passed == 2);
    EXPECT_LE(step.passed ? step.loss : 0, 0.05);
    if (!step.passed) {
      lowest_failed = std::min(lowest_failed, step.rate);
    }
  }
  EXPECT_LT(result.search->rate, lowest_failed);
  if (result.search->rate > 0) {
    EXPECT_EQ(result.search->at_shares.size(), 3U);
    EXPECT_NEAR(result.search->at_shares[1].second.offered_rate, result.search->rate / 2,
                result.search->rate / 1000);
  }
}

TEST_F(SessionTest, SearchWithoutARateSaysWhatHasOne) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  s.search.wanted = true;
  s.traffic.kind = scenario::Kind::mixed;
  EXPECT_THAT(run(s).failure, HasSubstr("a search needs one traffic with a rate"));
}

TEST_F(SessionTest, InterruptionBeforeAnythingWasMeasuredLeavesNoMeasurement) {
  Scenario s = scenario();
  s.phases.repeats = 5;
  interruptions_ = 1;
  const Result result = run(s);
  EXPECT_EQ(result.failure, "interrupted before anything was measured");
  EXPECT_TRUE(result.repeats.empty());
}

TEST_F(SessionTest, InterruptionKeepsWhatWasMeasuredAndSaysHowLongThatWas) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  s.phases.repeats = 5;
  s.phases.duration = std::chrono::seconds(60);
  view_.at_show = [&](const LiveFigures& figures) {
    interruptions_ = figures.operations_per_second > 0 ? 1U : 0U;
  };
  const Result result = run(s);
  EXPECT_THAT(result.failure, HasSubstr("interrupted; what was measured until then is shown"));
  ASSERT_EQ(result.repeats.size(), 1U);
  const Measurement& m = result.repeats.front();
  EXPECT_TRUE(m.cut_short);
  EXPECT_GT(m.operations, 0U);
  EXPECT_GT(m.seconds, 0.2) << "until the first look";
  EXPECT_LT(m.seconds, 60);
  EXPECT_EQ(m.tally.sum(Figure::Meaning::fault), 0U) << "what was in flight came in";
}

TEST_F(SessionTest, InterruptedSearchKeepsTheTryUnderWay) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  s.phases.duration = std::chrono::seconds(1);
  s.search.wanted = true;
  // At the first check of a try. A busy machine may have ended others without one.
  view_.at_show = [&](const LiveFigures& figures) {
    interruptions_ = figures.phase.ends_with(" a second") ? 1U : 0U;
  };
  const Result result = run(s);
  EXPECT_THAT(result.failure, HasSubstr("interrupted"));
  ASSERT_EQ(result.repeats.size(), 1U);
  EXPECT_FALSE(result.repeats.front().cut_short);
  ASSERT_TRUE(result.search);
  ASSERT_TRUE(result.search->cut_short);
  for (const result::SearchStep& step : result.search->steps) {
    EXPECT_NE(step.rate, result.search->cut_short->offered_rate) << "cut short, and judged";
  }
  EXPECT_TRUE(result.search->cut_short->cut_short);
  EXPECT_GT(result.search->cut_short->operations, 0U);
  EXPECT_TRUE(result.search->at_shares.empty());
}

TEST_F(SessionTest, SilenceEndsTheRunAndNamesWhoIsWaitedFor) {
  Scenario s = scenario();
  s.phases.calibrate = false;
  s.phases.timeout = std::chrono::milliseconds(100);
  s.phases.duration = std::chrono::seconds(60);
  s.traffic.reduce.vni = 77;
  s.traffic.reduce.first_tree = 100; // the switch has no such tree
  const Result result = run(s);
  EXPECT_THAT(result.failure, HasSubstr("nothing came back"));
  EXPECT_THAT(result.failure, HasSubstr("tree 100: rank 0"));
}

// The last one: the ports send later what they had not sent when they failed, which would mislead
// the members of a following run.
TEST_F(SessionTest, PortThatFailsKeepsWhatWasMeasured) {
  FailingTap tap(transport().ports());
  for (const std::size_t workers : {1U, 2U}) {
    Scenario s = scenario();
    s.phases.calibrate = false;
    s.phases.repeats = 5;
    s.phases.warmup = {};
    s.phases.duration = std::chrono::seconds(60);
    s.cores = std::vector<unsigned>(workers, usable_cores().front());
    tap.fails_after = tap.seen + 20'000;
    const Result result = run(s);
    EXPECT_EQ(result.failure, "the link was eaten");
    ASSERT_EQ(result.repeats.size(), 1U);
    const Measurement& m = result.repeats.front();
    EXPECT_TRUE(m.cut_short);
    EXPECT_GT(m.operations, 0U);
    EXPECT_GT(m.seconds, 0);
    EXPECT_LT(m.seconds, 60);
    EXPECT_GT(m.ports.front().received.frames, 0U);
    EXPECT_EQ(m.tally.sum(Figure::Meaning::fault), 0U) << "what was in flight is not a fault";
  }
}

} // namespace
} // namespace tributary::pktgen::run
