#include "endpoint/library/lease.hpp"

#include <gtest/gtest.h>

namespace tributary::library {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

manager_client::Membership membership(std::uint16_t tree = 5) {
  manager_client::Membership m;
  m.job = "j1";
  m.trees = {TreeNumber{tree}};
  m.lease = std::chrono::seconds(30);
  return m;
}

TEST(Lease, IsRenewedAtAThirdOfItsTime) {
  Lease lease(membership(), 4, false, TimeNs{second});
  EXPECT_EQ(lease.next_attempt(), TimeNs{11 * second});
  lease.renewed(TimeNs{12 * second});
  EXPECT_EQ(lease.next_attempt(), TimeNs{22 * second});
  EXPECT_EQ(lease.text(TimeNs{13 * second}), "lease of 30.0 s renewed 1.0 s ago");
}

TEST(Lease, FailuresAreRepeatedLessAndLessOftenUntilOneSucceeds) {
  Lease lease(membership(), 4, false, TimeNs{0});
  TimeNs now{10 * second};
  std::vector<std::uint64_t> waits_ms;
  for (int i = 0; i < 8; ++i) {
    lease.failed("nobody answers", now);
    waits_ms.push_back(elapsed_ns(lease.next_attempt(), now) / 1'000'000);
    now = lease.next_attempt();
  }
  EXPECT_EQ(waits_ms, (std::vector<std::uint64_t>{100, 200, 400, 800, 1600, 3200, 5000, 5000}));
  EXPECT_EQ(lease.text(now), "lease of 30.0 s renewed 26.3 s ago; failing for 16.3 s: nobody "
                             "answers; next attempt in 0.0 s");
  lease.renewed(now);
  EXPECT_EQ(lease.text(now), "lease of 30.0 s renewed 0.0 s ago");
  lease.failed("again", now);
  EXPECT_EQ(elapsed_ns(lease.next_attempt(), now), second / 10) << "from the beginning";
}

TEST(Lease, ShortLeasesAreNotWaitedOut) {
  manager_client::Membership m = membership();
  m.lease = std::chrono::milliseconds(600);
  Lease lease(m, 4, false, TimeNs{0});
  EXPECT_EQ(lease.next_attempt(), TimeNs{second / 5});
  for (int i = 0; i < 5; ++i) {
    lease.failed("x", TimeNs{0});
    EXPECT_LE(lease.next_attempt(), TimeNs{second / 5});
  }
  m.lease = std::chrono::milliseconds(0);
  EXPECT_GE(Lease(m, 4, false, TimeNs{0}).next_attempt(), TimeNs{second / 10})
      << "never in a busy loop";
}

TEST(Lease, AWaitingCallHasItRenewedEachSecond) {
  Lease lease(membership(), 4, false, TimeNs{0});
  EXPECT_EQ(lease.next_attempt(), TimeNs{10 * second});
  lease.hurry(true);
  EXPECT_EQ(lease.next_attempt(), TimeNs{second});
  lease.renewed(TimeNs{4 * second});
  EXPECT_EQ(lease.next_attempt(), TimeNs{5 * second});
  lease.hurry(false);
  EXPECT_EQ(lease.next_attempt(), TimeNs{14 * second});
  lease.failed("no answer", TimeNs{14 * second});
  const TimeNs retry = lease.next_attempt();
  lease.hurry(true);
  EXPECT_EQ(lease.next_attempt(), retry) << "while it fails it is asked often enough";
}

TEST(Lease, WhoWaitsInALargeGroupAsksLessOftenUnlessItIsTheRoot) {
  const auto waits = [](std::uint32_t size, bool is_root, std::chrono::milliseconds lease_time) {
    manager_client::Membership m = membership();
    m.lease = lease_time;
    Lease lease(m, size, is_root, TimeNs{0});
    lease.hurry(true);
    return lease.next_attempt().value / 1'000'000;
  };
  using std::chrono::seconds;
  EXPECT_EQ(waits(1'000, false, seconds(30)), 1'000U);
  EXPECT_EQ(waits(2'500, false, seconds(30)), 2'500U) << "together a thousand a second";
  EXPECT_EQ(waits(50'000, false, seconds(30)), 3'000U) << "a tenth of the lease";
  EXPECT_EQ(waits(50'000, true, seconds(30)), 1'000U);
  EXPECT_EQ(waits(4, true, seconds(5)), 500U);
}

TEST(Lease, OfAGroupThatIsOverIsNotRenewedAnyMore) {
  Lease lease(membership(), 4, false, TimeNs{0});
  lease.over();
  lease.hurry(true);
  EXPECT_EQ(lease.next_attempt(), never);
  EXPECT_TRUE(lease.is_over());
  EXPECT_EQ(lease.text(TimeNs{second}), "the group is over");
}

TEST(Lease, ForgottenGroupIsJoinedAgain) {
  Lease lease(membership(), 4, false, TimeNs{0});
  lease.forgotten(TimeNs{second});
  EXPECT_TRUE(lease.is_forgotten());
  EXPECT_EQ(lease.next_attempt(), TimeNs{second}) << "at once";
  lease.failed("others are missing", TimeNs{second});
  EXPECT_TRUE(lease.is_forgotten());
  EXPECT_FALSE(lease.joined_again(membership(), TimeNs{2 * second})) << "as it was";
  EXPECT_FALSE(lease.is_forgotten());
  lease.forgotten(TimeNs{3 * second});
  EXPECT_TRUE(lease.joined_again(membership(6), TimeNs{3 * second}));
  EXPECT_EQ(lease.membership().trees[0], TreeNumber{6});
  EXPECT_NE(lease.text(TimeNs{3 * second}).find("joined again on other trees 1 times"),
            std::string::npos);
}

} // namespace
} // namespace tributary::library
