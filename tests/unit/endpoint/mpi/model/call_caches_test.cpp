#include "endpoint/mpi/model/call_caches.hpp"

#include "endpoint/mpi/model/choices.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace tributary::mpi::test {
namespace {

constexpr CallSignature a{.comm = 0x1000, .datatype = 7, .op = 9, .count = 4};

class ACallCache : public ::testing::Test {
protected:
  ACallCache() {
    caches.enable();
    schedule.wait = 100;
  }
  void add(Kind kind, const CallSignature& call, Schedule* decides) {
    caches.add(kind, {.call = call,
                      .owner = &communicator,
                      .schedule = decides,
                      .reason = Reason::slower,
                      .plan = {.type = 3}});
  }
  std::uint64_t taken(const CallSignature& call, std::uint64_t tries, Kind kind = Kind::reduce) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
      count += caches.take(kind, call) == Reason::slower ? 1 : 0;
    }
    return count;
  }
  int communicator = 0;
  Schedule schedule;
  CallCaches caches;
};

TEST_F(ACallCache, IsForCallsThatAreLikeIt) {
  add(Kind::reduce, a, nullptr);
  for (const CallSignature& other : {CallSignature{0x1001, 7, 9, 4},
                                     {0x1000, 8, 9, 4},
                                     {0x1000, 7, 8, 4},
                                     {0x1000, 7, 9, 8},
                                     {0x1000, 7, 9, 4 + (std::int64_t{1} << 32)}}) {
    EXPECT_EQ(taken(other, 1), 0U);
  }
  EXPECT_EQ(taken(a, 1, Kind::allreduce), 0U);
  EXPECT_EQ(taken(a, 1'000), 1'000U);
}

TEST_F(ACallCache, EndsWhereAnExperimentWouldBegin) {
  add(Kind::reduce, a, &schedule);
  EXPECT_EQ(taken(a, 1'000), 100U);
  EXPECT_EQ(schedule.calls, 100U);
  schedule.calls = 0;
  EXPECT_EQ(taken(a, 1), 1U) << "it is over";
}

TEST_F(ACallCache, OfOneClassCountTogether) {
  CallSignature b = a;
  b.count = a.count + 1;
  add(Kind::reduce, a, &schedule);
  add(Kind::reduce, b, &schedule);
  EXPECT_EQ(taken(a, 60), 60U);
  EXPECT_EQ(taken(b, 60), 40U);
}

TEST_F(ACallCache, NeedsALookWhileTheClassGoesThroughTheNetwork) {
  add(Kind::reduce, a, &schedule);
  schedule.transport = Transport::network;
  EXPECT_EQ(taken(a, 1), 0U);
  EXPECT_EQ(schedule.calls, 0U) << "the look counts it";
}

TEST_F(ACallCache, CountsNoCallsThatDoNotBlock) {
  add(Kind::iallreduce, a, &schedule);
  EXPECT_EQ(taken(a, 1'000, Kind::iallreduce), 1'000U);
  EXPECT_EQ(schedule.calls, 0U);
}

TEST_F(ACallCache, StoresNothingUnlessTheyAreEnabled) {
  caches.disable();
  add(Kind::reduce, a, nullptr);
  EXPECT_EQ(taken(a, 1), 0U);
  EXPECT_EQ(caches.known(Kind::reduce, a), nullptr);
}

TEST_F(ACallCache, WhatIsKnownOfACallIsForgottenWithItsCommunicatorAlone) {
  int other = 0;
  CallSignature b = a;
  b.count = a.count + 1;
  add(Kind::reduce, a, &schedule);
  caches.add(Kind::reduce, {.call = b, .owner = &other, .plan = {}});
  ASSERT_NE(caches.known(Kind::reduce, a), nullptr);
  EXPECT_EQ(caches.known(Kind::reduce, a)->plan.type, 3);
  EXPECT_EQ(caches.known(Kind::allreduce, a), nullptr);
  EXPECT_EQ(taken(b, 1), 0U) << "it has no reason to be left";
  caches.forget(&communicator);
  EXPECT_EQ(caches.known(Kind::reduce, a), nullptr);
  EXPECT_EQ(taken(a, 1), 0U);
  EXPECT_NE(caches.known(Kind::reduce, b), nullptr);
  caches.disable();
  EXPECT_EQ(caches.known(Kind::reduce, b), nullptr);
}

TEST_F(ACallCache, WithoutACommunicatorIsForAll) {
  caches.add(Kind::reduce, {.call = a, .reason = Reason::slower, .plan = {}});
  EXPECT_EQ(taken(a, 1), 1U);
  EXPECT_EQ(caches.known(Kind::reduce, a), nullptr);
}

/// A rank of a communicator: its choices, and caches or none.
class Rank {
public:
  Rank(std::uint64_t comm, CallCaches* caches) : comm_(comm), caches_(caches) {}

  struct Call {
    Kind kind;
    std::int32_t count; ///< of floats
  };
  /// As collectives/calls.cpp does. `combine` receives a block's times, and returns the combination
  /// over all ranks.
  template <typename Combine>
  Transport call(const Call& call, double library_us, double network_us, const Combine& combine) {
    const CallSignature like{.comm = comm_, .datatype = 1, .op = 1, .count = call.count};
    const auto bytes = static_cast<std::uint64_t>(call.count) * sizeof(float);
    if (caches_ != nullptr && caches_->take(call.kind, like) != Reason::none) {
      ++without_look;
      return Transport::library;
    }
    if (caches_ != nullptr) {
      caches_->add(call.kind, {.call = like,
                               .owner = this,
                               .schedule = choices.schedule(call.kind, bytes),
                               .reason = Reason::slower,
                               .plan = {}});
    }
    Experiment* experiment = choices.experiment(call.kind, bytes);
    if (experiment != nullptr && experiment->block_is_over()) {
      choices.agree(call.kind, bytes, combine(experiment->times()));
      experiment = choices.experiment(call.kind, bytes);
    }
    const Transport transport =
        experiment != nullptr ? experiment->transport() : choices.transport(call.kind, bytes);
    if (experiment != nullptr) {
      experiment->took(transport == Transport::library ? library_us : network_us);
    }
    return transport;
  }

  Choices choices{Choices::Corrections::while_it_runs};
  int without_look = 0;

private:
  std::uint64_t comm_;
  CallCaches* caches_;
};

/// Two communicators whose ranks make the same calls: the first rank of each has no caches, the
/// second ones share theirs, and so do the third ones, with other handles.
class CallCachesOfRanks : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(CallCachesOfRanks, ChangeNoCallsTransport) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  std::array<CallCaches, 2> caches;
  std::vector<std::vector<std::unique_ptr<Rank>>> comms;
  for (std::uint64_t comm = 0; comm < 2; ++comm) {
    auto& ranks = comms.emplace_back();
    ranks.push_back(std::make_unique<Rank>(0, nullptr));
    ranks.push_back(std::make_unique<Rank>(0x1000 + 0x40 * comm, &caches[0]));
    ranks.push_back(std::make_unique<Rank>(0x2000 + 0x100 * comm, &caches[1]));
  }
  for (CallCaches& one : caches) {
    one.enable();
  }
  std::uint64_t network_calls = 0;
  for (int phase = 0; phase < 300; ++phase) {
    // A loop of a program: a few calls, over and over.
    std::vector<Rank::Call> body(1 + below(3));
    for (Rank::Call& one : body) {
      one.kind = below(2) == 0 ? Kind::reduce : Kind::bcast;
      one.count = static_cast<std::int32_t>(1 + below(24));
    }
    auto& ranks = comms[below(2)];
    const double network_us = below(2) == 0 ? 20 : 90;
    for (std::uint32_t round = below(400); round > 0; --round) {
      for (const Rank::Call& call : body) {
        std::vector<double> combined;
        const auto combine = [&](std::span<const double> times) {
          if (combined.empty()) {
            combined.assign(times.begin(), times.end());
          }
          return combined;
        };
        const Transport transport = ranks[0]->call(call, 50, network_us, combine);
        network_calls += transport == Transport::network ? 1U : 0U;
        ASSERT_EQ(ranks[1]->call(call, 50, network_us, combine), transport);
        ASSERT_EQ(ranks[2]->call(call, 50, network_us, combine), transport);
      }
    }
  }
  for (CallCaches& one : caches) {
    one.disable();
  }
  for (const auto& ranks : comms) {
    EXPECT_EQ(ranks[0]->choices.fingerprint(), ranks[1]->choices.fingerprint());
    EXPECT_EQ(ranks[0]->choices.fingerprint(), ranks[2]->choices.fingerprint());
    EXPECT_GT(ranks[1]->without_look, 1'000);
    EXPECT_GT(ranks[2]->without_look, 1'000);
  }
  EXPECT_GT(network_calls, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CallCachesOfRanks, ::testing::Range(1U, 9U));

} // namespace
} // namespace tributary::mpi::test
