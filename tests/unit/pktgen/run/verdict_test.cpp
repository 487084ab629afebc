// What makes a run a failure, and what only causes a warning.
#include "pktgen/run/verdict.hpp"

#include "pktgen/run/derived.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tributary::pktgen::run {

using result::Result;
using scenario::Kind;
using scenario::Scenario;

namespace {

using enum measure::Figure::Meaning;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run of that many equal measurements with these figures.
Result run_with(std::vector<measure::Figure> figures, std::size_t repeats = 1) {
  Result result;
  for (std::size_t i = 0; i < repeats; ++i) {
    result::Measurement& measured = result.repeats.emplace_back();
    measured.seconds = 1;
    measured.tally.sent = {100, 9800};
    measured.tally.received = {100, 9800};
    measured.tally.figures = figures;
  }
  return result;
}

Scenario of(Kind kind) {
  Scenario scenario;
  scenario.traffic.kind = kind;
  return scenario;
}

TEST(Verdict, RunThatWentWellHasNeitherProblemsNorWarnings) {
  Result result = run_with({{"operations", 10}, {"operations_at_leaves", 40}});
  add_verdict(of(Kind::reduce), result);
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(Verdict, OfReductionsNotOneOfWhichCameToItsEndIsAFailure) {
  Result result = run_with({{"operations", 0}, {"operations_at_leaves", 0}}, 3);
  result.repeats[1].tally.figures[0].value = 5;
  add_verdict(of(Kind::reduce), result);
  EXPECT_THAT(result.problems, ElementsAre(AllOf(HasSubstr("in 2 of 3 measurements"),
                                                 HasSubstr("not one operation was completed"))));
}

TEST(Verdict, OfTransfersNotOneOfWhichWasCompletedIsAFailureOnEitherEnd) {
  for (const auto& figures : std::vector<std::vector<measure::Figure>>{
           {{"transfers", 0}, {"digest_errors", 0}},
           {{"writes_arrived", 0}, {"reads_served", 0}, {"digest_errors", 0}}}) {
    Result result = run_with(figures);
    add_verdict(of(Kind::rdma), result);
    EXPECT_THAT(result.problems, ElementsAre(HasSubstr("not one transfer was completed")));
    result = run_with(figures);
    result.repeats[0].tally.figures[0].value = 1;
    add_verdict(of(Kind::rdma), result);
    EXPECT_THAT(result.problems, IsEmpty());
  }
}

TEST(Derived, OfTransfersAreGoodputAndSharesOfFrames) {
  Result result = run_with({{"transfers", 2},
                            {"payload_bytes", 1'000},
                            {"data_frames", 100},
                            {"resent_frames", 5},
                            {"control_frames", 2}});
  result.kind = "rdma";
  result.repeats[0].seconds = 2;
  add_derived(of(Kind::rdma), result);
  ASSERT_EQ(result.derived.size(), 3U);
  EXPECT_EQ(result.derived[0].first, "goodput_bits_per_second");
  EXPECT_THAT(result.derived[0].second, ElementsAre(4'000));
  EXPECT_THAT(result.derived[1].second, ElementsAre(0.05));
  EXPECT_THAT(result.derived[2].second, ElementsAre(0.02));
}

TEST(Derived, SharesOfDataFramesNeedDataFrames) {
  Result result = run_with({{"writes_arrived", 2},
                            {"bytes_arrived", 1'000},
                            {"data_frames", 0},
                            {"resent_frames", 0},
                            {"control_frames", 2}});
  result.kind = "rdma";
  add_derived(of(Kind::rdma), result);
  ASSERT_EQ(result.derived.size(), 1U);
  EXPECT_EQ(result.derived[0].first, "goodput_bits_per_second");
}

TEST(Derived, OfVectorsAreTheBytesOfOneLeafAndOfAll) {
  Result result = run_with({{"operations", 2},
                            {"payload_bytes", 8'000},
                            {"payload_bytes_at_leaves", 120'000},
                            {"reductions", 4},
                            {"frames_that_made_reductions", 4}});
  result.kind = "reduce";
  result.repeats[0].seconds = 2;
  scenario::Scenario scenario = of(Kind::reduce);
  scenario.traffic.reduce.leaves = 10;
  Result at_leaves = result;
  add_derived(scenario, result);
  ASSERT_GE(result.derived.size(), 2U);
  EXPECT_EQ(result.derived[0].first, "leaf_payload_bytes_per_second");
  EXPECT_THAT(result.derived[0].second, ElementsAre(4'000));
  EXPECT_EQ(result.derived[1].first, "total_payload_bytes_per_second");
  EXPECT_THAT(result.derived[1].second, ElementsAre(40'000));
  scenario.traffic.reduce.role = scenario::Role::leaves;
  add_derived(scenario, at_leaves);
  EXPECT_THAT(at_leaves.derived.at(0).second, ElementsAre(6'000));
}

TEST(Derived, OperationsOfTransfersAreThoseDoneOrServed) {
  Scenario scenario = of(Kind::rdma);
  measure::Tally tally;
  tally.figures = {{"transfers", 7}, {"writes_arrived", 2}, {"reads_served", 3}};
  EXPECT_EQ(operations_in(scenario, tally), 7U);
  scenario.traffic.rdma.serve = true;
  EXPECT_EQ(operations_in(scenario, tally), 5U);
}

TEST(Verdict, OfAGeneratorThatHasTheLeavesAloneTheirsCount) {
  Result result = run_with({{"operations", 0}, {"operations_at_leaves", 7}});
  add_verdict(of(Kind::reduce), result);
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(Verdict, StreamOfWhichNothingCameBackIsAFailureHoweverMuchMayBeLost) {
  Result result = run_with({{"expected", 100}, {"lost", 100, loss}});
  add_verdict(of(Kind::unicast), result);
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("nothing came back of 100 frames")));
  Result some = run_with({{"expected", 100}, {"lost", 99, loss}});
  add_verdict(of(Kind::unicast), some);
  EXPECT_THAT(some.problems, IsEmpty());
}

TEST(Verdict, MeasurementThatWasCutShortIsNotJudged) {
  Result result = run_with({{"operations", 0}, {"operations_at_leaves", 0}});
  result.repeats[0].cut_short = true;
  add_verdict(of(Kind::reduce), result);
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(Verdict, MoreLossThanAllowedIsAFailure) {
  Scenario scenario = of(Kind::unicast);
  scenario.phases.max_loss = 0.01;
  Result kept = run_with({{"expected", 1000}, {"lost", 10, loss}});
  add_verdict(scenario, kept);
  EXPECT_THAT(kept.problems, IsEmpty());
  Result broken = run_with({{"expected", 1000}, {"lost", 11, loss}}, 2);
  broken.repeats[0].tally.figures[1].value = 0;
  add_verdict(scenario, broken);
  EXPECT_THAT(broken.problems,
              ElementsAre("in 1 of 2 measurements: 1.1 % was lost, and --max-loss allows 1 %"));
}

TEST(Verdict, LossOfSeveralTrafficsIsTheirsTogether) {
  Scenario scenario = of(Kind::mixed);
  scenario.parts.resize(2);
  scenario.parts[1].kind = Kind::unicast;
  scenario.phases.max_loss = 0.04;
  Result result = run_with({{"reduce.operations", 90},
                            {"reduce.operations_missed", 10, loss},
                            {"reduce.sent", 50},
                            {"unicast.expected", 100},
                            {"unicast.lost", 0, loss},
                            {"unicast.sent", 50}});
  add_verdict(scenario, result);
  EXPECT_THAT(result.problems, ElementsAre(HasSubstr("5 % was lost")));
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(Verdict, PartThatMissedItsShareIsNamedWithTheReason) {
  Scenario scenario = of(Kind::mixed);
  scenario.parts.resize(2);
  scenario.parts[0].share = 3;
  scenario.parts[0].reduce.rate = 10;
  scenario.parts[1].kind = Kind::unicast;
  Result result = run_with({{"reduce.operations", 1},
                            {"reduce.sent", 2},
                            {"unicast.expected", 98},
                            {"unicast.sent", 98}});
  add_verdict(scenario, result);
  EXPECT_THAT(result.warnings,
              ElementsAre(AllOf(HasSubstr("reduce sent 2 % of the frames, not 75 %"),
                                HasSubstr("its own rate has precedence")),
                          HasSubstr("unicast sent 98 % of the frames, not 25 %")));
  EXPECT_THAT(result.problems, IsEmpty());
}

TEST(Verdict, ArmFailuresOfTheSwitchAreWarnedOf) {
  Result result = run_with({{"operations", 10}}, 2);
  result.repeats[0].switch_figures.emplace().arm_failures = 3;
  result.repeats[1].switch_figures.emplace().arm_failures = 4;
  add_verdict(of(Kind::reduce), result);
  EXPECT_THAT(result.warnings, ElementsAre(AllOf(HasSubstr("could not arm 7 times"),
                                                 HasSubstr("descriptors_per_engine"))));
}

TEST(Verdict, SearchThatARateNotKeptBoundsSaysSo) {
  const result::SearchStep passed{100, {}, 100, 0, true, true};
  const result::SearchStep lossy{200, {}, 200, 0.1, true, false};
  const result::SearchStep slow{150, {}, 120, 0, false, false};
  Result result;
  result.search = result::SearchResult{100, {lossy, slow, passed}, {}, {}};
  add_verdict(of(Kind::unicast), result);
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("150 operations a second were not kept")));
  Result honest;
  honest.search = result::SearchResult{100, {slow, lossy, passed}, {}, {}};
  std::swap(honest.search->steps[0].rate, honest.search->steps[1].rate);
  add_verdict(of(Kind::unicast), honest);
  EXPECT_THAT(honest.warnings, IsEmpty()) << "what was lost bounds it";
}

} // namespace
} // namespace tributary::pktgen::run
