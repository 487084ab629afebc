// When a standby ends the lease of a leader, and when it does not, with an invented clock.
#include "controlplane/election/peer_watch.hpp"

#include <gtest/gtest.h>

namespace tributary::election {
namespace {

class PeerWatchTest : public testing::Test {
protected:
  /// Asks as often as a standby does; whether it was dead at any time.
  bool dies_within(std::uint64_t ns, bool answers = false) {
    bool dead = false;
    for (const TimeNs end = now + ns; now < end;) {
      now = now + 100 * ns_per_ms;
      if (answers) {
        watch.answered(now);
      }
      dead |= watch.is_dead(now);
    }
    return dead;
  }
  void follow_one_that_answers() {
    watch.follow(now, 7);
    EXPECT_FALSE(dies_within(1000 * ns_per_ms, true));
  }

  TimeNs now{1000 * ns_per_second};
  PeerWatch watch;
};

TEST_F(PeerWatchTest, a_leader_that_answers_is_left_alone) {
  watch.follow(now, 7);
  EXPECT_FALSE(dies_within(60 * ns_per_second, true));
}

TEST_F(PeerWatchTest, one_that_is_silent_for_half_a_second_is_dead_once) {
  follow_one_that_answers();
  EXPECT_FALSE(dies_within(500 * ns_per_ms));
  EXPECT_TRUE(dies_within(100 * ns_per_ms));
  EXPECT_FALSE(dies_within(10 * ns_per_second)) << "its lease is ended once";
}

TEST_F(PeerWatchTest, one_whose_machine_refuses_is_dead_at_once) {
  follow_one_that_answers();
  watch.refused(now);
  EXPECT_TRUE(dies_within(100 * ns_per_ms));
}

TEST_F(PeerWatchTest, a_refusal_before_an_answer_is_forgotten) {
  follow_one_that_answers();
  watch.refused(now);
  watch.answered(now);
  EXPECT_FALSE(dies_within(500 * ns_per_ms));
}

TEST_F(PeerWatchTest, one_that_has_never_answered_is_not_judged) {
  watch.follow(now, 7);
  watch.refused(now);
  EXPECT_FALSE(dies_within(60 * ns_per_second)) << "two that cannot reach each other would take "
                                                   "the lead from each other for ever";
}

TEST_F(PeerWatchTest, the_answers_of_the_leader_before_say_nothing_about_the_next_one) {
  follow_one_that_answers();
  watch.follow(now, 8);
  EXPECT_FALSE(dies_within(5 * ns_per_second));
  watch.answered(now);
  EXPECT_TRUE(dies_within(600 * ns_per_ms));
  EXPECT_EQ(watch.lease(), 8);
}

TEST_F(PeerWatchTest, without_a_leader_nothing_is_dead) {
  follow_one_that_answers();
  watch.follow(now, 0);
  watch.refused(now);
  EXPECT_FALSE(dies_within(5 * ns_per_second));
}

TEST_F(PeerWatchTest, a_pause_of_its_own_is_not_the_leaders_silence) {
  follow_one_that_answers();
  now = now + 30 * ns_per_second;
  EXPECT_FALSE(watch.is_dead(now));
  EXPECT_FALSE(dies_within(400 * ns_per_ms));
  EXPECT_TRUE(dies_within(200 * ns_per_ms)) << "but silence after it is";
}

} // namespace
} // namespace tributary::election
