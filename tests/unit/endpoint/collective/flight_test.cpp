#include "endpoint/collective/flight.hpp"

#include <gtest/gtest.h>

namespace tributary::collective {
namespace flight_test {

constexpr std::uint64_t us = 1000;

TimeNs at(std::uint64_t microseconds) { return TimeNs{microseconds * us}; }

TEST(Flight, BeginsWithThirtyTwoOrAllThereAre) {
  EXPECT_EQ(Flight(128, 128, 1).width(), 32U);
  EXPECT_EQ(Flight(16, 128, 1).width(), 16U);
  Flight flight(128, 128, 1);
  for (PieceNumber piece = 0; piece < 32; ++piece) {
    ASSERT_TRUE(flight.has_room());
    flight.begin(piece, at(0));
  }
  EXPECT_FALSE(flight.has_room());
  flight.end(7, at(1));
  EXPECT_TRUE(flight.has_room());
}

TEST(Flight, HasNoMoreInFlightThanItsMemberCanReceive) {
  Flight flight(128, 20, 1'000);
  for (PieceNumber piece = 0; piece < 2000; ++piece) {
    ASSERT_LE(flight.width(), 20U);
    flight.begin(piece, at(piece));
    flight.end(piece, at(piece + 1));
  }
  EXPECT_EQ(flight.width(), 20U);
}

TEST(Flight, GrowsByOneAPieceUntilSomethingIsLost) {
  Flight flight(128, 128, 1);
  PieceNumber piece = 0;
  const auto complete = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      flight.begin(piece, at(piece));
      flight.end(piece, at(piece + 1));
      ++piece;
    }
  };
  complete(40);
  EXPECT_EQ(flight.width(), 72U);
  complete(100);
  EXPECT_EQ(flight.width(), 128U);
  flight.begin(piece, at(piece));
  flight.asked(piece, at(piece));
  flight.end(piece, at(piece + 1));
  ++piece;
  EXPECT_EQ(flight.width(), 64U);
  complete(63);
  EXPECT_EQ(flight.width(), 65U);
}

TEST(Flight, IsNotNarrowedByMembersThatAreStillToCome) {
  Flight flight(128, 128, 1'000'000);
  for (PieceNumber piece = 0; piece < 32; ++piece) {
    flight.begin(piece, at(0));
  }
  for (PieceNumber piece = 0; piece < 32; ++piece) {
    flight.asked(piece, at(32'000));
  }
  EXPECT_EQ(flight.width(), 32U);
  flight.end(0, at(33'000));
  EXPECT_EQ(flight.width(), 33U);
  flight.asked(1, at(34'000));
  EXPECT_EQ(flight.width(), 16U);
}

TEST(Flight, OnceHalvedItGrowsByOneAWindowUpToAllSlots) {
  Flight flight(64, 128, 1);
  PieceNumber piece = 0;
  const auto complete = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      flight.begin(piece, at(piece));
      flight.end(piece, at(piece + 1));
      ++piece;
    }
  };
  complete(64);
  flight.begin(piece, at(piece));
  flight.asked(piece, at(piece));
  flight.end(piece, at(piece + 1));
  ++piece;
  EXPECT_EQ(flight.width(), 32U);
  complete(30);
  EXPECT_EQ(flight.width(), 32U);
  complete(1);
  EXPECT_EQ(flight.width(), 33U);
  complete(33);
  EXPECT_EQ(flight.width(), 34U);
  complete(64 * 64);
  EXPECT_EQ(flight.width(), 64U);
}

TEST(Flight, HalvesOnceForAllLossesOfOneWindow) {
  Flight flight(128, 128, 1'000'000);
  for (PieceNumber piece = 0; piece < 32; ++piece) {
    flight.begin(piece, at(0));
  }
  flight.end(0, at(5));
  flight.asked(3, at(10));
  EXPECT_EQ(flight.width(), 16U);
  flight.asked(3, at(20));
  flight.asked(31, at(20));
  EXPECT_EQ(flight.width(), 16U);
  for (PieceNumber piece = 1; piece < 18; ++piece) {
    flight.end(piece, at(30));
  }
  flight.begin(32, at(40));
  flight.asked(32, at(50));
  EXPECT_LT(flight.width(), 16U);
}

TEST(Flight, NeverNarrowsToNothing) {
  Flight flight(16, 128, 1'000'000);
  for (PieceNumber piece = 0; piece < 20; ++piece) {
    ASSERT_TRUE(flight.has_room());
    flight.begin(piece, at(piece));
    flight.asked(piece, at(piece));
    ASSERT_GE(flight.width(), 1U);
    flight.end(piece, at(piece));
  }
  EXPECT_LE(flight.width(), 2U);
}

TEST(Flight, APieceIsOverdueATimeAfterALaterOneCompleted) {
  Flight flight(16, 128, 1'000'000'000);
  for (PieceNumber piece = 0; piece < 4; ++piece) {
    flight.begin(piece, at(0));
  }
  EXPECT_EQ(flight.overdue_at(0), never);
  flight.end(0, at(40)); // t is 40 us from here on
  EXPECT_EQ(flight.overdue_at(1), never) << "nothing behind it has completed";
  flight.end(2, at(40));
  EXPECT_EQ(flight.overdue_at(1), at(80));
  EXPECT_EQ(flight.overdue_at(3), never);
  flight.asked(1, at(80));
  EXPECT_EQ(flight.overdue_at(1), at(80 + 120)) << "3 t";
  flight.asked(1, at(200));
  EXPECT_EQ(flight.overdue_at(1), at(200 + 240)) << "twice that";
  flight.end(1, at(300));
  EXPECT_EQ(flight.overdue_at(1), never);
}

TEST(Flight, TheLastOneIsOverdueThreeTimesAfterAllOthers) {
  Flight flight(16, 128, 1'000'000'000);
  for (PieceNumber piece = 0; piece < 3; ++piece) {
    flight.begin(piece, at(0));
  }
  flight.end(0, at(40));
  EXPECT_EQ(flight.overdue_at(2), never);
  flight.end(1, at(40));
  EXPECT_EQ(flight.overdue_at(2), at(40 + 120));
}

TEST(Flight, APieceThatIsAloneFromTheBeginningWaitsForStragglers) {
  Flight flight(16, 128, 1'000'000'000);
  flight.begin(0, at(0));
  flight.end(0, at(10));
  flight.begin(1, at(20));
  EXPECT_EQ(flight.overdue_at(1), never);
}

TEST(Flight, TheTimeOfPiecesThatWereAskedForAgainSaysNothing) {
  Flight flight(16, 128, 1'000'000'000);
  flight.begin(0, at(0));
  flight.end(0, at(10));
  flight.begin(1, at(20));
  flight.asked(1, at(30));
  flight.end(1, at(9000));
  EXPECT_EQ(flight.time_ns(), 10 * us);
}

TEST(Flight, TheTimeOfPiecesThatOthersWaitedForSaysNothing) {
  Flight flight(16, 128, 1'000'000'000);
  flight.begin(0, at(0), true);
  flight.begin(1, at(0), true);
  flight.begin(2, at(0), true);
  flight.end(1, at(0));
  EXPECT_EQ(flight.time_ns(), 0U);
  EXPECT_EQ(flight.overdue_at(0), never) << "what is long is unknown";
  flight.begin(3, at(10));
  flight.end(3, at(50));
  EXPECT_EQ(flight.time_ns(), 40 * us);
  EXPECT_EQ(flight.overdue_at(0), at(90));
}

TEST(Flight, APieceHasTheTimeToBeArmed) {
  Flight flight(16, 128, 1'000'000'000);
  flight.begin(0, at(0));
  flight.end(0, at(40));
  flight.begin(1, at(100));
  flight.begin(2, at(100), true); // others had armed and waited
  flight.begin(3, at(100));
  flight.end(2, at(100));
  EXPECT_EQ(flight.overdue_at(1), at(100 + 80)) << "not after 40";
}

TEST(Flight, QuestionsAreNeverFartherApartThanTheLongestTime) {
  Flight flight(16, 128, 500 * us);
  flight.begin(0, at(0));
  flight.begin(1, at(0));
  flight.end(1, at(100));
  for (std::uint64_t now = 200; now < 100'000; now += 1000) {
    flight.asked(0, at(now));
    ASSERT_LE(flight.overdue_at(0), at(now + 500));
  }
}

TEST(Flight, QuestionsForAPieceAreAsFarApartAsTheLongestTimeInTheEndHoweverFastTheNetwork) {
  // Otherwise each would restart the root's retry timer just before it expires, and no roll is
  // called.
  constexpr std::uint64_t longest_ns = 1'024'000'000;
  Flight flight(8, 8, longest_ns);
  flight.begin(0, TimeNs{0});
  flight.begin(1, TimeNs{0});
  flight.end(1, TimeNs{100});
  TimeNs now{0};
  for (int i = 0; i < 40; ++i) {
    now = flight.overdue_at(0);
    flight.asked(0, now);
  }
  EXPECT_EQ(elapsed_ns(flight.overdue_at(0), now), longest_ns);
}

TEST(Flight, KnowsTheOldestPieceInFlight) {
  Flight flight(16, 128, 1);
  EXPECT_EQ(flight.oldest(), flight.next());
  for (PieceNumber piece = 0; piece < 5; ++piece) {
    flight.begin(piece, at(0));
  }
  flight.end(0, at(1));
  flight.end(2, at(1));
  EXPECT_EQ(flight.oldest(), 1U);
  flight.end(1, at(1));
  EXPECT_EQ(flight.oldest(), 3U);
  flight.forget();
  EXPECT_EQ(flight.oldest(), 5U);
  EXPECT_EQ(flight.in_flight(), 0U);
}

} // namespace flight_test
} // namespace tributary::collective
