// Lease arithmetic, suspension, lost answers and handing over, with an invented clock.
#include "controlplane/election/election.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::election {
namespace {

using Kind = Call::Kind;
using testing::HasSubstr;

constexpr std::uint64_t ms = ns_per_ms;
constexpr std::uint64_t ttl = 3 * ns_per_second;

class ElectionTest : public testing::Test {
protected:
  /// The next call has to be of this kind.
  Call expect(Kind kind) {
    const auto call = election.next(now);
    EXPECT_TRUE(call) << "nothing to ask";
    EXPECT_EQ(call->kind, kind);
    return *call;
  }
  /// ... and is answered a millisecond later.
  void answer(Kind kind, const Answer& with) {
    const Call call = expect(kind);
    now = now + ms;
    election.answered(now, call.number, with);
  }
  void become_standby(const std::optional<LeaderKey>& leader = std::nullopt) {
    answer(Kind::grant, Granted{lease, ttl});
    answer(Kind::enter, Entered{});
    answer(Kind::look, Sight{.leader = leader, .epoch = 4, .epoch_changed = 10, .revision = 10});
  }
  void become_leader() {
    become_standby();
    answer(Kind::campaign, Won{20});
    answer(Kind::renew, Renewed{ttl});
    ASSERT_EQ(election.standing(now), Standing::leads);
  }
  void pass(std::uint64_t ns) { now = now + ns; }
  [[nodiscard]] Sight own_key() const {
    return {.leader = LeaderKey{.name = "a",
                                .instance = "1",
                                .addresses = {},
                                .epoch = 5,
                                .lease = lease,
                                .created = 20},
            .epoch = 5,
            .epoch_changed = 20,
            .revision = 30};
  }
  [[nodiscard]] static LeaderKey anothers() {
    return {.name = "b", .instance = "2", .addresses = {}, .epoch = 4, .lease = 8, .created = 9};
  }

  TimeNs now{1000 * ns_per_second};
  LeaseId lease = 7;
  Election election{Timing{}, "a", "1", now};
};

TEST_F(ElectionTest, a_standby_gets_a_lease_enters_its_name_looks_and_takes_a_free_lead) {
  become_standby();
  const Call campaign = expect(Kind::campaign);
  EXPECT_EQ(campaign.sight.epoch, 4U);
  EXPECT_EQ(campaign.sight.epoch_changed, 10);
  EXPECT_EQ(campaign.lease, lease);
  EXPECT_EQ(election.standing(now), Standing::standby);
  election.answered(now, campaign.number, Won{20});
  EXPECT_EQ(election.standing(now), Standing::leads);
  EXPECT_EQ(election.epoch(), 5U);
  EXPECT_EQ(election.created(), 20);
}

TEST_F(ElectionTest, one_call_at_a_time_and_answers_to_others_are_ignored) {
  const Call grant = expect(Kind::grant);
  EXPECT_FALSE(election.next(now));
  election.answered(now, grant.number + 1, Granted{9, ttl});
  EXPECT_EQ(election.lease(), 0);
  election.answered(now, grant.number, Granted{lease, ttl});
  election.answered(now, grant.number, Granted{9, ttl});
  EXPECT_EQ(election.lease(), lease);
}

TEST_F(ElectionTest, a_standby_waits_while_another_leads_and_renews_its_own_lease) {
  become_standby(anothers());
  EXPECT_FALSE(election.next(now));
  EXPECT_LE(election.next_deadline(now), now + ns_per_second);
  pass(ns_per_second);
  answer(Kind::look, Sight{.leader = anothers(), .epoch = 4, .epoch_changed = 10, .revision = 11});
  answer(Kind::renew, Renewed{ttl});
  EXPECT_FALSE(election.next(now));
}

TEST_F(ElectionTest, a_standby_campaigns_at_once_when_the_watch_shows_that_the_lead_is_free) {
  become_standby(anothers());
  election.watched(11, std::nullopt);
  answer(Kind::look, Sight{.epoch = 4, .epoch_changed = 10, .revision = 12});
  expect(Kind::campaign);
}

TEST_F(ElectionTest, what_the_watch_shows_late_does_not_hide_what_was_read) {
  become_standby();
  election.watched(9, anothers());
  expect(Kind::campaign);
}

TEST_F(ElectionTest, a_lost_campaign_shows_who_leads) {
  become_standby();
  answer(Kind::campaign, Lost{{.leader = anothers(), .epoch = 5, .epoch_changed = 11}});
  EXPECT_EQ(election.leader()->name, "b");
  EXPECT_FALSE(election.next(now));
}

TEST_F(ElectionTest, a_campaign_whose_answer_was_lost_is_found_by_looking) {
  become_standby();
  answer(Kind::campaign, NoAnswer{});
  EXPECT_EQ(election.standing(now), Standing::standby) << "it does not know yet";
  EXPECT_FALSE(election.next(now)) << "not without a pause";
  pass(Timing{}.retry_ns);
  answer(Kind::look, own_key());
  EXPECT_EQ(election.standing(now), Standing::leads);
  EXPECT_EQ(election.epoch(), 5U);
  EXPECT_EQ(election.created(), 20);
}

TEST_F(ElectionTest, a_campaign_that_fails_for_want_of_a_lease_is_followed_by_another_lease) {
  become_standby();
  answer(Kind::campaign, NoAnswer{});
  pass(Timing{}.retry_ns);
  answer(Kind::look, Sight{.epoch = 4, .epoch_changed = 10, .revision = 11});
  answer(Kind::renew, Renewed{0});
  expect(Kind::grant);
}

TEST_F(ElectionTest, a_name_that_another_manager_has_is_named_and_tried_again) {
  answer(Kind::grant, Granted{lease, ttl});
  answer(Kind::enter, Entered{"http://other:7580"});
  EXPECT_EQ(election.name_taken_by(), "http://other:7580");
  const TimeNs since = election.name_taken_since();
  EXPECT_EQ(since, now);
  EXPECT_FALSE(election.next(now));
  pass(Timing{}.name_ns);
  answer(Kind::enter, Entered{"http://other:7580"});
  EXPECT_EQ(election.name_taken_since(), since);
  pass(Timing{}.name_ns);
  answer(Kind::enter, Entered{});
  EXPECT_EQ(election.name_taken_by(), "");
  expect(Kind::look);
}

TEST_F(ElectionTest, a_leader_renews_every_tenth_of_a_second) {
  become_leader();
  EXPECT_FALSE(election.next(now));
  pass(Timing{}.renew_ns);
  answer(Kind::renew, Renewed{ttl});
}

TEST_F(ElectionTest, silence_suspends_and_only_a_later_read_of_the_key_ends_that) {
  become_leader();
  pass(401 * ms);
  EXPECT_EQ(election.standing(now), Standing::suspended);
  EXPECT_THAT(election.reason(now), HasSubstr("has not answered for 0.4 s"));
  answer(Kind::renew, Renewed{ttl});
  EXPECT_EQ(election.standing(now), Standing::suspended) << "another may have led meanwhile";
  answer(Kind::look, own_key());
  EXPECT_EQ(election.standing(now), Standing::leads);
  EXPECT_EQ(election.reason(now), "");
}

TEST_F(ElectionTest, an_answer_that_waited_in_the_socket_during_a_pause_ends_no_suspension) {
  become_leader();
  election.watched(31, std::nullopt); // makes it look
  const Call look = expect(Kind::look);
  pass(10 * ns_per_second); // SIGSTOP, SIGCONT
  EXPECT_EQ(election.standing(now), Standing::suspended) << "at once, before anything else is read";
  election.answered(now, look.number, own_key());
  EXPECT_EQ(election.standing(now), Standing::suspended);
}

TEST_F(ElectionTest, a_renewal_counts_from_when_it_was_sent) {
  become_leader();
  pass(Timing{}.renew_ns);
  const Call renew = expect(Kind::renew);
  const TimeNs sent = now;
  pass(390 * ms);
  election.answered(now, renew.number, Renewed{ttl});
  pass(100 * ms);
  for (TimeNs end = sent + ttl; now < end; pass(100 * ms)) {
    const bool over = now >= sent + ttl / 10 * 9;
    // Answers to reads keep it from being silent, and do not extend the lease.
    election.progressed({});
    if (const auto call = election.next(now)) {
      ASSERT_EQ(call->kind, Kind::look);
      election.answered(now, call->number, own_key());
    }
    election.watched(1000, std::nullopt);
    EXPECT_EQ(election.standing(now) == Standing::suspended, over);
    EXPECT_EQ(election.is_expired(now), over);
  }
}

TEST_F(ElectionTest, a_lease_that_is_gone_ends_a_leadership_and_a_standby_gets_another) {
  become_standby(anothers());
  pass(ns_per_second);
  answer(Kind::look, Sight{.leader = anothers(), .epoch = 4, .epoch_changed = 10, .revision = 11});
  answer(Kind::renew, Renewed{0});
  lease = 70;
  answer(Kind::grant, Granted{lease, ttl});
  answer(Kind::enter, Entered{});
  election.watched(12, std::nullopt);
  answer(Kind::look, Sight{.epoch = 4, .epoch_changed = 10, .revision = 12});
  answer(Kind::campaign, Won{20});
  answer(Kind::renew, Renewed{0});
  EXPECT_EQ(election.standing(now), Standing::over);
  EXPECT_THAT(election.reason(now), HasSubstr("lease has ended"));
  pass(ns_per_second);
  EXPECT_FALSE(election.next(now));
  EXPECT_EQ(election.next_deadline(now), never);
}

TEST_F(ElectionTest, a_leader_that_sees_anothers_key_or_none_is_over) {
  become_leader();
  election.watched(31, anothers());
  answer(Kind::look, Sight{.leader = anothers(), .epoch = 6, .epoch_changed = 31, .revision = 32});
  EXPECT_EQ(election.standing(now), Standing::over);
  EXPECT_THAT(election.reason(now), HasSubstr("manager b leads"));
}

TEST_F(ElectionTest, a_fenced_write_ends_it) {
  become_leader();
  election.fenced();
  EXPECT_EQ(election.standing(now), Standing::over);
}

TEST_F(ElectionTest, a_leader_whose_turns_or_writes_do_not_go_on_lets_its_lease_end) {
  become_leader();
  election.progressed(now);
  election.writing(now);
  pass(Timing{}.stuck_ns + 1);
  election.progressed(now);
  EXPECT_EQ(expect(Kind::look).kind, Kind::look) << "no renewal, though it is due";
  EXPECT_THAT(election.reason(now), HasSubstr("a turn or a write"));
}

TEST_F(ElectionTest, it_resigns_for_a_successor_and_a_standby_leaves_the_lead_to_it) {
  become_leader();
  election.resign("b");
  const Call resign = expect(Kind::resign);
  EXPECT_EQ(resign.successor, "b");
  election.answered(now, resign.number, Done{});
  EXPECT_EQ(election.standing(now), Standing::over);

  Election other(Timing{}, "c", "3", now);
  const auto step = [&](const Answer& with) {
    const auto call = other.next(now);
    ASSERT_TRUE(call);
    other.answered(now, call->number, with);
  };
  step(Granted{8, ttl});
  step(Entered{});
  step(Sight{.epoch = 5, .epoch_changed = 20, .successor = "b", .revision = 31});
  EXPECT_FALSE(other.next(now)) << "the lead is free, and another's";
  now = now + Timing{}.look_ns;
  step(Sight{.epoch = 5, .epoch_changed = 20, .revision = 33}); // the successor did not come
  step(Renewed{ttl});                                           // due as well, and shows a lease
  EXPECT_EQ(other.next(now)->kind, Kind::campaign);
}

TEST_F(ElectionTest, a_standby_deposes_the_leader_that_it_sees_and_no_other) {
  become_standby(anothers());
  election.depose(99);
  EXPECT_FALSE(election.next(now));
  election.depose(anothers().lease);
  EXPECT_EQ(expect(Kind::depose).lease, anothers().lease);
}

} // namespace
} // namespace tributary::election
