#include "mpi/core/trial.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

/// The same, and what it took is agreed on.
std::string agreed(Trial& trial, double network_us, double library_us) {
  std::string ways = block(trial, network_us, library_us);
  const std::vector<double> times(trial.times().begin(), trial.times().end());
  trial.agree(times);
  return ways;
}

TEST(Trial, AProbeOfThreeCallsDecidesAgainstAChallengerThatIsMuchSlower) {
  Trial trial(Trial::Calls::brief, Way::library);
  EXPECT_EQ(trial.challenger(), Way::network);
  EXPECT_EQ(agreed(trial, 301, 100), "llllllllNnn");
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
  EXPECT_EQ(trial.contest().medians().network_us, 301);
  EXPECT_EQ(trial.contest().medians().library_us, 100);
}

TEST(Trial, AProbeDecidesForAChallengerThatIsFasterThoughItIsCold) {
  Trial trial(Trial::Calls::brief, Way::network);
  EXPECT_EQ(agreed(trial, 130, 100), "nnnnnnnnLll");
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
}

TEST(Trial, AChallengerThatIsSlowerWhileItIsColdGetsARunOfCalls) {
  Trial trial(Trial::Calls::brief, Way::network);
  // As measured with 16 ranks and 64 KiB: the library's first five calls after others.
  EXPECT_EQ(block(trial, 3'300, 4'000), "nnnnnnnnLll");
  trial.agree(std::vector<double>(trial.times().begin(), trial.times().end()));
  ASSERT_FALSE(trial.contest().is_decided()) << "it says nothing of what follows";
  EXPECT_EQ(trial.contest().rounds(), 0U);
  std::string ways;
  int library_calls = 0;
  while (!trial.block_is_over()) {
    const bool library = trial.way() == Way::library;
    const bool cold = library && library_calls < 4;
    library_calls += library ? 1 : 0;
    const std::size_t timed = trial.times().size();
    trial.took(!library ? 3'300 : cold ? 4'000 : 2'100);
    const bool counts = trial.times().size() > timed;
    ways += library ? (counts ? 'l' : 'L') : (counts ? 'n' : 'N');
  }
  EXPECT_EQ(ways, "NNNNnnnnnnnnLLLLllllllll");
  trial.agree(std::vector<double>(trial.times().begin(), trial.times().end()));
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
  EXPECT_EQ(trial.contest().medians().library_us, 2'100);
}

TEST(Trial, CloseWaysGetMoreRoundsButNotMany) {
  Trial trial(Trial::Calls::brief, Way::library);
  int blocks = 0;
  for (; !trial.contest().is_decided(); ++blocks) {
    agreed(trial, 85, 100);
  }
  EXPECT_EQ(blocks, 3) << "the probe, and two rounds";
  EXPECT_EQ(trial.contest().winner(), Way::network);
  Trial tie(Trial::Calls::brief, Way::library);
  for (blocks = 0; !tie.contest().is_decided(); ++blocks) {
    agreed(tie, 95, 100);
  }
  EXPECT_EQ(blocks, 5);
  EXPECT_EQ(tie.contest().winner(), Way::library);
}

TEST(Trial, WhatDisturbsACallOrTwoOfARunDecidesNothing) {
  Trial trial(Trial::Calls::brief, Way::library);
  agreed(trial, 100, 100);
  block(trial, 80, 110);
  std::vector<double> times(trial.times().begin(), trial.times().end());
  times[9] = times[13] = 50'000; // of the network
  trial.agree(times);
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::network);
  EXPECT_EQ(trial.contest().medians().network_us, 80);
}

TEST(Trial, OfLongCallsOneEachWayIsEnoughWhereItIsClear) {
  Trial trial(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(agreed(trial, 250'000, 190'000), "ln");
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
}

TEST(Trial, CloseLongCallsTakeTurnsInBeingFirst) {
  Trial trial(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(agreed(trial, 88, 100), "ln");
  EXPECT_EQ(trial.contest().medians().network_us, 88);
  EXPECT_EQ(agreed(trial, 88, 100), "nl");
  EXPECT_EQ(trial.contest().medians().network_us, 88);
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::network);
}

TEST(Trial, TheNextBlockLosesWhatTheChallengerTakesLonger) {
  Trial trial(Trial::Calls::brief, Way::library);
  agreed(trial, 150, 100);
  EXPECT_NEAR(trial.next_loss(), 6 + Trial::aftermath, 1e-9)
      << "twelve calls of half a call more, and a library that is cold";
  Trial faster(Trial::Calls::brief, Way::library);
  agreed(faster, 90, 100);
  EXPECT_EQ(faster.next_loss(), 0);
}

TEST(Trial, WhatTheRanksAgreedOnCountsAndNotWhatOneOfThemSaw) {
  Trial trial(Trial::Calls::lengthy, Way::library);
  block(trial, 10, 100);
  const std::vector<double> of_all(trial.times().size(), 50);
  trial.agree(of_all);
  EXPECT_EQ(trial.contest().medians().network_us, 50);
  EXPECT_EQ(trial.contest().medians().library_us, 50);
}

} // namespace
} // namespace tributary::mpi::test
