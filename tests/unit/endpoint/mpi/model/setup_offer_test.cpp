#include "endpoint/mpi/model/setup_offer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <vector>

namespace tributary::mpi::test {
namespace {

constexpr std::uint64_t ones = ~std::uint64_t{0};

SetupOffer offer(std::uint64_t idle, std::uint64_t vacant, std::optional<TeamKey> key = {}) {
  return {.signature = 0x1234, .idle = idle, .vacant = vacant, .key = key};
}

SetupVerdict verdict_of(const std::vector<SetupOffer>& offers) {
  SetupOffer::Words all;
  all.fill(ones);
  for (const SetupOffer& one : offers) {
    const SetupOffer::Words words = one.words();
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] &= words[i];
    }
  }
  return SetupVerdict::from(all);
}

TEST(SetupOffer, TheIdleTeamWithTheLowestNumberThatAllHaveIsTaken) {
  const auto verdict =
      verdict_of({offer(0b1110, ones, 77), offer(0b0110, ones), offer(0b1101, ones)});
  EXPECT_TRUE(verdict.alike && verdict.able && verdict.useful && verdict.untold);
  EXPECT_EQ(verdict.idle, TeamNumber{2});
  EXPECT_EQ(verdict.vacant, std::nullopt);
}

TEST(SetupOffer, WithoutACommonOneANewTeamGetsTheLowestVacantNumberAndTheKeyOfRankZero) {
  const auto verdict = verdict_of({offer(0b10, 0b1100, 77), offer(0b01, 0b1110)});
  EXPECT_EQ(verdict.idle, std::nullopt);
  EXPECT_EQ(verdict.vacant, TeamNumber{2});
  EXPECT_EQ(verdict.key, 77U);
}

TEST(SetupOffer, ThePageIsThatOfRankZero) {
  SetupOffer first = offer(0, ones, 77);
  first.page = 9;
  SetupOffer second = offer(0, ones);
  second.page = 6;
  EXPECT_EQ(verdict_of({second, first}).page, 9U);
}

TEST(SetupOffer, ARankThatOffersNothingLeavesANewTeamWithoutANumber) {
  const auto verdict = verdict_of({offer(0b1, ones, 77), offer(0, 0)});
  EXPECT_EQ(verdict.idle, std::nullopt);
  EXPECT_EQ(verdict.vacant, std::nullopt);
  EXPECT_EQ(verdict.key, 77U);
}

TEST(SetupOffer, OneRankIsEnoughForANo) {
  for (bool SetupOffer::*const answer :
       {&SetupOffer::able, &SetupOffer::useful, &SetupOffer::untold}) {
    SetupOffer one = offer(0, ones);
    one.*answer = false;
    const auto verdict = verdict_of({offer(0, ones, 77), one, offer(0, ones)});
    EXPECT_TRUE(verdict.alike);
    EXPECT_EQ(verdict.able, answer != &SetupOffer::able);
    EXPECT_EQ(verdict.useful, answer != &SetupOffer::useful);
    EXPECT_EQ(verdict.untold, answer != &SetupOffer::untold);
  }
}

TEST(SetupOffer, RanksThatBelieveDifferentThingsAreNotAlike) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    SetupOffer one = offer(1, ones, 77);
    SetupOffer other = offer(1, ones);
    one.signature = random();
    other.signature = one.signature ^ (std::uint64_t{1} << (random() % 64));
    EXPECT_FALSE(verdict_of({one, other}).alike);
  }
}

TEST(TeamNumbers, OneAgreementOwnsThemAtATime) {
  TeamNumbers numbers;
  EXPECT_TRUE(numbers.is_unused());
  EXPECT_TRUE(numbers.try_to_own());
  EXPECT_FALSE(numbers.is_unused());
  EXPECT_FALSE(numbers.try_to_own());
  numbers.disown();
  EXPECT_TRUE(numbers.try_to_own());
}

TEST(TeamNumbers, ANumberIsVacantInUseOrIdle) {
  TeamNumbers numbers;
  numbers.take(5);
  EXPECT_EQ(numbers.vacant(), ones & ~(std::uint64_t{1} << 5));
  EXPECT_EQ(numbers.idle(), 0U);
  numbers.put_aside(5);
  EXPECT_EQ(numbers.idle(), std::uint64_t{1} << 5);
  EXPECT_EQ(numbers.vacant(), ones & ~(std::uint64_t{1} << 5));
  numbers.take(5);
  EXPECT_EQ(numbers.idle(), 0U);
  numbers.give_back(5);
  EXPECT_TRUE(numbers.is_unused());
}

/// Ranks that set up and free communicators, each in an order of its own where threads allow that,
/// and give up idle teams when they like: all always have the same team for a communicator, and no
/// two communicators have one.
TEST(TeamNumbers, RanksNeverTakeDifferentTeamsForOneCommunicatorOrOneForTwo) {
  constexpr std::size_t ranks = 3;
  std::mt19937_64 random(7);
  const auto any = [&](std::size_t below) { return random() % below; };
  struct Rank {
    TeamNumbers numbers;
    std::map<TeamNumber, TeamKey> idle; ///< keys of idle teams
  };
  struct Communicator {
    std::optional<TeamNumber> number;
    TeamKey key = 0;
    std::size_t freed_at = 0; ///< ranks 0 to freed_at - 1 have freed it
  };
  std::vector<Rank> all(ranks);
  std::vector<Communicator> live;
  TeamKey next = 1;
  std::size_t reused = 0;
  for (int step = 0; step < 20'000; ++step) {
    switch (any(6)) {
    case 0: { // a set-up, which is one agreement; another one may own some ranks' numbers
      std::vector<SetupOffer> offers;
      std::vector<bool> owns;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        owns.push_back(any(10) != 0 && all[rank].numbers.try_to_own());
        offers.push_back(offer(owns[rank] ? all[rank].numbers.idle() : 0,
                               owns[rank] ? all[rank].numbers.vacant() : 0,
                               rank == 0 ? std::optional(next) : std::nullopt));
      }
      const auto verdict = verdict_of(offers);
      Communicator made{.number = verdict.idle ? verdict.idle : verdict.vacant, .key = next++};
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (verdict.idle) {
          ASSERT_TRUE(all[rank].idle.contains(*verdict.idle));
          const TeamKey key = all[rank].idle.at(*verdict.idle);
          ASSERT_TRUE(rank == 0 || key == made.key) << "ranks have different teams";
          made.key = key;
          all[rank].idle.erase(*verdict.idle);
        }
        if (made.number) {
          all[rank].numbers.take(*made.number);
        }
        if (owns[rank]) {
          all[rank].numbers.disown();
        }
      }
      for (const Communicator& other : live) {
        ASSERT_NE(other.key, made.key) << "two communicators have one team";
      }
      reused += verdict.idle ? 1 : 0;
      live.push_back(made);
      break;
    }
    case 1:
    case 2:
    case 3:
    case 4: // one rank frees a communicator; the others may do so much later
      if (!live.empty()) {
        const std::size_t which = any(live.size());
        Communicator& freed = live[which];
        Rank& rank = all[freed.freed_at++];
        if (freed.number && any(20) != 0) {
          rank.numbers.put_aside(*freed.number);
          rank.idle[*freed.number] = freed.key;
        } else if (freed.number) {
          rank.numbers.give_back(*freed.number); // as if the fabric had failed
        }
        if (freed.freed_at == ranks) {
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
        }
      }
      break;
    default: // one rank gives up an idle team; the others do so later, or never
      if (Rank& rank = all[any(ranks)]; any(10) == 0 && !rank.idle.empty()) {
        rank.numbers.give_back(rank.idle.begin()->first);
        rank.idle.erase(rank.idle.begin());
      }
      break;
    }
  }
  EXPECT_GT(reused, 100U) << "the test has no force";
}

} // namespace
} // namespace tributary::mpi::test
