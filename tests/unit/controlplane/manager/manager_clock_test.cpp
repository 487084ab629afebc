// The manager's time, which does not advance while the manager is suspended.
#include "controlplane/turns/manager_clock.hpp"

#include "tests/unit/controlplane/manager/quiet_environment.hpp"

#include <gtest/gtest.h>

namespace tributary::manager {
namespace {

class ManagerClockTest : public ::testing::Test {
protected:
  QuietEnvironment world;
  turns::ManagerClock clock{world};
};

TEST_F(ManagerClockTest, passes_as_the_environments_does_while_the_manager_is_called) {
  for (int i = 0; i < 10; ++i) {
    world.pass_ms(400);
    EXPECT_EQ(clock.now().value, world.time.value);
  }
  EXPECT_EQ(clock.take_pause_ns(), 0U);
  EXPECT_EQ(world.turns_wanted, 0);
}

TEST_F(ManagerClockTest, stands_still_while_the_manager_was_stopped_which_is_reported_once) {
  const TimeNs before = clock.now();
  world.pass_ms(60'000);
  EXPECT_EQ(clock.now().value, before.value);
  EXPECT_EQ(clock.time().value, before.value);
  EXPECT_EQ(world.turns_wanted, 1) << "so that the pause is reported";
  EXPECT_EQ(clock.take_pause_ns(), 60'000'000'000U);
  EXPECT_EQ(clock.take_pause_ns(), 0U);
  world.pass_ms(100);
  EXPECT_EQ(clock.now().value, before.value + 100'000'000);
}

TEST_F(ManagerClockTest, a_long_time_without_a_deadline_is_no_pause) {
  clock.wait_until(never);
  world.pass_ms(60'000);
  EXPECT_EQ(clock.now().value, world.time.value);
  EXPECT_EQ(clock.take_pause_ns(), 0U);
}

TEST_F(ManagerClockTest, stands_still_while_it_is_held_which_is_not_reported) {
  world.pass_ms(100);
  const TimeNs before = clock.now();
  clock.hold();
  EXPECT_EQ(clock.call_at(before + 1), never);
  for (int i = 0; i < 10; ++i) {
    world.pass_ms(60'000);
    EXPECT_EQ(clock.now().value, before.value);
    EXPECT_EQ(clock.time().value, before.value);
  }
  clock.release();
  EXPECT_EQ(clock.time().value, before.value);
  EXPECT_EQ(clock.started().value, before.value) << "switches are waited for as after a start";
  EXPECT_EQ(clock.take_pause_ns(), 0U);
  world.pass_ms(100);
  EXPECT_EQ(clock.now().value, before.value + 100'000'000);
  clock.release();
  EXPECT_EQ(clock.started().value, before.value) << "it is not held";
}

TEST_F(ManagerClockTest, a_pause_before_a_hold_is_one) {
  world.pass_ms(60'000);
  clock.hold();
  world.pass_ms(60'000);
  clock.release();
  EXPECT_EQ(clock.take_pause_ns(), 60'000'000'000U);
}

TEST_F(ManagerClockTest, of_a_hold_and_a_suspension_both_must_be_over) {
  const TimeNs before = clock.now();
  clock.hold();
  clock.stop();
  world.pass_ms(60'000);
  clock.resume();
  world.pass_ms(60'000);
  EXPECT_EQ(clock.now().value, before.value);
  clock.stop();
  clock.release();
  world.pass_ms(60'000);
  EXPECT_EQ(clock.now().value, before.value);
  clock.resume();
  EXPECT_EQ(clock.now().value, before.value);
  world.pass_ms(100);
  EXPECT_EQ(clock.now().value, before.value + 100'000'000);
  EXPECT_EQ(clock.take_pause_ns(), 0U);
}

TEST_F(ManagerClockTest, stands_still_during_a_suspension_with_any_calls_and_reports_no_pause) {
  const TimeNs before = clock.now();
  clock.stop();
  for (int i = 0; i < 100; ++i) {
    world.pass_ms(300);
    EXPECT_EQ(clock.now().value, before.value);
    EXPECT_EQ(clock.time().value, before.value);
    clock.stop();
  }
  clock.resume();
  EXPECT_EQ(clock.now().value, before.value);
  world.pass_ms(100);
  EXPECT_EQ(clock.now().value, before.value + 100'000'000);
  EXPECT_EQ(clock.take_pause_ns(), 0U);
  clock.resume();
  EXPECT_EQ(clock.time().value, before.value + 100'000'000);
}

TEST_F(ManagerClockTest, is_called_at_the_deadline_in_the_environments_time_but_after_a_beat) {
  world.pass_ms(60'000);
  const TimeNs now = clock.now();
  EXPECT_EQ(clock.call_at(now + 100'000'000).value, world.time.value + 100'000'000);
  EXPECT_EQ(clock.call_at(now + 5'000'000'000).value, world.time.value + 250'000'000);
  EXPECT_EQ(clock.call_at(never), never);
}

} // namespace
} // namespace tributary::manager
