#include "pktgen/measure/tally.hpp"

#include <gtest/gtest.h>

namespace tributary::pktgen::measure {
namespace {

Tally some_tally() {
  Tally tally;
  tally.sent = {10, 840};
  tally.received = {9, 756};
  tally.figures = {{"reductions", 5, Figure::Meaning::count},
                   {"lost", 1, Figure::Meaning::loss},
                   {"wrong_results", 2, Figure::Meaning::fault}};
  tally.latencies.push_back({"round_trip", {}});
  tally.latencies[0].histogram.record(100);
  tally.remarks = {"first"};
  return tally;
}

TEST(tally_merge, adds_volumes_figures_and_latencies_by_name_in_any_order) {
  Tally ours = some_tally();
  Tally theirs;
  theirs.sent = {1, 84};
  theirs.figures = {{"lost", 3, Figure::Meaning::loss}, {"reductions", 2, Figure::Meaning::count}};
  theirs.latencies.push_back({"round_trip", {}});
  theirs.latencies[0].histogram.record(300);
  ours.merge(theirs);
  EXPECT_EQ(ours.sent.frames, 11U);
  EXPECT_EQ(ours.sent.bytes, 924U);
  EXPECT_EQ(ours.received.frames, 9U);
  EXPECT_EQ(ours.figure("lost"), 4U);
  EXPECT_EQ(ours.figure("reductions"), 7U);
  EXPECT_EQ(ours.figures.size(), 3U);
  ASSERT_EQ(ours.latencies.size(), 1U);
  EXPECT_EQ(ours.latency("round_trip")->count(), 2U);
  EXPECT_EQ(ours.latency("round_trip")->max(), 300U);
}

TEST(tally_merge, takes_over_what_only_the_other_has) {
  Tally ours;
  ours.merge(some_tally());
  EXPECT_EQ(ours.figure("wrong_results"), 2U);
  EXPECT_EQ(ours.sum(Figure::Meaning::fault), 2U);
  ASSERT_NE(ours.latency("round_trip"), nullptr);
  EXPECT_EQ(ours.latency("round_trip")->count(), 1U);
  EXPECT_EQ(ours.remarks, std::vector<std::string>{"first"});
}

TEST(tally_merge, keeps_the_first_remarks_when_there_are_too_many) {
  Tally ours = some_tally();
  Tally theirs;
  theirs.remarks.assign(Tally::most_remarks, "another");
  ours.merge(theirs);
  EXPECT_EQ(ours.remarks.size(), Tally::most_remarks);
  EXPECT_EQ(ours.remarks.front(), "first");
}

TEST(tally, what_is_not_there_is_zero_or_null) {
  const Tally tally = some_tally();
  EXPECT_EQ(tally.figure("reordered"), 0U);
  EXPECT_EQ(tally.latency("reordered"), nullptr);
}

TEST(tally, sums_are_by_meaning) {
  Tally tally = some_tally();
  tally.figures.push_back({"duplicates", 4, Figure::Meaning::fault});
  EXPECT_EQ(tally.sum(Figure::Meaning::fault), 6U);
  EXPECT_EQ(tally.sum(Figure::Meaning::loss), 1U);
  EXPECT_EQ(tally.sum(Figure::Meaning::count), 5U);
}

} // namespace
} // namespace tributary::pktgen::measure
