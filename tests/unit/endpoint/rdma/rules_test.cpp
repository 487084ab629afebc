// Every rule that the paper lacks or has wrong: it works with the rule, and breaks without it.
#include "tests/rdma/campaign.hpp"
#include "tests/unit/endpoint/rdma/pair.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::rdma::test {
namespace {

CampaignReport campaign(const Rules& rules, std::uint64_t seeds = 1,
                        std::uint64_t transfers = 300) {
  CampaignReport all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    all.add(run_campaign({.scene = Scene::faults,
                          .seed = seed,
                          .transfers = transfers,
                          .rules = rules,
                          .timeout_ns = 200'000}));
  }
  return all;
}

TEST(RdmaRules, AllOnEveryTransferIsDone) {
  const CampaignReport report = campaign({});
  EXPECT_TRUE(report.good()) << report.violations.front();
  EXPECT_EQ(report.done, 300U);
}

TEST(RdmaRules, WithoutLocPlusOneNothingEverEnds) {
  const CampaignReport report = campaign({.loc_plus_one = false}, 1, 20);
  EXPECT_EQ(report.done, 0U);
}

TEST(RdmaRules, WithoutIdentityZombiesLandInTheNextOwnersMemory) {
  const CampaignReport report = campaign({.identity = false, .generation = false}, 16);
  EXPECT_GT(report.corrupt, 0U);
}

TEST(RdmaRules, WithoutBackOffABusySinkIsAskedWithoutEnd) {
  const CampaignReport with = campaign({}, 2);
  const CampaignReport without = campaign({.back_off = false}, 2);
  const auto requests_a_write = [](const CampaignReport& r) {
    return static_cast<double>(r.source.busy_received) / static_cast<double>(r.source.writes_begun);
  };
  EXPECT_LT(requests_a_write(with), 3.0) << "at four times as many writers as contexts";
  EXPECT_GT(requests_a_write(without), 2 * requests_a_write(with));
}

TEST(RdmaRules, WithoutQueryALostDoneIsNeverKnown) {
  const CampaignReport report = campaign({.query = false}, 1, 500);
  EXPECT_GT(report.hung, 0U);
}

class RdmaRulesPair : public PairTest {
protected:
  void make_with(const Rules& rules) {
    Options a = small(source_nid);
    Options b = small(sink_nid);
    a.rules = b.rules = rules;
    b.sinks = sinks;
    make(a, b);
  }
  std::size_t sinks = 64;
};

/// A write with immediate data whose first DONE is lost.
class FinishedMemory : public RdmaRulesPair {
protected:
  std::size_t arrivals(bool rule) {
    make_with({.finished_memory = rule});
    bool lost = false;
    network().set_filter([&](auto, const wire::RdmaHeader& h) {
      const bool pass = h.kind != wire::RdmaKind::done || lost;
      lost = lost || h.kind == wire::RdmaKind::done;
      return pass;
    });
    write(3000, 0, 99);
    EXPECT_TRUE(completion().done());
    std::size_t count = 0;
    while (sink->take_completion()) {
      ++count;
    }
    return count;
  }
};

TEST_F(FinishedMemory, SaysDoneAgain) { EXPECT_EQ(arrivals(true), 1U); }

TEST_F(FinishedMemory, OffAllIsDoneAgain) { EXPECT_EQ(arrivals(false), 2U); }

/// Data frames sent for each that was needed: 250 KB, a window of 128, every fiftieth frame lost.
class SenderLimit : public RdmaRulesPair {
protected:
  double sent_for_each(bool limit) {
    make_with({.sender_limit = limit});
    rdma_policy::Policy policy = quick_policy();
    policy.window = 128;
    // Holes stay open for longer than a window takes.
    policy.initial_reordering_ns = policy.most_reordering_ns = 50'000;
    set_policy(policy);
    unsigned count = 0;
    network().set_filter([&](auto, const wire::RdmaHeader& h) {
      return h.kind != wire::RdmaKind::wr || ++count % 50 != 0;
    });
    write(250'000);
    EXPECT_TRUE(completion().done());
    above = sink->counters().above_window;
    return static_cast<double>(source->counters().data_sent) / 250;
  }
  std::uint64_t above = 0;
};

TEST_F(SenderLimit, KeepsSourcesWithinTheWindow) {
  EXPECT_LT(sent_for_each(true), 1.05);
  EXPECT_EQ(above, 0U);
}

TEST_F(SenderLimit, OffEveryHoleThrowsTheRestAway) {
  EXPECT_GT(sent_for_each(false), 1.2);
  EXPECT_GT(above, 0U);
}

/// A source that restarts with the numbers of its last life, after its clock was set back. Its old
/// frames have the right peer, context and MSGID; only CGEN distinguishes them.
class Generation : public RdmaRulesPair {
protected:
  bool corrupted(bool rule) {
    sinks = 1; // so that both lives have the same context
    make_with({.generation = rule});
    std::vector<std::byte> old;
    network().set_filter([&](auto frame, const wire::RdmaHeader& h) {
      if (h.kind == wire::RdmaKind::wr && h.pidx == 1 && old.empty()) {
        old.assign(frame.begin(), frame.end());
      }
      return true;
    });
    write(3000);
    EXPECT_TRUE(completion().done());
    const auto reborn = std::make_unique<Node>(source->options());
    reborn->set_policy(quick_policy());
    // The sink has forgotten the first life.
    network().run_for(20'000'000);
    sink->poll(network().now());
    reborn->poll(network().now());
    network().replace(0, reborn.get());
    from.fill(2);
    // All but frame 1 arrive; then the old one does.
    network().set_filter([&](auto, const wire::RdmaHeader& h) {
      return h.kind != wire::RdmaKind::wr || h.pidx != 1;
    });
    (void)reborn->write({.peer = sink_nid,
                         .vni = vni,
                         .memory = from.region().first(3000),
                         .key = key,
                         .offset = 0,
                         .user = 7});
    network().run_for(5'000);
    EXPECT_EQ(sink->sinks_in_use(), 1U);
    network().inject(old);
    network().run_for(5'000);
    network().set_filter({});
    network().run_for(5'000'000);
    refused = sink->counters().wrong_generation;
    network().replace(0, nullptr);
    return !arrived(3000);
  }
  std::uint64_t refused = 0;
};

TEST_F(Generation, TellsFramesOfALastLifeFromThoseOfThisOne) {
  EXPECT_FALSE(corrupted(true));
  EXPECT_EQ(refused, 1U);
}

TEST_F(Generation, OffTheyAreTakenForThisLifes) { EXPECT_TRUE(corrupted(false)); }

} // namespace
} // namespace tributary::rdma::test
