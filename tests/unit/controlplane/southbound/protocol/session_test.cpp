#include "controlplane/southbound/protocol/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::southbound::protocol {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr TimeNs start{1'000'000'000'000};
constexpr SessionNumber first{1};
constexpr SessionNumber next{2};

control::SwitchHello hello(const std::string& name, std::uint64_t guid = 0,
                           std::uint64_t boot = 1) {
  control::SwitchHello message;
  message.set_protocol(control_protocol);
  message.set_name(name);
  message.set_guid(guid);
  message.set_boot(boot);
  return message;
}

class SessionsTest : public ::testing::Test {
protected:
  std::string reason_of(const Admission& admission) {
    EXPECT_FALSE(admission.accepted);
    return admission.answer.rejected().reason();
  }
  Sessions sessions{{.manager = "fabricd", .keepalive = 1s, .statistics = 5s}};
};

TEST_F(SessionsTest, ASwitchIsWelcomedWithTheIntervals) {
  const Admission admission = sessions.open(first, hello("leaf0"), start);
  EXPECT_TRUE(admission.accepted);
  EXPECT_EQ(admission.answer.welcome().manager(), "fabricd");
  EXPECT_EQ(admission.answer.welcome().keepalive_ms(), 1000U);
  EXPECT_EQ(admission.answer.welcome().statistics_ms(), 5000U);
}

TEST_F(SessionsTest, AnotherProtocolIsRejectedAndBothVersionsAreNamed) {
  control::SwitchHello other = hello("leaf0");
  other.set_protocol(2);
  const std::string reason = reason_of(sessions.open(first, other, start));
  EXPECT_THAT(reason, HasSubstr("version 2"));
  EXPECT_THAT(reason, HasSubstr("version 1"));
}

TEST_F(SessionsTest, ASwitchWithoutANameIsRejected) {
  EXPECT_THAT(reason_of(sessions.open(first, hello(""), start)), HasSubstr("no name"));
}

TEST_F(SessionsTest, ASecondProcessUnderANameIsRejectedWhileTheFirstLives) {
  static_cast<void>(sessions.open(first, hello("leaf0", 7, 1), start));
  EXPECT_THAT(reason_of(sessions.open(next, hello("leaf0", 7, 2), start)),
              HasSubstr("\"leaf0\" is connected already"));
  sessions.close(first);
  EXPECT_TRUE(sessions.open(SessionNumber{3}, hello("leaf0", 7, 2), start).accepted);
}

TEST_F(SessionsTest, TheSameProcessTakesItsOldSessionOver) {
  static_cast<void>(sessions.open(first, hello("leaf0", 7, 1), start));
  const Admission admission = sessions.open(next, hello("leaf0", 7, 1), start);
  EXPECT_TRUE(admission.accepted);
  EXPECT_EQ(admission.superseded, first);
  sessions.close(first); // late: it must not remove the new one
  EXPECT_THAT(reason_of(sessions.open(SessionNumber{3}, hello("leaf0", 7, 2), start)),
              HasSubstr("connected already"));
}

TEST_F(SessionsTest, AGuidThatAnotherSwitchHasIsRejectedEvenFromTheSameProcess) {
  static_cast<void>(sessions.open(first, hello("leaf0", 7, 1), start));
  EXPECT_THAT(reason_of(sessions.open(next, hello("leaf1", 7, 1), start)),
              HasSubstr("\"leaf0\" is connected with the same guid"));
}

TEST_F(SessionsTest, SwitchesWithoutGuidsDoNotClash) {
  static_cast<void>(sessions.open(first, hello("leaf0"), start));
  EXPECT_TRUE(sessions.open(next, hello("leaf1"), start).accepted);
}

TEST_F(SessionsTest, APingIsDueEachInterval) {
  EXPECT_EQ(sessions.next_deadline(), never);
  static_cast<void>(sessions.open(first, hello("leaf0"), start));
  EXPECT_EQ(sessions.next_deadline(), start + ns_per_second);
  EXPECT_TRUE(sessions.poll(start + (ns_per_second - 1)).empty());
  const auto due = sessions.poll(start + ns_per_second);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_FALSE(due[0].lost);
  EXPECT_TRUE(due[0].ping.has_ping());
  EXPECT_EQ(sessions.next_deadline(), start + 2 * ns_per_second);
}

TEST_F(SessionsTest, ThreeIntervalsOfSilenceAreALoss) {
  static_cast<void>(sessions.open(first, hello("leaf0"), start));
  static_cast<void>(sessions.open(next, hello("leaf1"), start));
  for (std::uint64_t s = 1; s <= 2; ++s) {
    sessions.heard(next);
    for (const Keepalive& keepalive : sessions.poll(start + s * ns_per_second)) {
      EXPECT_FALSE(keepalive.lost) << s;
    }
  }
  const auto due = sessions.poll(start + 3 * ns_per_second);
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].session, first);
  EXPECT_TRUE(due[0].lost);
  EXPECT_FALSE(due[1].lost) << "it was heard";
  EXPECT_TRUE(
      sessions.open(SessionNumber{3}, hello("leaf0", 0, 2), start + 3 * ns_per_second).accepted);
  EXPECT_EQ(sessions.timeout_text(), "3.0 s");
}

TEST_F(SessionsTest, AManagerThatWasHeldUpItselfTakesNobodyForLost) {
  static_cast<void>(sessions.open(first, hello("leaf0"), start));
  const auto due = sessions.poll(start + 100 * ns_per_second);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_FALSE(due[0].lost) << "what came meanwhile has not been read yet";
  EXPECT_EQ(sessions.next_deadline(), start + 101 * ns_per_second);
}

TEST_F(SessionsTest, WhatIsClosedIsNotPinged) {
  static_cast<void>(sessions.open(first, hello("leaf0"), start));
  sessions.close(first);
  sessions.heard(first);
  EXPECT_EQ(sessions.next_deadline(), never);
  EXPECT_TRUE(sessions.poll(start + 10 * ns_per_second).empty());
}

} // namespace
} // namespace tributary::southbound::protocol
