#include "endpoint/mpi/model/comparison.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tributary::mpi::test {
namespace {

/// Rounds until it is decided.
template <typename Next> Comparison held(Next&& next, Transport before = Transport::library) {
  Comparison comparison(before);
  while (!comparison.is_decided()) {
    comparison.add(next());
  }
  return comparison;
}

TEST(Comparison, ThreeRoundsDecideWhatIsClear) {
  const Comparison won = held([] { return Round{.network_us = 40, .library_us = 100}; });
  EXPECT_EQ(won.rounds(), 3U);
  EXPECT_EQ(won.winner(), Transport::network);
  const Comparison lost = held([] { return Round{.network_us = 100, .library_us = 40}; });
  EXPECT_EQ(lost.rounds(), 3U);
  EXPECT_EQ(lost.winner(), Transport::library);
}

TEST(Comparison, CloseWaysGetMoreRounds) {
  const Comparison close = held([] { return Round{.network_us = 85, .library_us = 100}; });
  EXPECT_EQ(close.rounds(), 5U);
  EXPECT_EQ(close.winner(), Transport::network);
}

TEST(Comparison, ATieIsTheLibrarysAtFirstAndLaterWhoseItWas) {
  const auto tie = [] { return Round{.network_us = 95, .library_us = 100}; };
  EXPECT_EQ(held(tie).rounds(), Comparison::Rules{}.most_rounds);
  EXPECT_EQ(held(tie).winner(), Transport::library);
  EXPECT_EQ(held(tie, Transport::network).winner(), Transport::network);
  // Without any gain the library is chosen, whichever was chosen before.
  EXPECT_EQ(
      held([] { return Round{.network_us = 100, .library_us = 100}; }, Transport::network).winner(),
      Transport::library);
}

TEST(Comparison, WithoutRoundsNothingChanges) {
  EXPECT_EQ(Comparison().winner(), Transport::library);
  EXPECT_EQ(Comparison(Transport::network).winner(), Transport::network);
  EXPECT_FALSE(Comparison().is_decided());
  EXPECT_EQ(Comparison().medians().network_us, 0);
}

TEST(Comparison, ARoundThatWasDisturbedDecidesNothing) {
  int n = 0;
  const Comparison comparison = held([&] {
    return ++n == 1 ? Round{.network_us = 5'000, .library_us = 100}
                    : Round{.network_us = 60, .library_us = 100};
  });
  EXPECT_EQ(comparison.winner(), Transport::network);
  EXPECT_EQ(comparison.rounds(), 8U);
  EXPECT_EQ(comparison.medians().network_us, 60);
}

TEST(Comparison, ARankThatIsLateNowAndThenBothWaysDoesNotMatter) {
  // The slowest rank determines the time of a round: it is late in every third turn, for either
  // path.
  int turn = 0;
  const auto late = [&] { return ++turn % 3 == 0 ? 2'000.0 : 0.0; };
  const Comparison comparison = held([&] {
    const double network = 60 + late();
    return Round{.network_us = network, .library_us = 100 + late()};
  });
  EXPECT_EQ(comparison.winner(), Transport::network);
}

TEST(Comparison, NoiseOfFortyPercentRarelyMisleads) {
  constexpr int comparisons = 1'000;
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.4);
  const auto wrong = [&](double network_us, Transport right) {
    int count = 0;
    for (int i = 0; i < comparisons; ++i) {
      const Comparison comparison = held([&] {
        return Round{.network_us = network_us * noise(random), .library_us = 100 * noise(random)};
      });
      count += comparison.winner() != right ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(wrong(56, Transport::network), comparisons / 50); // the barrier of eight nodes
  EXPECT_LT(wrong(150, Transport::library), comparisons / 50);
}

TEST(Comparison, OfTwoModesTheMoreFrequentDecides) {
  // The library takes 60 us or 300 us by turns of its connections, the network 100 us.
  std::mt19937 random(3);
  const auto bimodal = [&](double slow_share) {
    std::bernoulli_distribution slow(slow_share);
    int network = 0;
    for (int i = 0; i < 200; ++i) {
      const Comparison comparison =
          held([&] { return Round{.network_us = 100, .library_us = slow(random) ? 300.0 : 60.0}; });
      network += comparison.winner() == Transport::network ? 1 : 0;
    }
    return network;
  };
  EXPECT_GT(bimodal(0.8), 180);
  EXPECT_LT(bimodal(0.1), 20);
}

} // namespace
} // namespace tributary::mpi::test
