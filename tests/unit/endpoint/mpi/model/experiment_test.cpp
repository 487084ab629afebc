#include "endpoint/mpi/model/experiment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tributary::mpi::test {
namespace {

/// One block, at a single rank: which path each call took, capital where it was not timed.
std::string block(Experiment& experiment, double network_us, double library_us) {
  std::string transports;
  while (!experiment.block_is_over()) {
    const Transport transport = experiment.transport();
    const std::size_t timed = experiment.times().size();
    experiment.took(transport == Transport::network ? network_us : library_us);
    const bool counts = experiment.times().size() > timed;
    transports += transport == Transport::network ? (counts ? 'n' : 'N') : (counts ? 'l' : 'L');
  }
  return transports;
}

/// The same, with its times agreed on.
std::string agreed(Experiment& experiment, double network_us, double library_us) {
  std::string transports = block(experiment, network_us, library_us);
  const std::vector<double> times(experiment.times().begin(), experiment.times().end());
  experiment.agree(times);
  return transports;
}

TEST(Experiment, AProbeOfThreeCallsDecidesAgainstAChallengerThatIsMuchSlower) {
  Experiment experiment(Experiment::Calls::brief, Transport::library);
  EXPECT_EQ(experiment.challenger(), Transport::network);
  EXPECT_EQ(agreed(experiment, 301, 100), "llllllllNnn");
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::library);
  EXPECT_EQ(experiment.comparison().medians().network_us, 301);
  EXPECT_EQ(experiment.comparison().medians().library_us, 100);
}

TEST(Experiment, AProbeDecidesForAChallengerThatIsFasterThoughItIsCold) {
  Experiment experiment(Experiment::Calls::brief, Transport::network);
  EXPECT_EQ(agreed(experiment, 130, 100), "nnnnnnnnLll");
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::library);
}

TEST(Experiment, AChallengerThatIsSlowerWhileItIsColdIsGoneUntilItIsWarm) {
  Experiment experiment(Experiment::Calls::brief, Transport::network);
  // As measured with 16 ranks and 64 KiB: the library's first five calls after others.
  EXPECT_EQ(agreed(experiment, 3'300, 4'000), "nnnnnnnnLll");
  ASSERT_FALSE(experiment.comparison().is_decided()) << "it says nothing of what follows";
  EXPECT_EQ(experiment.comparison().rounds(), 0U);
  EXPECT_TRUE(experiment.is_on_visit());
  EXPECT_EQ(agreed(experiment, 3'300, 2'100), "llllllllllll");
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::library);
  EXPECT_EQ(experiment.comparison().medians().network_us, 3'300);
  EXPECT_EQ(experiment.comparison().medians().library_us, 2'100);
}

TEST(Experiment, AChallengerThatIsAsFastWhileItIsColdHasAHundredCallsToGetWarm) {
  // As measured with 16 ranks on two nodes: the network's first calls after 800 of the library.
  Experiment experiment(Experiment::Calls::brief, Transport::library);
  agreed(experiment, 350, 230);
  for (int calls = 0; calls < 96; calls += 12) {
    ASSERT_TRUE(experiment.is_on_visit()) << calls << " calls";
    EXPECT_NEAR(experiment.next_loss(), 12.0 * (calls == 0 ? 120.0 / 230 : 5.0 / 230), 1e-9);
    EXPECT_EQ(agreed(experiment, 235, 230), "nnnnnnnnnnnn");
  }
  agreed(experiment, 130, 230);
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::network);
}

TEST(Experiment, AVisitEndsBeforeItLosesMoreThanItsLimit) {
  for (const double network_us : {110, 130, 150, 190}) {
    Experiment experiment(Experiment::Calls::brief, Transport::library);
    agreed(experiment, network_us, 100);
    int calls = 0;
    while (experiment.is_on_visit()) {
      calls += static_cast<int>(agreed(experiment, network_us, 100).size());
    }
    EXPECT_GE(calls, 12) << network_us;
    EXPECT_LE(calls * (network_us - 100) / 100, Experiment::most_lost) << network_us;
    EXPECT_EQ(experiment.comparison().rounds(), 1U) << network_us;
  }
}

TEST(Experiment, AChallengerThatLosesMoreThanThatGetsItsRunAfterAPause) {
  Experiment experiment(Experiment::Calls::brief, Transport::library);
  agreed(experiment, 250, 100);
  EXPECT_FALSE(experiment.comparison().is_decided());
  EXPECT_FALSE(experiment.is_on_visit());
  EXPECT_NEAR(experiment.next_loss(), 18 + Experiment::aftermath, 1e-9)
      << "twelve calls of one and a half more, and a library that is cold";
  EXPECT_EQ(agreed(experiment, 250, 100), "LLLLllllllllNNNNnnnnnnnn");
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::library);
}

TEST(Experiment, CloseWaysGetMoreVisitsButNotMany) {
  const auto visits = [](Experiment& experiment, double network_us) {
    int count = 0;
    for (; !experiment.comparison().is_decided(); ++count) {
      EXPECT_EQ(experiment.comparison().rounds(), static_cast<std::size_t>(count));
      agreed(experiment, network_us, 100);
      while (experiment.is_on_visit()) {
        agreed(experiment, network_us, 100);
      }
    }
    return count;
  };
  Experiment experiment(Experiment::Calls::brief, Transport::library);
  EXPECT_EQ(visits(experiment, 85), 2);
  EXPECT_EQ(experiment.comparison().winner(), Transport::network);
  Experiment tie(Experiment::Calls::brief, Transport::library);
  EXPECT_EQ(visits(tie, 95), 4);
  EXPECT_EQ(tie.comparison().winner(), Transport::library);
}

TEST(Experiment, WhatDisturbsACallOrTwoOfARunDecidesNothing) {
  Experiment experiment(Experiment::Calls::brief, Transport::library);
  agreed(experiment, 110, 110);
  block(experiment, 80, 110);
  std::vector<double> times(experiment.times().begin(), experiment.times().end());
  times[3] = times[7] = 50'000;
  experiment.agree(times);
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::network);
  EXPECT_EQ(experiment.comparison().medians().network_us, 80);
}

TEST(Experiment, OneLongCallEachWayDecidesNothing) {
  Experiment far(Experiment::Calls::lengthy, Transport::library);
  EXPECT_EQ(agreed(far, 301'000, 100'000), "ln");
  EXPECT_FALSE(far.comparison().is_decided());
  EXPECT_NEAR(far.next_loss(), 2.01, 1e-9);
  agreed(far, 301'000, 100'000);
  EXPECT_TRUE(far.comparison().is_decided());
  EXPECT_EQ(far.comparison().winner(), Transport::library);
  // As measured with 16 ranks on two nodes and 1 MiB: a library's call that was late.
  Experiment experiment(Experiment::Calls::lengthy, Transport::library);
  EXPECT_EQ(agreed(experiment, 6'500, 9'000), "ln");
  EXPECT_FALSE(experiment.comparison().is_decided());
  EXPECT_EQ(agreed(experiment, 6'500, 5'000), "nl");
  EXPECT_FALSE(experiment.comparison().is_decided());
  agreed(experiment, 6'500, 5'000);
  agreed(experiment, 6'500, 5'000);
  EXPECT_TRUE(experiment.comparison().is_decided() &&
              experiment.comparison().winner() == Transport::library);
}

TEST(Experiment, AtTheStartRoundsOfCallsEachWayDecide) {
  for (const auto& [run, round] :
       {std::pair<std::size_t, std::string>{12, "LLLLllllllllNNNNnnnnnnnn"},
        {4, "LlllNnnn"},
        {2, "LlNn"}}) {
    Experiment experiment(Experiment::Calls::at_start, Transport::library, run);
    EXPECT_EQ(experiment.block_calls(), round.size());
    for (int rounds = 0; rounds < 3; ++rounds) {
      EXPECT_FALSE(experiment.comparison().is_decided()) << rounds << " rounds";
      EXPECT_EQ(agreed(experiment, 40, 100), round);
    }
    EXPECT_TRUE(experiment.comparison().is_decided());
    EXPECT_EQ(experiment.comparison().winner(), Transport::network);
  }
}

TEST(Experiment, LongCallsTakeTurnsInBeingFirst) {
  Experiment experiment(Experiment::Calls::lengthy, Transport::library);
  EXPECT_EQ(agreed(experiment, 88, 100), "ln");
  EXPECT_EQ(experiment.comparison().medians().network_us, 88);
  EXPECT_EQ(agreed(experiment, 88, 100), "nl");
  EXPECT_EQ(experiment.comparison().medians().network_us, 88);
  EXPECT_EQ(agreed(experiment, 88, 100), "ln");
  EXPECT_TRUE(experiment.comparison().is_decided());
  EXPECT_EQ(experiment.comparison().winner(), Transport::network);
}

TEST(Experiment, WhatTheRanksAgreedOnCountsAndNotWhatOneOfThemSaw) {
  Experiment experiment(Experiment::Calls::lengthy, Transport::library);
  block(experiment, 10, 100);
  const std::vector<double> of_all(experiment.times().size(), 50);
  experiment.agree(of_all);
  EXPECT_EQ(experiment.comparison().medians().network_us, 50);
  EXPECT_EQ(experiment.comparison().medians().library_us, 50);
}

} // namespace
} // namespace tributary::mpi::test
