// Failing peers: which reports are accepted, quarantine, probes.
#include "controlplane/retransmit/peer_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::retransmit::peer_table_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = PeerChange::Kind;

constexpr QuarantineSettings settings{};
constexpr TimeNs start{1000 * ns_per_second};
constexpr Vni vni{1024};
const PeerId dead{Nid{99}, vni};

Reporter host(std::uint32_t n, const std::string& job = "") { return {Nid{n}, 100 + n, job}; }
constexpr TimeNs after_s(std::uint64_t s) { return start + s * ns_per_second; }

std::vector<Kind> kinds(PeerTable& table) {
  std::vector<Kind> all;
  for (const PeerChange& change : table.take_changes()) {
    all.push_back(change.kind);
  }
  return all;
}

/// Two transfers that were given up.
void give_up(PeerTable& table, const Reporter& reporter, const PeerId& peer, TimeNs now) {
  EXPECT_EQ(table.report(reporter, peer, Cause::unreachable_peer, 2, now), ReportOutcome::counted);
}

PeerTable quarantined_for_all() {
  PeerTable table(settings);
  table.report(host(1), dead, Cause::unreachable_peer, 1, start);
  table.report(host(2), dead, Cause::unreachable_peer, 1, start);
  EXPECT_THAT(kinds(table), ElementsAre(Kind::quarantined_for_all));
  return table;
}

TEST(PeerTable, too_few_failures_are_forgotten_after_a_window) {
  PeerTable table(settings);
  table.report(host(1), dead, Cause::repeated_timeouts, 3, start);
  EXPECT_EQ(table.find(dead)->state, PeerState::failing);
  EXPECT_THAT(table.quarantined_for(host(1), vni, 10), IsEmpty());
  table.poll(after_s(31));
  EXPECT_EQ(table.find(dead), nullptr);
  EXPECT_EQ(table.reporters(), 0U);
  EXPECT_THAT(kinds(table), IsEmpty());
}

TEST(PeerTable, failures_of_two_windows_do_not_add_up) {
  PeerTable table(settings);
  for (std::uint64_t i = 0; i < 20; ++i) {
    table.report(host(1), dead, Cause::repeated_timeouts, 1, after_s(15 * i));
    EXPECT_EQ(table.find(dead)->state, PeerState::failing) << i;
  }
}

TEST(PeerTable, one_host_quarantines_a_peer_for_itself_alone) {
  PeerTable table(settings);
  const std::uint64_t before = table.version();
  give_up(table, host(1), dead, start);
  EXPECT_THAT(kinds(table), ElementsAre(Kind::quarantined_for_one));
  EXPECT_THAT(table.quarantined_for(host(1), vni, 10), ElementsAre(Nid{99}));
  EXPECT_THAT(table.quarantined_for(host(2), vni, 10), IsEmpty());
  EXPECT_THAT(table.quarantined_for_all(), IsEmpty());
  EXPECT_GT(table.version(), before);
}

TEST(PeerTable, several_hosts_quarantine_it_for_all_in_that_vni) {
  PeerTable table = quarantined_for_all();
  EXPECT_THAT(table.quarantined_for(host(7), vni, 10), ElementsAre(Nid{99}));
  EXPECT_THAT(table.quarantined_for(host(7), Vni{1025}, 10), IsEmpty());
  EXPECT_THAT(table.quarantined_for(host(99), vni, 10), IsEmpty()) << "itself";
  EXPECT_EQ(table.quarantined(), 1U);
}

TEST(PeerTable, two_hosts_at_one_place_are_one_voice) {
  PeerTable table(settings);
  for (std::uint32_t n = 1; n < 9; ++n) {
    table.report({Nid{n}, 5}, dead, Cause::repeated_timeouts, 3, start);
  }
  EXPECT_THAT(table.quarantined_for_all(), IsEmpty());
  table.report({Nid{20}, 6}, dead, Cause::repeated_timeouts, 1, start);
  EXPECT_THAT(table.quarantined_for_all(), IsEmpty()) << "eight reporters are known, and no more";
}

TEST(PeerTable, a_liar_about_everyone_quarantines_nobody_for_others) {
  PeerTable table(settings);
  for (int round = 0; round < 1000; ++round) {
    for (std::uint32_t n = 100; n < 1100; ++n) {
      table.report(host(1), {Nid{n}, vni}, Cause::unreachable_peer, 1'000'000,
                   start + static_cast<std::uint64_t>(round) * ns_per_second / 10);
    }
  }
  EXPECT_THAT(table.quarantined_for_all(), IsEmpty());
  EXPECT_THAT(table.quarantined_for(host(2), vni, 2000), IsEmpty());
  EXPECT_LE(table.peers().size(), settings.most_of_a_host);
  EXPECT_GT(table.heard()[static_cast<std::size_t>(ReportOutcome::flooded)], 0U);
}

TEST(PeerTable, two_liars_quarantine_no_more_than_what_each_is_believed) {
  PeerTable table(settings);
  for (std::uint32_t n = 100; n < 200; ++n) {
    for (std::uint32_t liar = 1; liar < 3; ++liar) {
      table.report(host(liar), {Nid{n}, vni}, Cause::unreachable_peer, 1, start);
    }
  }
  ASSERT_TRUE(table.quarantined_for_all().contains({vni, ""}));
  EXPECT_EQ(table.quarantined_for_all().at({vni, ""}).size(), settings.most_reported);
}

TEST(PeerTable, what_hosts_of_one_job_say_is_nothing_to_another) {
  PeerTable table(settings);
  for (std::uint32_t n = 1; n < 9; ++n) {
    give_up(table, host(n, "liars"), dead, start);
  }
  EXPECT_THAT(table.quarantined_for(host(20, "liars"), vni, 8), ElementsAre(Nid{99}));
  EXPECT_THAT(table.quarantined_for(host(20, "others"), vni, 8), IsEmpty());
  EXPECT_THAT(table.quarantined_for(host(20), vni, 8), IsEmpty());
  EXPECT_THAT(table.quarantined_for(host(1, "others"), vni, 8), IsEmpty()) << "the same host";
  // Nor does it use up the limits of another job's reporters.
  for (int i = 0; i < 1000; ++i) {
    table.report(host(1, "liars"), {Nid{200}, vni}, Cause::busy_storm, 1, start);
  }
  EXPECT_EQ(table.report(host(1, "liars"), dead, Cause::unreachable_peer, 1, start),
            ReportOutcome::flooded);
  give_up(table, host(1, "others"), dead, start);
  EXPECT_THAT(table.quarantined_for(host(1, "others"), vni, 8), ElementsAre(Nid{99}));
  EXPECT_THAT(table.ask_to_probe(host(1, "others"), 8, after_s(1)),
              ElementsAre(PeerId{Nid{99}, vni, "others"}));
  table.probed(host(1, "liars"), dead, true, after_s(1));
  EXPECT_EQ(table.find({Nid{99}, vni, "others"})->state, PeerState::probing) << "not its probe";
}

TEST(PeerTable, what_the_administrators_hosts_say_and_the_operator_does_holds_for_all_jobs) {
  PeerTable table = quarantined_for_all();
  EXPECT_THAT(table.quarantined_for(host(7, "job"), vni, 10), ElementsAre(Nid{99}));
  give_up(table, host(1, "job"), dead, start);
  EXPECT_TRUE(table.release(dead));
  EXPECT_THAT(table.peers(), IsEmpty()) << "whichever host quarantined it";
  EXPECT_TRUE(table.quarantine(dead, start));
  EXPECT_THAT(table.quarantined_for(host(7, "job"), vni, 10), ElementsAre(Nid{99}));
}

TEST(PeerTable, one_job_leaves_room_to_others) {
  QuarantineSettings small = settings;
  small.capacity = 100;
  PeerTable table(small);
  for (std::uint32_t n = 0; n < 2000; ++n) {
    table.report(host(1 + n / 200, "liars"), {Nid{10'000 + n}, vni}, Cause::unreachable_peer, 1,
                 start);
  }
  EXPECT_EQ(table.peers().size(), 50U);
  EXPECT_EQ(table.report(host(1, "others"), dead, Cause::unreachable_peer, 1, start),
            ReportOutcome::counted);
  EXPECT_EQ(table.report(host(1), dead, Cause::unreachable_peer, 1, start), ReportOutcome::counted);
  EXPECT_EQ(table.peers().size(), 52U);
}

TEST(PeerTable, a_flood_does_not_keep_others_from_being_heard) {
  PeerTable table(settings);
  for (int i = 0; i < 100'000; ++i) {
    table.report(host(1), dead, Cause::busy_storm, 1, start);
  }
  EXPECT_EQ(table.report(host(1), dead, Cause::unreachable_peer, 1, start), ReportOutcome::flooded);
  EXPECT_EQ(table.report(host(2), dead, Cause::unreachable_peer, 1, start), ReportOutcome::counted);
  EXPECT_EQ(table.report(host(1), dead, Cause::unreachable_peer, 1, after_s(31)),
            ReportOutcome::counted);
}

TEST(PeerTable, who_is_busy_or_restarted_is_alive) {
  PeerTable table(settings);
  EXPECT_EQ(table.report(host(1), dead, Cause::busy_storm, 9, start), ReportOutcome::noted);
  EXPECT_EQ(table.report(host(1), dead, Cause::restarted_peer, 9, start), ReportOutcome::noted);
  EXPECT_EQ(table.report(host(99), dead, Cause::unreachable_peer, 9, start),
            ReportOutcome::about_itself);
  EXPECT_THAT(table.peers(), IsEmpty());
}

TEST(PeerTable, an_answered_probe_releases) {
  PeerTable table = quarantined_for_all();
  EXPECT_THAT(table.ask_to_probe(host(1), 8, start), IsEmpty()) << "not yet";
  EXPECT_THAT(table.ask_to_probe(host(3), 8, after_s(1)), IsEmpty()) << "it said nothing";
  EXPECT_THAT(table.ask_to_probe(host(1), 8, after_s(1)), ElementsAre(dead));
  EXPECT_EQ(table.find(dead)->state, PeerState::probing);
  EXPECT_THAT(table.ask_to_probe(host(2), 8, after_s(1)), IsEmpty()) << "one is enough";
  table.probed(host(2), dead, true, after_s(1));
  EXPECT_EQ(table.find(dead)->state, PeerState::probing) << "no request asked that one";
  table.probed(host(1), dead, true, after_s(2));
  EXPECT_THAT(kinds(table), ElementsAre(Kind::released));
  EXPECT_THAT(table.quarantined_for(host(7), vni, 10), IsEmpty());
  EXPECT_EQ(table.quarantined(), 0U);
}

TEST(PeerTable, one_that_answers_one_host_stays_quarantined_for_another_that_has_its_own_reasons) {
  PeerTable table(settings);
  give_up(table, host(1), dead, start);
  give_up(table, host(2), dead, start);
  static_cast<void>(table.take_changes());
  ASSERT_THAT(table.ask_to_probe(host(1), 8, after_s(1)), ElementsAre(dead));
  table.probed(host(1), dead, true, after_s(1));
  EXPECT_THAT(table.quarantined_for(host(1), vni, 8), IsEmpty());
  EXPECT_THAT(table.quarantined_for(host(2), vni, 8), ElementsAre(Nid{99}));
  ASSERT_THAT(table.ask_to_probe(host(2), 8, after_s(1)), ElementsAre(dead)) << "its turn, at once";
  table.probed(host(2), dead, true, after_s(1));
  EXPECT_THAT(kinds(table), ElementsAre(Kind::released));
}

TEST(PeerTable, probes_that_fail_come_ever_later) {
  PeerTable table = quarantined_for_all();
  std::uint64_t expected = settings.first_probe_ns;
  TimeNs now = start;
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(table.ask_to_probe(host(1), 8, now + (expected - 1)), IsEmpty());
    now = now + expected;
    ASSERT_THAT(table.ask_to_probe(host(1), 8, now), ElementsAre(dead)) << i;
    table.probed(host(1), dead, false, now);
    expected = std::min(2 * expected, settings.longest_probe_ns);
  }
  EXPECT_EQ(table.find(dead)->probes, 10U);
}

TEST(PeerTable, a_host_that_never_says_what_came_of_its_probes_is_not_counted_on) {
  PeerTable table(settings);
  give_up(table, host(1), dead, start);
  TimeNs now = start;
  for (std::uint32_t i = 0; i < PeerTable::most_silent; ++i) {
    now = table.find(dead)->probe_at;
    ASSERT_THAT(table.ask_to_probe(host(1), 8, now), ElementsAre(dead));
    now = table.next_deadline();
    table.poll(now);
  }
  EXPECT_EQ(table.find(dead), nullptr);
  EXPECT_THAT(kinds(table), ElementsAre(Kind::quarantined_for_one, Kind::released));
}

TEST(PeerTable,
     a_peer_whose_only_reporting_host_is_not_counted_on_any_more_is_quarantined_for_nobody) {
  PeerTable table(settings);
  give_up(table, host(1), dead, start);
  // At the same place, so that both count as one reporter, and the peer is not quarantined for all.
  table.report({Nid{2}, host(1).place}, dead, Cause::repeated_timeouts, 1, start);
  for (std::uint32_t i = 0; i < PeerTable::most_silent; ++i) {
    const TimeNs now = table.find(dead)->probe_at;
    ASSERT_THAT(table.ask_to_probe(host(1), 8, now), ElementsAre(dead));
    table.poll(table.next_deadline());
  }
  EXPECT_EQ(table.find(dead), nullptr);
  EXPECT_EQ(table.quarantined(), 0U);
  EXPECT_THAT(kinds(table), ElementsAre(Kind::quarantined_for_one, Kind::released));
}

TEST(PeerTable, a_peer_that_nobody_is_left_to_probe_is_not_quarantined_for_ever) {
  PeerTable table = quarantined_for_all();
  table.poll(after_s(3600));
  EXPECT_THAT(table.peers(), IsEmpty());
  EXPECT_THAT(kinds(table), ElementsAre(Kind::released));
  EXPECT_EQ(table.next_deadline(), never);
}

TEST(PeerTable, the_operator_quarantines_for_good_and_releases_whatever_was_said) {
  PeerTable table(settings);
  EXPECT_TRUE(table.quarantine(dead, start));
  table.poll(after_s(100'000));
  EXPECT_THAT(table.quarantined_for(host(5), vni, 8), ElementsAre(Nid{99}));
  give_up(table, host(1), dead, after_s(100'000));
  EXPECT_THAT(table.ask_to_probe(host(1), 8, after_s(200'000)), IsEmpty());
  EXPECT_TRUE(table.release(dead));
  EXPECT_THAT(table.peers(), IsEmpty());
  EXPECT_FALSE(table.release(dead));
}

TEST(PeerTable, those_behind_a_switch_that_is_tried_again_are_probed_soon) {
  PeerTable table = quarantined_for_all();
  for (int i = 0; i < 6; ++i) {
    const TimeNs at = table.find(dead)->probe_at;
    ASSERT_THAT(table.ask_to_probe(host(1), 8, at), ElementsAre(dead));
    table.probed(host(1), dead, false, at);
  }
  const TimeNs now = table.find(dead)->probe_at;
  static_cast<void>(table.ask_to_probe(host(1), 8, now));
  table.probed(host(1), dead, false, now);
  table.probe_soon([](Nid nid) { return nid == Nid{5}; }, now);
  EXPECT_THAT(table.ask_to_probe(host(1), 8, now + settings.first_probe_ns), IsEmpty());
  table.probe_soon([](Nid nid) { return nid == Nid{99}; }, now);
  EXPECT_THAT(table.ask_to_probe(host(1), 8, now + settings.first_probe_ns), ElementsAre(dead));
}

TEST(PeerTable, switched_off_it_quarantines_nobody_and_forgets_whom_it_quarantined) {
  PeerTable table = quarantined_for_all();
  ASSERT_TRUE(table.quarantine({Nid{50}, vni}, start));
  QuarantineSettings off = settings;
  off.enabled = false;
  table.reconfigure(off, start);
  EXPECT_THAT(table.quarantined_for(host(7), vni, 8), ElementsAre(Nid{50}))
      << "the operator's stays";
  EXPECT_EQ(table.report(host(1), dead, Cause::unreachable_peer, 9, start), ReportOutcome::noted);
}

TEST(PeerTable, a_full_table_gives_up_who_only_fails_and_nobody_who_is_quarantined) {
  QuarantineSettings small = settings;
  small.capacity = 4;
  PeerTable table(small);
  for (std::uint32_t n = 0; n < 4; ++n) {
    give_up(table, host(n), {Nid{100 + n}, vni}, start);
  }
  EXPECT_EQ(table.report(host(5), {Nid{200}, vni}, Cause::repeated_timeouts, 1, start),
            ReportOutcome::no_room);
  EXPECT_FALSE(table.quarantine({Nid{200}, vni}, start));
  ASSERT_TRUE(table.release({Nid{100}, vni}));
  table.report(host(5), {Nid{200}, vni}, Cause::repeated_timeouts, 1, start);
  table.report(host(6), {Nid{201}, vni}, Cause::repeated_timeouts, 1, start + 1);
  EXPECT_EQ(table.find({Nid{200}, vni}), nullptr);
  EXPECT_NE(table.find({Nid{201}, vni}), nullptr);
}

} // namespace
} // namespace tributary::retransmit::peer_table_test
