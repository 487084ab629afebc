#include "endpoint/mpi/model/trial.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::mpi::test {
namespace {

/// One block, at a single rank: which path each call took, capital where it was not timed.
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

/// The same, with its times agreed on.
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

TEST(Trial, AChallengerThatIsSlowerWhileItIsColdIsGoneUntilItIsWarm) {
  Trial trial(Trial::Calls::brief, Way::network);
  // As measured with 16 ranks and 64 KiB: the library's first five calls after others.
  EXPECT_EQ(agreed(trial, 3'300, 4'000), "nnnnnnnnLll");
  ASSERT_FALSE(trial.contest().is_decided()) << "it says nothing of what follows";
  EXPECT_EQ(trial.contest().rounds(), 0U);
  EXPECT_TRUE(trial.is_on_visit());
  EXPECT_EQ(agreed(trial, 3'300, 2'100), "llllllllllll");
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
  EXPECT_EQ(trial.contest().medians().network_us, 3'300);
  EXPECT_EQ(trial.contest().medians().library_us, 2'100);
}

TEST(Trial, AChallengerThatIsAsFastWhileItIsColdHasAHundredCallsToGetWarm) {
  // As measured with 16 ranks on two nodes: the network's first calls after 800 of the library.
  Trial trial(Trial::Calls::brief, Way::library);
  agreed(trial, 350, 230);
  for (int calls = 0; calls < 96; calls += 12) {
    ASSERT_TRUE(trial.is_on_visit()) << calls << " calls";
    EXPECT_NEAR(trial.next_loss(), 12.0 * (calls == 0 ? 120.0 / 230 : 5.0 / 230), 1e-9);
    EXPECT_EQ(agreed(trial, 235, 230), "nnnnnnnnnnnn");
  }
  agreed(trial, 130, 230);
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::network);
}

TEST(Trial, AVisitEndsBeforeItLosesMoreThanItsPatience) {
  for (const double network_us : {110, 130, 150, 190}) {
    Trial trial(Trial::Calls::brief, Way::library);
    agreed(trial, network_us, 100);
    int calls = 0;
    while (trial.is_on_visit()) {
      calls += static_cast<int>(agreed(trial, network_us, 100).size());
    }
    EXPECT_GE(calls, 12) << network_us;
    EXPECT_LE(calls * (network_us - 100) / 100, Trial::most_lost) << network_us;
    EXPECT_EQ(trial.contest().rounds(), 1U) << network_us;
  }
}

TEST(Trial, AChallengerThatLosesMoreThanThatGetsItsRunAfterAPause) {
  Trial trial(Trial::Calls::brief, Way::library);
  agreed(trial, 250, 100);
  EXPECT_FALSE(trial.contest().is_decided());
  EXPECT_FALSE(trial.is_on_visit());
  EXPECT_NEAR(trial.next_loss(), 18 + Trial::aftermath, 1e-9)
      << "twelve calls of one and a half more, and a library that is cold";
  EXPECT_EQ(agreed(trial, 250, 100), "LLLLllllllllNNNNnnnnnnnn");
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::library);
}

TEST(Trial, CloseWaysGetMoreVisitsButNotMany) {
  const auto visits = [](Trial& trial, double network_us) {
    int count = 0;
    for (; !trial.contest().is_decided(); ++count) {
      EXPECT_EQ(trial.contest().rounds(), static_cast<std::size_t>(count));
      agreed(trial, network_us, 100);
      while (trial.is_on_visit()) {
        agreed(trial, network_us, 100);
      }
    }
    return count;
  };
  Trial trial(Trial::Calls::brief, Way::library);
  EXPECT_EQ(visits(trial, 85), 2);
  EXPECT_EQ(trial.contest().winner(), Way::network);
  Trial tie(Trial::Calls::brief, Way::library);
  EXPECT_EQ(visits(tie, 95), 4);
  EXPECT_EQ(tie.contest().winner(), Way::library);
}

TEST(Trial, WhatDisturbsACallOrTwoOfARunDecidesNothing) {
  Trial trial(Trial::Calls::brief, Way::library);
  agreed(trial, 110, 110);
  block(trial, 80, 110);
  std::vector<double> times(trial.times().begin(), trial.times().end());
  times[3] = times[7] = 50'000;
  trial.agree(times);
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::network);
  EXPECT_EQ(trial.contest().medians().network_us, 80);
}

TEST(Trial, OneLongCallEachWayDecidesOnlyByFar) {
  Trial far(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(agreed(far, 301'000, 100'000), "ln");
  EXPECT_TRUE(far.contest().is_decided());
  EXPECT_EQ(far.contest().winner(), Way::library);
  // As measured with 16 ranks on two nodes and 1 MiB: a library's call that was late.
  Trial trial(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(agreed(trial, 6'500, 9'000), "ln");
  EXPECT_FALSE(trial.contest().is_decided());
  EXPECT_EQ(agreed(trial, 6'500, 5'000), "nl");
  EXPECT_FALSE(trial.contest().is_decided());
  agreed(trial, 6'500, 5'000);
  agreed(trial, 6'500, 5'000);
  EXPECT_TRUE(trial.contest().is_decided() && trial.contest().winner() == Way::library);
}

TEST(Trial, LongCallsTakeTurnsInBeingFirst) {
  Trial trial(Trial::Calls::lengthy, Way::library);
  EXPECT_EQ(agreed(trial, 88, 100), "ln");
  EXPECT_EQ(trial.contest().medians().network_us, 88);
  EXPECT_EQ(agreed(trial, 88, 100), "nl");
  EXPECT_EQ(trial.contest().medians().network_us, 88);
  EXPECT_EQ(agreed(trial, 88, 100), "ln");
  EXPECT_TRUE(trial.contest().is_decided());
  EXPECT_EQ(trial.contest().winner(), Way::network);
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
