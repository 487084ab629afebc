// Closed and open loops over a switch core: rates, results, latencies, counts.
#include "reduce_rig.hpp"

#include "tributary/wire/reduction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

namespace tributary::pktgen::traffic::test {

using measure::Figure;
using measure::Tally;
using scenario::PortIndex;
using scenario::Reduce;
using scenario::Skew;

namespace {

using testing::HasSubstr;

Reduce leaves(std::uint32_t n) {
  Reduce reduce;
  reduce.leaves = n;
  return reduce;
}

/// Due work piles up as in any such time, but work is done only at its beginning and end.
void pile_up(ReduceRig& rig, std::uint64_t ns) {
  constexpr std::uint64_t at_work = 250'000;
  rig.run(at_work);
  rig.stall(ns - 2 * at_work);
  rig.run(at_work);
}

struct Shape {
  std::uint32_t leaves;
  std::uint32_t trees;
  std::uint32_t ports;
  std::uint32_t in_flight;
  std::uint64_t elements;
};
void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.leaves << " leaves, " << s.trees << " trees, " << s.ports << " ports, " << s.in_flight
       << " in flight, " << s.elements << " elements";
}
class ReduceShapes : public testing::TestWithParam<Shape> {};

TEST_P(ReduceShapes, EveryMemberGetsEveryRightResultOnce) {
  const Shape& shape = GetParam();
  Reduce reduce = leaves(shape.leaves);
  reduce.trees = shape.trees;
  reduce.in_flight = shape.in_flight;
  reduce.elements = shape.elements;
  ReduceRig rig(reduce, shape.ports);
  rig.run(500'000);
  ASSERT_TRUE(rig.finish()) << rig.traffic().waiting_for(rig.now);
  const Tally tally = rig.tally();
  const std::uint64_t pieces = (shape.elements + 3) / 4;
  EXPECT_GE(tally.figure("operations"), shape.trees);
  EXPECT_EQ(tally.figure("reductions"), tally.figure("operations") * pieces);
  EXPECT_EQ(tally.figure("operations_at_leaves"), tally.figure("operations") * shape.leaves);
  EXPECT_EQ(tally.figure("results_checked"), tally.figure("reductions") * (shape.leaves + 1));
  EXPECT_EQ(tally.sum(Figure::Meaning::fault), 0U);
  EXPECT_EQ(tally.figure("asked_again"), 0U);
  EXPECT_EQ(tally.figure("frames_that_made_reductions"), tally.figure("reductions"));
  EXPECT_EQ(tally.latency("operation_at_root")->count(), tally.figure("operations"));
}

INSTANTIATE_TEST_SUITE_P(Loop, ReduceShapes,
                         testing::Values(Shape{1, 1, 2, 1, 4}, Shape{2, 1, 3, 8, 4},
                                         Shape{17, 3, 4, 3, 4}, Shape{16, 1, 2, 8, 1},
                                         Shape{5, 2, 3, 2, 100}, Shape{300, 1, 3, 8, 4},
                                         Shape{3, 200, 4, 8, 4}));

TEST(ReduceLoop, AllOperatorsComeOutRight) {
  Reduce reduce = leaves(11);
  reduce.operators = {"mix"};
  reduce.elements = 7;
  ReduceRig rig(reduce);
  rig.run(3'000'000);
  ASSERT_TRUE(rig.finish());
  EXPECT_GE(rig.tally().figure("operations"), 2 * (operator_names().size() - 1));
  EXPECT_EQ(rig.tally().figure("wrong_results"), 0U);
}

TEST(ReduceLoop, WithoutArmsEveryContributionReachesTheRoot) {
  Reduce reduce = leaves(12);
  reduce.armed = false;
  ReduceRig rig(reduce);
  rig.run(500'000);
  ASSERT_TRUE(rig.finish());
  const Tally tally = rig.tally();
  EXPECT_EQ(tally.figure("frames_that_made_reductions"), 12 * tally.figure("reductions"));
  EXPECT_EQ(tally.figure("reductions_by_single_contributions"), tally.figure("reductions"));
}

TEST(ReduceLoop, WhatWasUnderWayWhenTheMeasurementBeganCountsNowhere) {
  Reduce reduce = leaves(6);
  reduce.trees = 5;
  ReduceRig rig(reduce);
  rig.run(101'000);
  rig.traffic().begin_measuring(rig.now); // forty of them are in flight
  rig.run(30'000);
  ASSERT_TRUE(rig.finish());
  const Tally tally = rig.tally();
  EXPECT_GT(tally.figure("reductions"), 0U);
  EXPECT_EQ(tally.figure("frames_that_made_reductions"), tally.figure("reductions"));
  EXPECT_EQ(tally.figure("reductions_by_one_frame"), tally.figure("reductions"));
  EXPECT_EQ(tally.figure("reductions_by_several_frames"), 0U);
}

TEST(ReduceLoop, GivenUpInFullFlightItLeavesNoDescriptorArmed) {
  Reduce reduce = leaves(6);
  reduce.trees = 20; // more releases than an outbox holds at a time
  ReduceRig rig(reduce);
  rig.run(100'000);
  ASSERT_GT(rig.armed(), 0U);
  rig.give_up();
  EXPECT_EQ(rig.armed(), 0U);
}

TEST(ReduceLoop, ReleaseOfARunBeforeIsNoSequenceOfThisOne) {
  Reduce reduce = leaves(6);
  reduce.retry = std::chrono::milliseconds(1);
  ReduceRig rig(reduce);
  bool first = true;
  rig.on_arrival = [&](PortIndex port, std::byte* frame) {
    if (port != 0 && std::exchange(first, false)) {
      std::byte* const p = frame + wire::ethernet_header_bytes;
      wire::ReductionWord word = wire::load_word(p);
      word.seqno = SequenceNumber{400};
      word.arm = false;
      wire::store_word(p, word);
    }
    return true;
  };
  rig.run(3'000'000); // longer than a retry, not as long as leaves take to follow a lost root
  EXPECT_FALSE(first);
  EXPECT_GT(rig.tally().figure("operations"), 100U);
  EXPECT_TRUE(rig.finish());
}

TEST(ReduceLoop, BeginsExactlyAsManyOperationsAsItIsAllowed) {
  for (const double rate : {0.0, 1e6}) {
    Reduce reduce = leaves(5);
    reduce.trees = 3;
    reduce.in_flight = 4;
    reduce.elements = 9; // three pieces
    reduce.rate = rate;
    ReduceRig rig(reduce);
    rig.run(77'000);
    rig.traffic().limit(100);
    rig.traffic().begin_measuring(rig.now);
    rig.run(20'000'000);
    ASSERT_TRUE(rig.finish());
    const Tally tally = rig.tally();
    EXPECT_EQ(tally.figure("operations"), 100U) << "rate " << rate;
    EXPECT_EQ(tally.figure("operations_at_leaves"), 500U);
    EXPECT_EQ(tally.sum(Figure::Meaning::fault), 0U);
    EXPECT_EQ(tally.sum(Figure::Meaning::loss), 0U);
  }
}

TEST(ReduceLoop, DamageOnTheWayIsFoundAtTheMemberItReaches) {
  ReduceRig rig(leaves(4));
  int damaged = 0;
  rig.on_arrival = [&](PortIndex port, std::byte* frame) {
    const std::byte* p = frame + wire::ethernet_header_bytes;
    if (port == 1 && wire::load_word(p).count != 0 && damaged == 0) {
      frame[wire::ethernet_header_bytes + wire::reduction_offset::payload + 7] ^= std::byte{1};
      ++damaged;
    }
    return true;
  };
  rig.run(300'000);
  ASSERT_TRUE(rig.finish());
  ASSERT_EQ(damaged, 1);
  // Ports 1 and 2 share the four leaves: the damaged copy is read by two.
  EXPECT_EQ(rig.tally().figure("wrong_results"), 2U);
  ASSERT_FALSE(rig.tally().remarks.empty());
  EXPECT_THAT(rig.tally().remarks.front(), HasSubstr("got a wrong result"));
}

TEST(ReduceLoop, OpenLoopBeginsOperationsAtItsRateWhateverBecomesOfThem) {
  Reduce reduce = leaves(6);
  reduce.trees = 3;
  reduce.rate = 30'000;
  ReduceRig rig(reduce);
  rig.run(20'000'000);
  ASSERT_TRUE(rig.finish());
  EXPECT_NEAR(static_cast<double>(rig.tally().figure("operations")), 600, 3);
  EXPECT_EQ(rig.tally().figure("operations_missed"), 0U);
}

TEST(ReduceLoop, StallShowsInTheLatencyOfAllThatWasDueMeanwhile) {
  Reduce reduce = leaves(6);
  reduce.rate = 10'000; // one every 100 us
  ReduceRig rig(reduce);
  rig.run(10'000'000);
  rig.stall(5'000'000);
  rig.run(10'000'000);
  ASSERT_TRUE(rig.finish());
  const Tally tally = rig.tally();
  const statistics::Histogram& latency = *tally.latency("operation_at_root");
  EXPECT_NEAR(static_cast<double>(latency.count()), 250, 3);
  EXPECT_GE(latency.max(), 4'900'000U);
  // Fifty were due in those 5 ms, and waited for the rest of them: half of them over 2.5 ms.
  std::uint64_t waited = 0;
  latency.for_each([&](std::uint64_t lowest, std::uint64_t, std::uint64_t count) {
    waited += lowest >= 2'500'000 ? count : 0;
  });
  EXPECT_NEAR(static_cast<double>(waited), 25, 3);
}

TEST(ReduceLoop, OpenLoopOfAnyRateGoesOnAndItsLatenciesGrow) {
  for (const double rate : {1e9, 1e12}) {
    Reduce reduce = leaves(6);
    reduce.trees = 3;
    reduce.rate = rate;
    ReduceRig rig(reduce);
    pile_up(rig, 20'000'000);
    const std::uint64_t half = rig.tally().latency("operation_at_root")->max();
    pile_up(rig, 20'000'000);
    const std::uint64_t whole = rig.tally().latency("operation_at_root")->max();
    EXPECT_GT(half, 15'000'000U) << "at the end of 20 ms, what was meant for their beginning";
    EXPECT_GT(whole, half + 15'000'000U);
    ASSERT_TRUE(rig.finish());
    const Tally tally = rig.tally();
    EXPECT_GT(tally.figure("operations"), 100U);
    EXPECT_NEAR(static_cast<double>(tally.figure("operations") + tally.figure("operations_missed")),
                rate * 0.04, rate * 0.04 / 1000);
  }
}

TEST(ReduceLoop, WhatTheWarmUpDidNotManageLeavesTimeForWhatIsMeasured) {
  Reduce reduce = leaves(6);
  reduce.rate = 1e9;
  ReduceRig rig(reduce);
  pile_up(rig, 20'000'000);
  rig.traffic().begin_measuring(rig.now);
  pile_up(rig, 30'000'000);
  ASSERT_TRUE(rig.finish());
  const Tally tally = rig.tally();
  EXPECT_GT(tally.figure("operations"), 100U);
  EXPECT_EQ(tally.figure("operations_at_leaves"), 6 * tally.figure("operations"));
  EXPECT_GT(tally.latency("operation_at_root")->max(), 25'000'000U);
  EXPECT_LT(tally.latency("operation_at_root")->max(), 35'000'000U) << "the warm-up counts";
  EXPECT_NEAR(static_cast<double>(tally.figure("operations") + tally.figure("operations_missed")),
              3e7, 1e5);
}

TEST(ReduceLoop, SlowestRateBeginsOneOperationAndNoMore) {
  Reduce reduce = leaves(2);
  reduce.rate = 1e-300;
  ReduceRig rig(reduce);
  rig.run(10'000'000);
  ASSERT_TRUE(rig.finish());
  EXPECT_EQ(rig.tally().figure("operations"), 1U);
  EXPECT_EQ(rig.tally().figure("operations_missed"), 0U);
}

TEST(ReduceLoop, OpenLoopBeyondWhatCanBeDoneSaysWhatWasMissed) {
  Reduce reduce = leaves(50);
  reduce.rate = 3e6;
  ReduceRig rig(reduce);
  pile_up(rig, 30'000'000);
  ASSERT_TRUE(rig.finish());
  const Tally tally = rig.tally();
  EXPECT_GT(tally.figure("operations_missed"), 0U);
  EXPECT_NEAR(static_cast<double>(tally.figure("operations") + tally.figure("operations_missed")),
              90'000, 100);
  EXPECT_EQ(tally.sum(Figure::Meaning::fault), 0U);
}

TEST(ReduceLoop, StragglerHoldsUpEveryOperationByItsDelay) {
  Reduce reduce = leaves(8);
  reduce.in_flight = 1;
  reduce.skew = Skew::straggler;
  reduce.skew_by = std::chrono::microseconds(200);
  ReduceRig rig(reduce);
  rig.run(20'000'000);
  ASSERT_TRUE(rig.finish());
  const Tally tally = rig.tally();
  ASSERT_GT(tally.figure("operations"), 50U);
  EXPECT_GE(tally.latency("operation_at_root")->min(), 199'000U);
  // The straggler itself does not wait.
  EXPECT_LT(tally.latency("operation_at_leaves")->min(), 100'000U);
}

TEST(ReduceLoop, UniformAndExponentialSkewStayRight) {
  for (const Skew skew : {Skew::uniform, Skew::exponential}) {
    Reduce reduce = leaves(40);
    reduce.skew = skew;
    reduce.skew_by = std::chrono::microseconds(50);
    ReduceRig rig(reduce);
    rig.run(5'000'000);
    ASSERT_TRUE(rig.finish());
    EXPECT_GT(rig.tally().figure("operations"), 10U);
    EXPECT_EQ(rig.tally().sum(Figure::Meaning::fault), 0U);
    EXPECT_GT(rig.tally().latency("operation_at_root")->max(), 20'000U);
  }
}

TEST(ReduceLoop, LostFramesAreAskedForAgain) {
  ReduceRig rig(leaves(10));
  int lost = 0;
  rig.on_arrival = [&](PortIndex port, std::byte*) { return port != 1 || ++lost % 10 != 0; };
  rig.run(1'000'000'000);
  ASSERT_TRUE(rig.finish()) << rig.traffic().waiting_for(rig.now);
  EXPECT_GT(lost, 20);
  EXPECT_GT(rig.tally().figure("asked_again") + rig.tally().figure("results_requested"), 0U);
  EXPECT_EQ(rig.tally().sum(Figure::Meaning::fault), 0U);
}

TEST(ReduceLoop, DeadRootIsNamedAsWhatIsWaitedFor) {
  ReduceRig rig(leaves(4));
  rig.on_arrival = [](PortIndex port, std::byte*) { return port == 0; };
  rig.run(100'000'000);
  EXPECT_THAT(rig.traffic().waiting_for(rig.now), HasSubstr("waiting for contributions"));
  rig.traffic().stop(rig.now);
  EXPECT_FALSE(rig.traffic().drained(rig.now));
  EXPECT_GT(rig.tally().figure("operations_unfinished"), 0U);
}

TEST(ReduceLoop, GoesOnAfterAStop) {
  ReduceRig rig(leaves(9));
  rig.run(300'000);
  ASSERT_TRUE(rig.finish());
  const std::uint64_t before = rig.tally().figure("operations");
  EXPECT_GT(before, 0U);
  rig.traffic().start(rig.now);
  rig.traffic().begin_measuring(rig.now);
  rig.run(300'000);
  ASSERT_TRUE(rig.finish());
  EXPECT_GT(rig.tally().figure("operations"), 0U);
  EXPECT_EQ(rig.tally().sum(Figure::Meaning::fault), 0U);
}

TEST(ReduceLoop, SameSeedSameRun) {
  const auto figures = [](std::uint64_t seed) {
    Reduce reduce = leaves(20);
    reduce.skew = Skew::exponential;
    reduce.skew_by = std::chrono::microseconds(30);
    ReduceRig rig(reduce, 3, seed);
    rig.run(2'000'000);
    rig.finish();
    return std::pair(rig.tally().figure("operations"),
                     rig.tally().latency("operation_at_leaves")->mean());
  };
  EXPECT_EQ(figures(7), figures(7));
  EXPECT_NE(figures(7), figures(8));
}

TEST(ReduceLoop, WhatCannotBeIsRefusedWithWhatCould) {
  Placement two;
  two.ports.resize(2);
  const auto refusal = [&](const Reduce& reduce) -> std::string {
    try {
      const ReduceTraffic traffic(reduce, two, 1);
      return {};
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
  };
  Reduce reduce = leaves(0);
  EXPECT_THAT(refusal(reduce), HasSubstr("0 leaves"));
  reduce = leaves(4);
  reduce.trees = 10;
  reduce.first_tree = 8190;
  EXPECT_THAT(refusal(reduce), HasSubstr("trees 8190 to 8199"));
  reduce = leaves(4);
  reduce.operators = {"sum-int46"};
  EXPECT_THAT(refusal(reduce), HasSubstr("no operator \"sum-int46\""));
  two.first_nid = 0xFFFFE;
  EXPECT_THAT(refusal(leaves(4)), HasSubstr("NID"));
  two.first_nid = 1;
  two.ports.resize(1);
  EXPECT_THAT(refusal(leaves(4)), HasSubstr("two"));
}

} // namespace
} // namespace tributary::pktgen::traffic::test
