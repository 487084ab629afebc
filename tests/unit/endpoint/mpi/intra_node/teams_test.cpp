// Teams as ranks see them that lead no node. What leaders do besides, they do at the fabric manager
// (tests/hosts/test_communicators.py).
#include "endpoint/mpi/intra_node/teams.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace tributary::mpi::intra_node::test {
namespace {

constexpr std::uint64_t ones = ~std::uint64_t{0};

struct Process {
  Connections connections{[](const std::string&) {}};
  Teams teams{connections};
  int shapes = 0; ///< computed

  RankSet& ranks(RankList list) {
    return teams.of(std::move(list), [this] {
      ++shapes;
      return Shape{.places = {{.node = 0, .rank = 0}, {.node = 0, .rank = 1}}, .leaders = {0}};
    });
  }
  TeamUse make(RankSet& ranks, std::optional<TeamNumber> number, const TeamNeed& has = {}) {
    if (number) {
      teams.take_vacant(ranks, *number);
    }
    TeamUse use{.team = std::make_shared<Team>(teams.new_key(), node::Arena::alone(4096), 1),
                .label = std::make_shared<Label>(),
                .ranks = &ranks,
                .number = number,
                .has_long_parts = has.long_parts};
    constexpr std::uint32_t full_ids = 8;
    const auto first = static_cast<std::uint8_t>(has.half ? 0 : 64);
    use.history = contexts::CallHistory({ReductionId{first}, full_ids}, full_ids);
    teams.begin_use(use);
    return use;
  }
};

TEST(Teams, TheNextCommunicatorOfTheSameRanksGetsTheTeam) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  RankSet& others = process.ranks({2, 1});
  TeamUse use = process.make(ranks, 0);
  const TeamKey key = use.team->key();
  EXPECT_EQ(process.teams.offer(ranks, {}).idle(), 0U) << "it is in use";
  process.teams.put_aside(std::move(use));
  EXPECT_EQ(process.teams.offer(others, {}).idle(), 0U) << "of ranks in another order";
  EXPECT_EQ(process.teams.offer(ranks, {.long_parts = true}).idle(), 0U) << "its parts are short";
  {
    const Teams::Offer offer = process.teams.offer(ranks, {});
    EXPECT_EQ(offer.idle(), 1U);
    EXPECT_EQ(offer.vacant(), ones - 1);
    use = process.teams.take(ranks, 0);
  }
  EXPECT_EQ(use.team->key(), key);
  EXPECT_EQ(process.teams.offer(ranks, {}).idle(), 0U);
  process.teams.put_aside(std::move(use));
}

TEST(Teams, ACommunicatorWithLongCallsIsOfferedThoseThatAreBetterForThem) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  TeamNumber number = 0;
  for (const TeamNeed has :
       {TeamNeed{}, TeamNeed{.half = true}, TeamNeed{.long_parts = true}, TeamNeed{true, true}}) {
    process.teams.put_aside(process.make(ranks, number++, has));
  }
  EXPECT_EQ(process.teams.offer(ranks, {}).idle(), 0b1111U);
  EXPECT_EQ(process.teams.offer(ranks, {.half = true}).idle(), 0b1010U);
  EXPECT_EQ(process.teams.offer(ranks, {.long_parts = true}).idle(), 0b1100U);
  EXPECT_EQ(process.teams.offer(ranks, {.long_parts = true, .half = true}).idle(), 0b1000U);
}

TEST(Teams, WhatItsCallsSayOfItsIdsIsContinuedByTheNextCommunicator) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  TeamUse use = process.make(ranks, 0);
  for (std::uint64_t call = 1; call < contexts::CallHistory::calls_until_judged; ++call) {
    use.history.count(1);
  }
  process.teams.put_aside(std::move(use));
  const Teams::Offer offer = process.teams.offer(ranks, {});
  use = process.teams.take(ranks, 0);
  use.history.count(1);
  EXPECT_EQ(use.history.take_shrink(), 2U);
  process.teams.put_aside(std::move(use));
}

TEST(Teams, OneAgreementOffersThemAtATimeAndOtherRanksAreNotConcerned) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  RankSet& others = process.ranks({1, 2, 3});
  const Teams::Offer first = process.teams.offer(ranks, {});
  EXPECT_EQ(first.vacant(), ones);
  EXPECT_EQ(process.teams.offer(ranks, {}).vacant(), 0U);
  EXPECT_EQ(process.teams.offer(others, {}).vacant(), ones);
}

TEST(Teams, OneThatHasFailedOrThatItsLeaderHasLeftIsNotOffered) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  TeamUse failed = process.make(ranks, 0);
  static_cast<void>(failed.team->arena().freeze());
  process.teams.put_aside(std::move(failed));
  TeamUse left = process.make(ranks, 1);
  node::Arena& arena = left.team->arena();
  const std::shared_ptr<Team> held = left.team;
  process.teams.put_aside(std::move(left));
  EXPECT_EQ(process.teams.offer(ranks, {}).idle(), 2U);
  {
    const Teams::Offer in_progress = process.teams.offer(ranks, {});
    arena.vacate();
    EXPECT_EQ(in_progress.idle(), 2U) << "it may be taken still";
  }
  const Teams::Offer offer = process.teams.offer(ranks, {});
  EXPECT_EQ(offer.idle(), 0U);
  EXPECT_EQ(offer.vacant(), ones);
}

TEST(Teams, OneWithoutANumberEndsWithItsCommunicator) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  TeamUse use = process.make(ranks, std::nullopt);
  const std::weak_ptr<Team> team = use.team;
  process.teams.put_aside(std::move(use));
  EXPECT_TRUE(team.expired());
}

TEST(Teams, AListOfRanksIsForgottenWithItsLastCommunicatorAndTeam) {
  Process process;
  for (int round = 1; round <= 3; ++round) {
    RankSet& ranks = process.ranks({1, 2});
    EXPECT_EQ(&process.ranks({1, 2}), &ranks);
    EXPECT_EQ(process.shapes, round);
    TeamUse use = process.make(ranks, 0);
    process.teams.release(ranks);
    process.teams.release(ranks);
    EXPECT_EQ(&process.ranks({1, 2}), &ranks) << "its team is in use";
    process.teams.release(ranks);
    process.teams.finish(std::move(use));
  }
  // What was found out of them stays.
  RankSet& ranks = process.ranks({1, 2});
  ranks.is_hopeless = true;
  process.teams.release(ranks);
  EXPECT_TRUE(process.ranks({1, 2}).is_hopeless);
}

TEST(Teams, KeysOfAThousandTeamsOfTwoProcessesDiffer) {
  Process one;
  Process two;
  std::set<TeamKey> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.insert(one.teams.new_key());
    keys.insert(two.teams.new_key());
  }
  EXPECT_EQ(keys.size(), 2000U);
}

TEST(Teams, ThreadsThatMakeAndFreeAtTheSameTimeNeverShareATeam) {
  Process process;
  RankSet& ranks = process.ranks({1, 2});
  std::mutex mutex;
  std::set<TeamKey> in_use;
  std::atomic<int> reused{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        TeamUse use;
        std::optional<TeamNumber> number;
        {
          const Teams::Offer offer = process.teams.offer(ranks, {});
          if (offer.idle() != 0) { // the only rank: its offer is the agreement
            use =
                process.teams.take(ranks, static_cast<TeamNumber>(std::countr_zero(offer.idle())));
            ++reused;
          } else if (offer.vacant() != 0) {
            number = static_cast<TeamNumber>(std::countr_zero(offer.vacant()));
            use = process.make(ranks, number);
          }
        }
        if (!use.team) {
          use = process.make(ranks, std::nullopt);
        }
        const TeamKey key = use.team->key();
        {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(in_use.insert(key).second);
        }
        std::this_thread::yield();
        {
          const std::lock_guard lock(mutex);
          in_use.erase(key);
        }
        process.teams.put_aside(std::move(use));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_GT(reused, 100);
}

} // namespace
} // namespace tributary::mpi::intra_node::test
