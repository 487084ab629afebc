#include "endpoint/mpi/model/contest.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tributary::mpi::test {
namespace {

/// Rounds until it is decided.
template <typename Next> Contest held(Next&& next, Way before = Way::library) {
  Contest contest(before);
  while (!contest.is_decided()) {
    contest.add(next());
  }
  return contest;
}

TEST(Contest, ThreeRoundsDecideWhatIsClear) {
  const Contest won = held([] { return Round{.network_us = 40, .library_us = 100}; });
  EXPECT_EQ(won.rounds(), 3U);
  EXPECT_EQ(won.winner(), Way::network);
  const Contest lost = held([] { return Round{.network_us = 100, .library_us = 40}; });
  EXPECT_EQ(lost.rounds(), 3U);
  EXPECT_EQ(lost.winner(), Way::library);
}

TEST(Contest, CloseWaysGetMoreRounds) {
  const Contest close = held([] { return Round{.network_us = 85, .library_us = 100}; });
  EXPECT_EQ(close.rounds(), 5U);
  EXPECT_EQ(close.winner(), Way::network);
}

TEST(Contest, ATieIsTheLibrarysAtFirstAndLaterWhoseItWas) {
  const auto tie = [] { return Round{.network_us = 95, .library_us = 100}; };
  EXPECT_EQ(held(tie).rounds(), Contest::Rules{}.most_rounds);
  EXPECT_EQ(held(tie).winner(), Way::library);
  EXPECT_EQ(held(tie, Way::network).winner(), Way::network);
  // Without any gain the library is chosen, whichever was chosen before.
  EXPECT_EQ(held([] { return Round{.network_us = 100, .library_us = 100}; }, Way::network).winner(),
            Way::library);
}

TEST(Contest, WithoutRoundsNothingChanges) {
  EXPECT_EQ(Contest().winner(), Way::library);
  EXPECT_EQ(Contest(Way::network).winner(), Way::network);
  EXPECT_FALSE(Contest().is_decided());
  EXPECT_EQ(Contest().medians().network_us, 0);
}

TEST(Contest, ARoundBeyondDoubtDecidesAloneWhereThatIsARule) {
  const Contest::Rules rules{.beyond_doubt = 3};
  for (const double other_us : {301.0, 299.0}) {
    Contest lost(Way::library, rules);
    lost.add({.network_us = other_us, .library_us = 100});
    EXPECT_EQ(lost.is_decided(), other_us > 300);
    EXPECT_EQ(lost.winner(), Way::library);
    Contest won(Way::library, rules);
    won.add({.network_us = 100, .library_us = other_us});
    EXPECT_EQ(won.is_decided(), other_us > 300);
    EXPECT_EQ(won.winner(), Way::network);
  }
}

TEST(Contest, ARoundThatWasDisturbedDecidesNothing) {
  int n = 0;
  const Contest contest = held([&] {
    return ++n == 1 ? Round{.network_us = 5'000, .library_us = 100}
                    : Round{.network_us = 60, .library_us = 100};
  });
  EXPECT_EQ(contest.winner(), Way::network);
  EXPECT_EQ(contest.rounds(), 8U);
  EXPECT_EQ(contest.medians().network_us, 60);
}

TEST(Contest, ARankThatIsLateNowAndThenBothWaysDoesNotMatter) {
  // The slowest rank determines the time of a round: it is late in every third turn, for either
  // path.
  int turn = 0;
  const auto late = [&] { return ++turn % 3 == 0 ? 2'000.0 : 0.0; };
  const Contest contest = held([&] {
    const double network = 60 + late();
    return Round{.network_us = network, .library_us = 100 + late()};
  });
  EXPECT_EQ(contest.winner(), Way::network);
}

TEST(Contest, NoiseOfFortyPercentRarelyMisleads) {
  constexpr int contests = 1'000;
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.4);
  const auto wrong = [&](double network_us, Way right) {
    int count = 0;
    for (int i = 0; i < contests; ++i) {
      const Contest contest = held([&] {
        return Round{.network_us = network_us * noise(random), .library_us = 100 * noise(random)};
      });
      count += contest.winner() != right ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(wrong(56, Way::network), contests / 50); // the barrier of eight nodes
  EXPECT_LT(wrong(150, Way::library), contests / 50);
}

TEST(Contest, OfTwoModesTheMoreFrequentDecides) {
  // The library takes 60 us or 300 us by turns of its connections, the network 100 us.
  std::mt19937 random(3);
  const auto bimodal = [&](double slow_share) {
    std::bernoulli_distribution slow(slow_share);
    int network = 0;
    for (int i = 0; i < 200; ++i) {
      const Contest contest =
          held([&] { return Round{.network_us = 100, .library_us = slow(random) ? 300.0 : 60.0}; });
      network += contest.winner() == Way::network ? 1 : 0;
    }
    return network;
  };
  EXPECT_GT(bimodal(0.8), 180);
  EXPECT_LT(bimodal(0.1), 20);
}

} // namespace
} // namespace tributary::mpi::test
