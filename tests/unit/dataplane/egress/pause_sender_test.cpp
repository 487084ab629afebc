// When a pause frame is due, and its contents.

#include "dataplane/egress/pause_sender.hpp"
#include "tests/unit/dataplane/egress/frames.hpp"

#include <gtest/gtest.h>

namespace tributary::egress::test {
namespace {

class Sender : public ::testing::Test {
protected:
  Sender() { sender.set_link_speed(1000); }
  /// Returns the pause frame that is due, if any.
  std::optional<wire::PauseFrame> poll(ClassSet wanted, TimeNs now) {
    auto pause = sender.due(wanted, now);
    if (pause) {
      sender.sent(*pause, now);
    }
    return pause;
  }

  PauseSender sender{1000}; // quanta: 512,000 ns
  ClassSet three = ClassSet::of(cls(3));
};

TEST_F(Sender, SaysNothingWhileNothingIsWanted) {
  EXPECT_FALSE(poll({}, ms(1)));
  EXPECT_EQ(sender.next_deadline(), never);
}

TEST_F(Sender, PausesAtOnceAndThenKeepsQuietUntilHalfIsOver) {
  EXPECT_EQ(poll(three, ms(1)), pause_of(three, 1000));
  EXPECT_FALSE(poll(three, ms(1)));
  const TimeNs half = ms(1) + 256'000;
  EXPECT_EQ(sender.next_deadline(), half);
  EXPECT_FALSE(poll(three, TimeNs{half.value - 1}));
  EXPECT_EQ(poll(three, half), pause_of(three, 1000)) << "refreshed";
  EXPECT_EQ(sender.counters(cls(3)).pauses.read(), 2U);
}

TEST_F(Sender, EndsThePauseWithQuantaOfZeroOnce) {
  poll(three, ms(1));
  EXPECT_EQ(poll({}, ms(1)), pause_of(three, 0));
  EXPECT_FALSE(poll({}, ms(1)));
  EXPECT_EQ(sender.next_deadline(), never);
  EXPECT_EQ(sender.counters(cls(3)).resumes.read(), 1U);
}

TEST_F(Sender, OneFrameSpeaksOfAllClassesThatAreNotAsTheyWere) {
  poll(three, ms(1));
  const auto pause = poll(ClassSet::of(cls(5)), ms(1));
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->classes, three | ClassSet::of(cls(5)));
  EXPECT_EQ(pause->quanta[3], 0U);
  EXPECT_EQ(pause->quanta[5], 1000U);
  const auto release = poll({}, ms(1));
  ASSERT_TRUE(release);
  EXPECT_EQ(release->classes, ClassSet::of(cls(5))) << "the others were released before";
}

TEST_F(Sender, WhatTheDeviceDidNotTakeIsDueAgain) {
  EXPECT_TRUE(sender.due(three, ms(1)));
  EXPECT_TRUE(sender.due(three, ms(1)));
  EXPECT_EQ(sender.counters(cls(3)).pauses.read(), 0U);
}

TEST_F(Sender, AfterTheLinkWentDownEveryPauseIsSentAgain) {
  poll(three, ms(1));
  sender.forget();
  EXPECT_FALSE(sender.due({}, ms(1))) << "no port is paused";
  EXPECT_EQ(poll(three, ms(1)), pause_of(three, 1000));
}

} // namespace
} // namespace tributary::egress::test
