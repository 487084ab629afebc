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

struct Told {
  std::uint64_t calls = 0;
  int times = 0;
  static void tell(Kind, const CallCaches::Why& why, std::uint64_t calls) {
    auto& told = *static_cast<Told*>(why.owner);
    told.calls += calls;
    ++told.times;
  }
};

class ACallCache : public ::testing::Test {
protected:
  void open(std::uint64_t calls) {
    caches.enable();
    for (int look = 0; look < 2; ++look) {
      caches.add(Kind::reduce, a, {.reason = Reason::slower, .owner = &told, .bytes = 16}, calls);
    }
  }
  std::uint64_t taken(const CallSignature& call, std::uint64_t tries) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < tries; ++i) {
      count += caches.take(Kind::reduce, call) ? 1 : 0;
    }
    return count;
  }
  Told told;
  CallCaches caches{Told::tell};
};

TEST_F(ACallCache, IsOpenedByTheSecondLookThatComesToTheSame) {
  caches.enable();
  caches.add(Kind::reduce, a, {.owner = &told}, 5);
  EXPECT_EQ(taken(a, 1), 0U);
  caches.add(Kind::reduce, a, {.owner = &told}, 5);
  EXPECT_EQ(taken(a, 1), 1U);
}

TEST_F(ACallCache, IsForCallsThatAreLikeIt) {
  open(CallCache::without_end);
  for (const CallSignature& other : {CallSignature{0x1001, 7, 9, 4},
                                     {0x1000, 8, 9, 4},
                                     {0x1000, 7, 8, 4},
                                     {0x1000, 7, 9, 8},
                                     {0x1000, 7, 9, 4 + (std::int64_t{1} << 32)}}) {
    EXPECT_EQ(taken(other, 1), 0U);
  }
  EXPECT_FALSE(caches.take(Kind::allreduce, a));
  EXPECT_EQ(taken(a, 1'000), 1'000U);
}

TEST_F(ACallCache, EndsWhereATrialWouldBegin) {
  open(3);
  EXPECT_EQ(taken(a, 10), 3U);
  EXPECT_EQ(told.times, 0) << "those are reported when it closes";
  caches.close(&told);
  EXPECT_EQ(told.calls, 3U);
}

TEST_F(ACallCache, ThatIsClosedTellsOnceWhatTookIt) {
  open(CallCache::without_end);
  EXPECT_EQ(taken(a, 7), 7U);
  caches.close(&told);
  caches.close(&told);
  caches.disable();
  EXPECT_EQ(told.calls, 7U);
  EXPECT_EQ(told.times, 1);
  EXPECT_EQ(taken(a, 1), 0U);
}

TEST_F(ACallCache, IsClosedByLooksAtItsKindAndSizeAlone) {
  open(CallCache::without_end);
  Told other;
  caches.close(&other);
  caches.close(&told, Kind::allreduce, 16);
  caches.close(&told, Kind::reduce, 32);
  EXPECT_EQ(taken(a, 1), 1U);
  caches.close(&told, Kind::reduce, 31);
  EXPECT_EQ(taken(a, 1), 0U) << "of the same class";
}

TEST_F(ACallCache, IsNotOpenedWhereNoCallIsCertain) {
  open(0);
  EXPECT_EQ(taken(a, 1), 0U);
}

TEST_F(ACallCache, IsNotOpenedUnlessTheyAreEnabled) {
  for (int look = 0; look < 3; ++look) {
    caches.add(Kind::reduce, a, {.owner = &told}, 5);
  }
  EXPECT_EQ(taken(a, 1), 0U);
}

TEST_F(ACallCache, WhatIsKnownOfACallIsForgottenWithItsCommunicatorAlone) {
  caches.know(Kind::reduce, a, {.owner = &told, .plan = {}});
  EXPECT_EQ(caches.known(Kind::reduce, a), nullptr) << "they are not enabled";
  caches.enable();
  Told other;
  CallSignature b = a;
  b.count = a.count + 1;
  caches.know(Kind::reduce, a, {.owner = &told, .plan = {.type = 3, .op = 4}});
  caches.know(Kind::reduce, b, {.owner = &other, .plan = {}});
  ASSERT_NE(caches.known(Kind::reduce, a), nullptr);
  EXPECT_EQ(caches.known(Kind::reduce, a)->plan.type, 3);
  EXPECT_EQ(caches.known(Kind::allreduce, a), nullptr);
  caches.close(&told);
  EXPECT_NE(caches.known(Kind::reduce, a), nullptr);
  caches.forget(&told);
  EXPECT_EQ(caches.known(Kind::reduce, a), nullptr);
  EXPECT_NE(caches.known(Kind::reduce, b), nullptr);
  caches.disable();
  EXPECT_EQ(caches.known(Kind::reduce, b), nullptr);
}

TEST_F(ACallCache, ThatIsForgottenHasToldWhatTookIt) {
  open(CallCache::without_end);
  EXPECT_EQ(taken(a, 3), 3U);
  caches.forget(&told);
  EXPECT_EQ(told.calls, 3U);
  EXPECT_EQ(taken(a, 1), 0U);
}

/// A rank of a communicator: its choices, and caches or none.
class Rank {
public:
  Rank(std::uint64_t comm, CallCaches* caches) : comm_(comm), shortcuts_(caches) {}

  struct Call {
    Kind kind;
    std::int32_t count; ///< of floats
  };
  /// As offload/calls.cpp does. `combine` receives a block's times, and returns the combination
  /// over all ranks.
  template <typename Combine>
  Transport call(const Call& call, double library_us, double network_us, const Combine& combine) {
    const CallSignature like{.comm = comm_, .datatype = 1, .op = 1, .count = call.count};
    const auto bytes = static_cast<std::uint64_t>(call.count) * sizeof(float);
    if (shortcuts_ != nullptr && shortcuts_->take(call.kind, like)) {
      ++without_look;
      return Transport::library;
    }
    if (shortcuts_ != nullptr) {
      shortcuts_->close(this, call.kind, bytes);
    }
    Experiment* experiment = choices.experiment(call.kind, bytes);
    if (experiment != nullptr && experiment->block_is_over()) {
      if (shortcuts_ != nullptr) {
        shortcuts_->close(this);
      }
      choices.agree(call.kind, bytes, combine(experiment->times()));
      experiment = choices.experiment(call.kind, bytes);
    }
    const Transport transport =
        experiment != nullptr ? experiment->transport() : choices.transport(call.kind, bytes);
    if (experiment != nullptr) {
      experiment->took(transport == Transport::library ? library_us : network_us);
    } else if (transport == Transport::library && shortcuts_ != nullptr) {
      shortcuts_->add(call.kind, like, {.reason = Reason::slower, .owner = this, .bytes = bytes},
                      choices.calls_alike(call.kind, bytes));
    }
    return transport;
  }
  static void tell(Kind kind, const CallCaches::Why& why, std::uint64_t calls) {
    static_cast<Rank*>(why.owner)->choices.made_alike(kind, why.bytes, calls);
  }

  Choices choices{Choices::Corrections::while_it_runs};
  int without_look = 0;

private:
  std::uint64_t comm_;
  CallCaches* shortcuts_;
};

/// Two communicators whose ranks make the same calls: the first rank of each has no caches, the
/// second ones share theirs, and so do the third ones, with other handles.
class CallCachesOfRanks : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(CallCachesOfRanks, ChangeNoCallsTransport) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  std::array<CallCaches, 2> caches{CallCaches(Rank::tell), CallCaches(Rank::tell)};
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
