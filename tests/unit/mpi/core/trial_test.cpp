#include "mpi/core/trial.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tributary::mpi::test {
namespace {

/// One block, at a single rank: which way each call went, capital where it was not timed.
std::string block(Trial& trial, double network_us, double library_us) {
  std::string ways;
  while (!trial.block_is_over()) {
    const Way way = trial.way();
    const std::size_t timed = trial.times().size();
    trial.took(way == Way::network ? network_us : library_us);
    const bool counts = trial.times().size() > timed;
    ways += way == Way::network ? (counts ? 'n' : 'N') : (counts ? 'l' : 'L');
  }
  return ways;
}

TEST(Trial, TheFirstCallAfterAChangeOfWaysIsNotTimed) {
  Trial trial(Trial::Calls::brief, Way::library);
  EXPECT_EQ(block(trial, 10, 100), "LllNnnNnnLllLllNnn");
  EXPECT_EQ(trial.times().size(), 12U);
}

TEST(Trial, OfLongCallsOnlyTheLibrarysFirstIsNotTimed) {
  Trial trial(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(block(trial, 90, 100), "Lln");
  trial.agree(trial.times());
  EXPECT_EQ(block(trial, 90, 100), "nl") << "and the ways take turns in being first";
  trial.agree(trial.times());
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::network);
}

TEST(Trial, OneLongCallIsEnoughWhereTheNetworkIsClearlySlower) {
  Trial trial(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(block(trial, 250'000, 50'000), "Lln");
  trial.agree(trial.times());
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
}

TEST(Trial, ItsRoundsHaveTheMeanTimesOfEachWay) {
  for (const auto calls : {Trial::Calls::brief, Trial::Calls::lengthy}) {
    Trial trial(calls, Way::library);
    block(trial, 10, 70);
    trial.agree(trial.times());
    EXPECT_EQ(trial.contest().rounds(), calls == Trial::Calls::brief ? 3U : 1U);
    EXPECT_EQ(trial.contest().medians().network_us, 10);
    EXPECT_EQ(trial.contest().medians().library_us, 70);
    EXPECT_TRUE(trial.contest().is_decided());
    EXPECT_EQ(trial.contest().winner(), Way::network);
  }
}

TEST(Trial, GoesOnForAsManyBlocksAsCloseWaysNeed) {
  Trial trial(Trial::Calls::brief, Way::library);
  int blocks = 0;
  while (!trial.contest().is_decided()) {
    block(trial, 85, 100);
    trial.agree(trial.times());
    ++blocks;
  }
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(trial.contest().winner(), Way::network);
}

TEST(Trial, WhatTheRanksAgreedOnCountsAndNotWhatOneOfThemSaw) {
  Trial trial(Trial::Calls::brief, Way::library);
  block(trial, 10, 100);
  const std::vector<double> of_all(trial.times().size(), 50);
  trial.agree(of_all);
  EXPECT_EQ(trial.contest().medians().network_us, 50);
  EXPECT_EQ(trial.contest().medians().library_us, 50);
}

} // namespace
} // namespace tributary::mpi::test
