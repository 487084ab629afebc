// Leaving, leases, and members that crash: nothing is computed anew, and nobody blocks the others.
#include "tests/unit/group/office.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using ::testing::HasSubstr;

TEST(Leaving, the_first_starts_collecting_and_the_last_has_the_trees_removed) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  EXPECT_EQ((*office.leave(1))->state, GroupState::receiving_leave_req);
  EXPECT_EQ((*office.leave(0))->state, GroupState::receiving_leave_req);
  office.expect_nothing();
  EXPECT_EQ((*office.leave(2))->state, GroupState::destroying);
  EXPECT_EQ(office.expect<group::Remove>().group, id);
  office->removed(id, office.now);
  const auto gone = office.expect<group::Gone>();
  EXPECT_EQ(gone.group.id, id);
  EXPECT_THAT(gone.group.end_reason.message, HasSubstr("all its members have left"));
  EXPECT_EQ(office.state(id), GroupState::gone);
}

TEST(Leaving, a_leave_that_is_repeated_is_answered_as_the_first) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office.leave(1).ok());
  EXPECT_TRUE(office.leave(1).ok());
  EXPECT_EQ(office->find(id)->present, 2U);
  ASSERT_TRUE(office.leave(0).ok());
  ASSERT_TRUE(office.leave(2).ok());
  EXPECT_TRUE(office.leave(2).ok()) << "while it is being removed, too";
}

TEST(Leaving, who_left_cannot_join_or_renew_until_the_group_is_gone) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office.leave(1).ok());
  EXPECT_EQ(office.join(1).error().status, 409U);
  EXPECT_EQ(office->renew("j1", "demo", 1, office.now).error().status, 409U);
  ASSERT_TRUE(office->destroy("j1", "demo", office.now).ok());
  office->removed(id, office.now);
  EXPECT_TRUE(office.join(1).ok());
}

TEST(Leaving, ranks_that_are_not_there_are_not_found) {
  Office office;
  office.job();
  EXPECT_EQ(office.leave(0).error().status, 404U);
  ASSERT_TRUE(office.join(0).ok());
  EXPECT_THAT(office.leave(1).error().message, HasSubstr("has not joined"));
  EXPECT_THAT(office.leave(7).error().message, HasSubstr("0 to 2"));
  EXPECT_EQ(office->renew("j1", "demo", 1, office.now).error().status, 404U);
}

TEST(Leaving, the_time_limit_ends_the_group_for_those_who_stay) {
  Office office({.lease_ns = 1'000 * second});
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office.leave(1).ok());
  office.pass(30 * second - 1);
  EXPECT_EQ(office.state(id), GroupState::receiving_leave_req);
  office.pass(1);
  EXPECT_EQ(office.state(id), GroupState::destroying);
  EXPECT_THAT(office->find(id)->end_reason.message, HasSubstr("2 of 3 members did not leave"));
  office.expect<group::Remove>();
}

TEST(Leaving, while_routes_are_computed_it_is_noted_and_the_group_starts_leaving_when_ready) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  ASSERT_TRUE(office.leave(2).ok());
  EXPECT_EQ(office.state(id), GroupState::computing_routes);
  ASSERT_TRUE(office->routes_ready(id, routes_over("spine"), office.now));
  office.expect<group::Install>();
  office->installed(id, office.now);
  EXPECT_EQ(office.state(id), GroupState::receiving_leave_req);
  EXPECT_EQ(office->find(id)->deadline, office.now + 30 * second);
}

TEST(Leaving, when_all_leave_before_the_routes_are_there_the_routes_are_not_wanted_any_more) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(office.leave(rank).ok());
  }
  office.expect<group::Gone>();
  EXPECT_FALSE(office->routes_ready(id, routes_over("spine"), office.now));
  office.expect_nothing();
  EXPECT_EQ(office->trees_in_use(), 0U);
}

TEST(Lease, runs_out_unless_renewed_and_then_counts_as_having_left) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  office.pass(29 * second);
  for (const std::uint32_t rank : {0U, 2U}) {
    ASSERT_TRUE(office->renew("j1", "demo", rank, office.now).ok());
  }
  EXPECT_EQ(office->next_deadline(), office.now + second);
  office.pass(second);
  const Group& group = *office->find(id);
  EXPECT_EQ(group.state, GroupState::receiving_leave_req);
  EXPECT_EQ(group.members.at(1).state, group::MemberState::expired);
  EXPECT_EQ(group.members.at(0).state, group::MemberState::joined);
  office.expect_nothing();
  EXPECT_EQ(office->renew("j1", "demo", 1, office.now).error().status, 409U);
}

TEST(Lease, those_that_are_not_there_for_the_others_are_named_with_their_hosts) {
  Office office;
  office.job();
  const GroupId id = office.ready(4);
  const auto named = [&] {
    std::string text;
    for (const group::Absent& one : group::absent(*office->find(id), 8)) {
      text += std::to_string(one.rank) + " " + one.host + " " + one.why +
              (one.gone ? " for good; " : "; ");
    }
    return text;
  };
  EXPECT_EQ(named(), "");
  office->lost(Nid{3});
  EXPECT_EQ(named(), "2 h2 no switch hears of its host; ");
  office->located(Nid{3}, office.now);
  EXPECT_EQ(named(), "");
  office->lost(Nid{2});
  office.pass(29 * second);
  for (const std::uint32_t rank : {0U, 2U, 3U}) {
    ASSERT_TRUE(office->renew("j1", "demo", rank, office.now).ok());
  }
  office.pass(second);
  EXPECT_EQ(named(), "1 h1 its lease ended for good; ") << "and not twice";
  ASSERT_TRUE(office.leave(3).ok());
  EXPECT_EQ(named(), "1 h1 its lease ended for good; 3 h3 it has left for good; ");
  EXPECT_EQ(group::absent(*office->find(id), 1).size(), 1U);
}

TEST(Lease, one_that_crashes_before_all_are_there_has_never_joined) {
  Office office({.join_limit_ns = 100 * second});
  office.job();
  office.hosts(1, 9);
  ASSERT_TRUE(office.join(0).ok());
  office.pass(20 * second);
  ASSERT_TRUE(office.join(1).ok());
  office.pass(10 * second);
  const Group& group = *office->find("j1", "demo");
  EXPECT_FALSE(group.members.contains(0));
  EXPECT_TRUE(group.members.contains(1));
  EXPECT_EQ(group.state, GroupState::receiving_join_req);
  const auto other_host = office->join(request_to_join(0, 9, 3, "demo"), office.now);
  EXPECT_TRUE(other_host.ok()) << other_host.error().message;
}

TEST(Lease, when_everybody_crashed_the_trees_are_removed) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  office.pass(30 * second);
  EXPECT_EQ(office.state(id), GroupState::destroying);
  EXPECT_EQ(office.expect<group::Remove>().group, id);
  EXPECT_EQ(office->next_deadline(), never);
}

TEST(Lease, asking_again_renews) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  office.pass(20 * second);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(office.join(rank).ok());
  }
  office.pass(29 * second);
  EXPECT_EQ(office.state(id), GroupState::ready);
}

TEST(Lease, a_late_poll_finds_everything_that_is_due) {
  Office office;
  office.job();
  office.ready(3, "a");
  ASSERT_TRUE(office.join(0, 2, "b").ok());
  ASSERT_TRUE(office.join(1, 2, "c").ok());
  office.act();
  office.pass(1'000 * second);
  EXPECT_EQ(office->find("j1", "a")->state, GroupState::destroying);
  EXPECT_EQ(office->find("j1", "b"), nullptr);
  EXPECT_EQ(office->find("j1", "c"), nullptr);
}

} // namespace
} // namespace tributary::test
