// Which events are one fault or two, when to react to it, and its timeline.
#include "controlplane/faults/fault_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace tributary::faults {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr LogSettings log_settings{
    .quiet_ns = 1'000'000, .longest_ns = 10'000'000, .history = 3, .events = 4};

TimeNs us(std::uint64_t at) { return {1'000'000'000 + at * 1000}; }

class FaultLogTest : public ::testing::Test {
protected:
  void record(std::string text, std::uint64_t at, Cause cause = Cause::fault) {
    log.record(cause, std::move(text), "12:00:00", us(at));
  }
  const Fault& last() { return log.faults().front(); }
  FaultLog log{log_settings};
};

TEST_F(FaultLogTest, a_dying_switch_and_its_links_are_one_fault) {
  record("link a - spine0 is down", 0);
  EXPECT_EQ(log.due(), us(1000));
  record("link b - spine0 is down", 600);
  EXPECT_EQ(log.due(), us(1600)) << "a millisecond after the last one";
  record("switch spine0 is down", 900);
  EXPECT_EQ(log.count(), 1U);
  EXPECT_THAT(last().events, ElementsAre("link a - spine0 is down", "link b - spine0 is down",
                                         "switch spine0 is down"));
  EXPECT_EQ(last().state, FaultState::open);
}

TEST_F(FaultLogTest, what_came_back_is_no_fault_unless_something_failed_with_it) {
  record("link a - b is up", 0, Cause::recovery);
  EXPECT_EQ(last().cause, Cause::recovery);
  record("switch c is drained by the operator", 1, Cause::request);
  EXPECT_EQ(last().cause, Cause::request);
  record("link a - c is down", 2);
  record("link a - b is up", 3, Cause::recovery);
  EXPECT_EQ(last().cause, Cause::fault);
  EXPECT_EQ(log.count(), 1U);
}

TEST_F(FaultLogTest, a_burst_without_end_is_answered_after_the_longest_time) {
  for (std::uint64_t at = 0; at < 20'000; at += 500) {
    record("something", at);
  }
  EXPECT_EQ(log.due(), us(10'000));
  EXPECT_THAT(last().events, SizeIs(4));
  EXPECT_EQ(last().more_events, 36U);
}

TEST_F(FaultLogTest, a_fault_whose_routes_are_in_force_when_the_next_one_occurs_is_installed) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.waits_for(7, us(2000));
  EXPECT_TRUE(log.ended(7, "", us(3000)));
  EXPECT_EQ(last().state, FaultState::installing) << "another set is being made";
  record("link a - c is down", 3500);
  EXPECT_EQ(log.faults()[1].state, FaultState::installed);
  EXPECT_EQ(last().state, FaultState::open);
  log.begin_answer();
  log.waits_for(8, us(4500));
  record("link a - d is down", 5000);
  EXPECT_EQ(log.faults()[1].state, FaultState::installing) << "its transaction has not ended";
  log.ended(8, "", us(6000));
  EXPECT_EQ(log.faults()[1].state, FaultState::installed);
}

TEST_F(FaultLogTest, the_timeline_counts_microseconds_from_the_detection) {
  record("link a - b is down", 0);
  log.begin_answer();
  EXPECT_EQ(log.due(), never);
  log.computed(us(1500));
  log.verified(us(2500));
  log.destinations(31);
  log.tree("job/group");
  log.tree("job/group");
  log.waits_for(7, us(2700));
  log.waits_for(8, us(2900));
  log.answered(us(2900));
  EXPECT_EQ(last().state, FaultState::installing);
  EXPECT_TRUE(log.ended(8, "", us(4000)));
  EXPECT_EQ(last().state, FaultState::installing);
  EXPECT_TRUE(log.ended(7, "", us(5000)));
  EXPECT_EQ(last().state, FaultState::installed);
  EXPECT_EQ(last().us(last().computed), 1500U);
  EXPECT_EQ(last().us(last().verified), 2500U);
  EXPECT_EQ(last().us(last().sent), 2700U);
  EXPECT_EQ(last().us(last().installed), 5000U);
  EXPECT_EQ(last().destinations, 31U);
  EXPECT_EQ(last().transactions, 2U);
  EXPECT_THAT(last().trees, ElementsAre("job/group"));
  EXPECT_FALSE(log.ended(7, "", us(6000))) << "once";
}

TEST_F(FaultLogTest, an_event_while_the_answer_is_computed_belongs_to_it_and_is_answered_again) {
  record("link a - b is down", 0);
  log.begin_answer();
  record("link c - d is down", 3000);
  EXPECT_EQ(log.count(), 1U);
  EXPECT_EQ(log.due(), us(4000));
  log.answered(us(3500));
  EXPECT_EQ(last().state, FaultState::open) << "the second one is not answered yet";
  log.begin_answer();
  log.answered(us(4500));
  EXPECT_EQ(last().state, FaultState::installed) << "nothing had to be sent";
}

TEST_F(FaultLogTest, an_event_when_switches_are_notified_is_another_fault) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.waits_for(7, us(2000));
  record("link c - d is down", 2500);
  EXPECT_EQ(log.count(), 2U);
  log.begin_answer();
  log.waits_for(8, us(3000));
  log.answered(us(3000));
  EXPECT_TRUE(log.ended(7, "", us(3500)));
  EXPECT_EQ(log.faults()[1].state, FaultState::installed);
  EXPECT_EQ(last().state, FaultState::installing);
  EXPECT_TRUE(log.ended(8, "", us(4000)));
  EXPECT_EQ(last().state, FaultState::installed);
  EXPECT_EQ(last().us(last().installed), 1500U);
}

TEST_F(FaultLogTest, a_transaction_that_fails_and_a_refused_set_are_reported_with_the_fault) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.failed("12 of 240 pairs have no route");
  log.waits_for(7, us(2000));
  log.answered(us(2000));
  EXPECT_TRUE(log.ended(7, "tree 7 is not changed", us(3000)));
  EXPECT_EQ(last().state, FaultState::failed);
  EXPECT_FALSE(last().installed);
  EXPECT_THAT(last().failures,
              ElementsAre("12 of 240 pairs have no route", "tree 7 is not changed"));
}

TEST_F(FaultLogTest, recomputed_routes_are_waited_for_and_answer_two_faults_in_the_end) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.waits_for(7, us(2000));
  log.answered(us(2000));
  log.again(7, "routes");
  EXPECT_EQ(last().state, FaultState::installing) << "a switch has come meanwhile";
  record("switch c is up", 3000);
  log.begin_answer();
  log.waits_for(8, us(5000));
  log.follows("routes", std::array<std::uint64_t, 1>{8});
  log.answered(us(5000));
  EXPECT_FALSE(log.ended(7, "", us(5500)));
  EXPECT_TRUE(log.ended(8, "", us(6000)));
  for (const Fault& fault : log.faults()) {
    EXPECT_EQ(fault.state, FaultState::installed) << fault.number;
    EXPECT_EQ(fault.installed, us(6000));
    EXPECT_THAT(fault.failures, IsEmpty());
  }
  EXPECT_EQ(log.faults()[1].transactions, 2U);
  EXPECT_EQ(last().transactions, 1U);
}

TEST_F(FaultLogTest, recomputed_routes_that_are_refused_fail_the_faults_that_wait_for_them) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.waits_for(7, us(2000));
  log.answered(us(2000));
  log.again(7, "routes");
  log.given_up("routes", "12 of 240 pairs have no route", us(3000));
  EXPECT_EQ(last().state, FaultState::failed);
  EXPECT_THAT(last().failures, ElementsAre("12 of 240 pairs have no route"));
}

TEST_F(FaultLogTest, trees_that_are_tried_again_are_waited_for_beside_routes) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.waits_for(7, us(2000));
  log.waits_for(8, us(2000));
  log.answered(us(2000));
  log.again(7, "training/0");
  log.again(8, "routes");
  log.follows("routes", std::array<std::uint64_t, 1>{9});
  EXPECT_TRUE(log.ended(9, "", us(3000)));
  EXPECT_EQ(last().state, FaultState::installing) << "a tree is not where it is to be";
  log.follows("training/0", std::array<std::uint64_t, 2>{10, 11}); // twins
  EXPECT_TRUE(log.ended(10, "", us(4000)));
  EXPECT_EQ(last().state, FaultState::installing);
  EXPECT_TRUE(log.ended(11, "", us(5000)));
  EXPECT_EQ(last().state, FaultState::installed);
  EXPECT_EQ(last().installed, us(5000));
  EXPECT_EQ(last().transactions, 5U);
}

TEST_F(FaultLogTest, trees_that_are_no_longer_wanted_are_not_waited_for) {
  record("link a - b is down", 0);
  log.begin_answer();
  log.waits_for(7, us(2000));
  log.answered(us(2000));
  log.again(7, "training/0");
  log.given_up("training/1", {}, us(3000));
  EXPECT_EQ(last().state, FaultState::installing);
  log.given_up("training/0", {}, us(4000));
  EXPECT_EQ(last().state, FaultState::installed);
}

TEST_F(FaultLogTest, the_log_is_bounded_and_forgets_what_it_waited_for) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    record("fault " + std::to_string(i), i * 100'000);
    log.begin_answer();
    log.waits_for(i, us(i * 100'000 + 100));
    log.answered(us(i * 100'000 + 100));
  }
  EXPECT_THAT(log.faults(), SizeIs(3));
  EXPECT_EQ(last().number, 10U);
  EXPECT_EQ(log.count(), 10U);
  EXPECT_FALSE(log.ended(2, "", us(2'000'000)));
  EXPECT_TRUE(log.ended(9, "", us(2'000'000)));
}

TEST_F(FaultLogTest, without_a_fault_nothing_is_noted) {
  log.computed(us(0));
  log.waits_for(7, us(0));
  log.answered(us(0));
  EXPECT_THAT(log.faults(), IsEmpty());
  EXPECT_FALSE(log.ended(7, "", us(1)));
}

} // namespace
} // namespace tributary::faults
