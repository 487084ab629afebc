// Whatever hosts report, in any order: the table's invariants hold.
#include "controlplane/retransmit/peer_table.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace tributary::retransmit::peer_table_random_test {
namespace {

constexpr Vni vni{7};
const std::string jobs[] = {"", "one", "two"};

class RandomPeerTable : public testing::Test {
protected:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  Nid some_nid() { return Nid{static_cast<std::uint32_t>(below(40))}; }
  PeerId some_peer() { return {some_nid(), Vni{static_cast<std::uint16_t>(7 + below(2))}}; }

  void one() {
    const Nid nid = some_nid();
    const Reporter reporter{nid, nid.value / 2, jobs[below(3)]};
    switch (below(9)) {
    case 0: table_.poll(now_); break;
    case 1: now_ = now_ + below(8) * ns_per_second; break;
    case 2:
      if (below(10) == 0) {
        table_.quarantine(some_peer(), now_);
      }
      break;
    case 3:
      if (below(10) == 0) {
        table_.release(some_peer());
      }
      break;
    case 4:
    case 5:
      for (const PeerId& peer : table_.ask_to_probe(reporter, 4, now_)) {
        if (below(3) != 0) {
          table_.probed(reporter, peer, below(2) == 0, now_);
        }
      }
      break;
    default:
      static_cast<void>(table_.report(reporter, some_peer(), causes[below(causes.size())],
                                      static_cast<std::uint32_t>(below(3)), now_));
    }
  }

  void check() {
    std::size_t quarantined = 0;
    std::size_t for_all = 0;
    for (const auto& [id, peer] : table_.peers()) {
      const bool is_quarantined = peer.state != PeerState::failing;
      quarantined += is_quarantined ? 1 : 0;
      for_all += peer.for_all ? 1 : 0;
      const bool any_reporting = std::ranges::any_of(
          peer.reportings, [](const Reporting& reporting) { return reporting.quarantined; });
      ASSERT_EQ(is_quarantined, peer.for_all || any_reporting);
      ASSERT_EQ(peer.state == PeerState::probing, peer.prober.has_value());
      ASSERT_LE(peer.reportings.size(), PeerTable::most_reporters);
      ASSERT_TRUE(peer.by_operator || peer.deadline != never) << "it would be quarantined forever";
      ASSERT_GE(peer.deadline, table_.next_deadline());
      for (const Reporting& reporting : peer.reportings) {
        ASSERT_LE(reporting.failures, settings_.failures);
        ASSERT_NE(reporting.nid, id.nid);
        const auto list =
            table_.quarantined_for({.nid = reporting.nid, .job = id.job}, id.vni, 1000);
        const FailingPeer* const of_all = table_.find({id.nid, id.vni});
        ASSERT_EQ(std::ranges::find(list, id.nid) != list.end(),
                  reporting.quarantined || peer.for_all || (of_all != nullptr && of_all->for_all));
      }
    }
    ASSERT_EQ(quarantined, table_.quarantined());
    std::size_t listed = 0;
    for (const auto& [of, nids] : table_.quarantined_for_all()) {
      listed += nids.size();
    }
    ASSERT_EQ(listed, for_all);
    ASSERT_LE(table_.peers().size(), settings_.capacity);
    // The reported changes add up to the current state.
    for (const PeerChange& change : table_.take_changes()) {
      if (change.kind == PeerChange::Kind::released) {
        ASSERT_EQ(reported_.erase(change.peer), 1U);
      } else {
        reported_.insert(change.peer);
      }
    }
    ASSERT_EQ(reported_.size(), quarantined);
  }

  static QuarantineSettings small() {
    QuarantineSettings settings;
    settings.capacity = 30;
    settings.most_reported = 5;
    settings.most_of_a_host = 12;
    return settings;
  }
  QuarantineSettings settings_ = small();
  PeerTable table_{settings_};
  TimeNs now_{500 * ns_per_second};
  std::set<PeerId> reported_;
  std::mt19937_64 random_{test::seed()};
};

TEST_F(RandomPeerTable, promises_hold_after_every_step) {
  std::size_t most_quarantined = 0;
  for (int i = 0; i < 20'000; ++i) {
    one();
    check();
    if (HasFatalFailure()) {
      FAIL() << "step " << i;
    }
    most_quarantined = std::max(most_quarantined, table_.quarantined());
  }
  EXPECT_GT(most_quarantined, 5U) << "nothing was tried";
}

TEST_F(RandomPeerTable, when_all_is_silent_only_the_operators_peers_stay_quarantined) {
  for (int i = 0; i < 5'000; ++i) {
    one();
  }
  for (int i = 0; i < 100; ++i) {
    now_ = now_ + 60 * ns_per_second;
    table_.poll(now_);
  }
  for (const auto& [id, peer] : table_.peers()) {
    EXPECT_TRUE(peer.by_operator);
  }
  EXPECT_EQ(table_.reporters(), 0U);
}

/// As large as a fabric gets: every host reports in every window.
TEST(PeerTableScale, a_hundred_thousand_hosts_are_heard_within_bounds) {
  PeerTable table{QuarantineSettings{}};
  TimeNs now{1000 * ns_per_second};
  std::mt19937_64 random(test::seed());
  for (std::uint32_t i = 0; i < 100'000 / TRIBUTARY_SEED_DIVISOR; ++i) {
    const auto peer = static_cast<std::uint32_t>(random() % 100'000);
    static_cast<void>(table.report({Nid{i % 100'000}, i % 100'000}, {Nid{peer}, vni},
                                   Cause::unreachable_peer, 1, now));
    now = now + 600'000;
    if (i % 1000 == 0) {
      table.poll(now);
    }
  }
  EXPECT_LE(table.peers().size(), QuarantineSettings{}.capacity);
  EXPECT_LE(table.reporters(), 100'000U);
}

} // namespace
} // namespace tributary::retransmit::peer_table_random_test
