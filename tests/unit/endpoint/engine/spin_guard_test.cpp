// When waits may spin.
#include "endpoint/engine/spin_guard.hpp"

#include <gtest/gtest.h>

namespace tributary::engine {
namespace {

/// How many of the next waits sleep, until one may spin.
unsigned sleeps(SpinGuard& guard) {
  unsigned count = 0;
  while (!guard.may_spin()) {
    ++count;
  }
  return count;
}

TEST(SpinGuard, PeersThatWorkForAMomentDoNotKeepItFromSpinning) {
  SpinGuard guard;
  for (int wait = 0; wait < 100; ++wait) {
    ASSERT_TRUE(guard.may_spin());
    EXPECT_FALSE(guard.was_away(SpinGuard::slice_ns - 1));
    guard.undisturbed();
  }
}

TEST(SpinGuard, WhatIsLongIsItsOwnersToSay) {
  SpinGuard guard(2'000'000);
  EXPECT_FALSE(guard.was_away(1'999'999));
  EXPECT_TRUE(guard.may_spin());
  EXPECT_TRUE(guard.was_away(2'000'000));
  EXPECT_EQ(sleeps(guard), 16U);
}

TEST(SpinGuard, SleepsForAWhileAfterATimeSliceAndLongerEachTime) {
  SpinGuard guard;
  for (unsigned expected = 16; expected <= 4096; expected *= 2) {
    EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns));
    EXPECT_EQ(sleeps(guard), expected);
  }
  EXPECT_TRUE(guard.was_away(3'000'000));
  EXPECT_EQ(sleeps(guard), 4096U) << "and no longer than that";
}

TEST(SpinGuard, UndisturbedWaitsShortenItAgain) {
  SpinGuard guard;
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns));
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns));
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns)); // the next one would be 128
  EXPECT_EQ(sleeps(guard), 64U);
  for (unsigned wait = 0; wait < 2 * SpinGuard::good_waits; ++wait) {
    guard.undisturbed();
  }
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns));
  EXPECT_EQ(sleeps(guard), 32U);
}

TEST(SpinGuard, WaitsBeforeATimeSliceDoNotCountForThoseBehindIt) {
  SpinGuard guard;
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns)); // the next one would be 32
  for (unsigned wait = 1; wait < SpinGuard::good_waits; ++wait) {
    guard.undisturbed();
  }
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns)); // the next one would be 64
  guard.undisturbed();
  EXPECT_TRUE(guard.was_away(SpinGuard::slice_ns));
  EXPECT_EQ(sleeps(guard), 64U);
}

} // namespace
} // namespace tributary::engine
