// Leaving, leases, and members that crash: no routes are computed again, and no member blocks the
// others.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using ::testing::HasSubstr;

TEST(Leaving, the_first_starts_collecting_and_the_last_has_the_trees_removed) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  EXPECT_EQ((*fixture.leave(1))->state, GroupState::receiving_leave_req);
  EXPECT_EQ((*fixture.leave(0))->state, GroupState::receiving_leave_req);
  fixture.expect_nothing();
  EXPECT_EQ((*fixture.leave(2))->state, GroupState::destroying);
  EXPECT_EQ(fixture.expect<group::Remove>().group, id);
  fixture->removed(id, fixture.now);
  const auto gone = fixture.expect<group::Gone>();
  EXPECT_EQ(gone.group.id, id);
  EXPECT_THAT(gone.group.end_reason.message, HasSubstr("all its members have left"));
  EXPECT_EQ(fixture.state(id), GroupState::gone);
}

TEST(Leaving, a_leave_that_is_repeated_is_answered_as_the_first) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture.leave(1).ok());
  EXPECT_TRUE(fixture.leave(1).ok());
  EXPECT_EQ(fixture->find(id)->present, 2U);
  ASSERT_TRUE(fixture.leave(0).ok());
  ASSERT_TRUE(fixture.leave(2).ok());
  EXPECT_TRUE(fixture.leave(2).ok()) << "while it is being removed, too";
}

TEST(Leaving, who_left_cannot_join_or_renew_until_the_group_is_gone) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture.leave(1).ok());
  EXPECT_EQ(fixture.join(1).error().kind, group::ErrorKind::conflict);
  EXPECT_EQ(fixture->renew("j1", "demo", 1, fixture.now).error().kind, group::ErrorKind::conflict);
  ASSERT_TRUE(fixture->destroy("j1", "demo", fixture.now).ok());
  fixture->removed(id, fixture.now);
  EXPECT_TRUE(fixture.join(1).ok());
}

TEST(Leaving, ranks_that_are_not_there_are_not_found) {
  RegistryFixture fixture;
  fixture.job();
  EXPECT_EQ(fixture.leave(0).error().kind, group::ErrorKind::not_found);
  ASSERT_TRUE(fixture.join(0).ok());
  EXPECT_THAT(fixture.leave(1).error().message, HasSubstr("has not joined"));
  EXPECT_THAT(fixture.leave(7).error().message, HasSubstr("0 to 2"));
  EXPECT_EQ(fixture->renew("j1", "demo", 1, fixture.now).error().kind, group::ErrorKind::not_found);
}

TEST(Leaving, the_time_limit_ends_the_group_for_those_who_stay) {
  RegistryFixture fixture({.lease_ns = 1'000 * second});
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture.leave(1).ok());
  fixture.pass(30 * second - 1);
  EXPECT_EQ(fixture.state(id), GroupState::receiving_leave_req);
  fixture.pass(1);
  EXPECT_EQ(fixture.state(id), GroupState::destroying);
  EXPECT_THAT(fixture->find(id)->end_reason.message, HasSubstr("2 of 3 members did not leave"));
  fixture.expect<group::Remove>();
}

TEST(Leaving, while_routes_are_computed_it_is_noted_and_the_group_starts_leaving_when_ready) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  ASSERT_TRUE(fixture.leave(2).ok());
  EXPECT_EQ(fixture.state(id), GroupState::computing_routes);
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  fixture.expect<group::Install>();
  fixture->installed(id, fixture.now);
  EXPECT_EQ(fixture.state(id), GroupState::receiving_leave_req);
  EXPECT_EQ(fixture->find(id)->deadline, fixture.now + 30 * second);
}

TEST(Leaving, when_all_leave_before_the_routes_are_there_the_routes_are_not_wanted_any_more) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(fixture.leave(rank).ok());
  }
  fixture.expect<group::Gone>();
  EXPECT_FALSE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  fixture.expect_nothing();
  EXPECT_EQ(fixture->trees_in_use(), 0U);
}

TEST(Lease, runs_out_unless_renewed_and_then_counts_as_having_left) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  fixture.pass(29 * second);
  for (const std::uint32_t rank : {0U, 2U}) {
    ASSERT_TRUE(fixture->renew("j1", "demo", rank, fixture.now).ok());
  }
  EXPECT_EQ(fixture->next_deadline(), fixture.now + second);
  fixture.pass(second);
  const Group& group = *fixture->find(id);
  EXPECT_EQ(group.state, GroupState::receiving_leave_req);
  EXPECT_EQ(group.members.at(1).state, group::MemberState::expired);
  EXPECT_EQ(group.members.at(0).state, group::MemberState::joined);
  fixture.expect_nothing();
  EXPECT_EQ(fixture->renew("j1", "demo", 1, fixture.now).error().kind, group::ErrorKind::conflict);
}

TEST(Lease, those_that_are_not_there_for_the_others_are_named_with_their_hosts) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready(4);
  const auto named = [&] {
    std::string text;
    for (const group::Absent& one : group::absent(*fixture->find(id), 8)) {
      text += std::to_string(one.rank) + " " + one.host + " " + one.why +
              (one.gone ? " for good; " : "; ");
    }
    return text;
  };
  EXPECT_EQ(named(), "");
  fixture->lost(Nid{3});
  EXPECT_EQ(named(), "2 h2 no switch has seen its host; ");
  fixture->located(Nid{3}, fixture.now);
  EXPECT_EQ(named(), "");
  fixture->lost(Nid{2});
  fixture.pass(29 * second);
  for (const std::uint32_t rank : {0U, 2U, 3U}) {
    ASSERT_TRUE(fixture->renew("j1", "demo", rank, fixture.now).ok());
  }
  fixture.pass(second);
  EXPECT_EQ(named(), "1 h1 its lease ended for good; ") << "and not twice";
  ASSERT_TRUE(fixture.leave(3).ok());
  EXPECT_EQ(named(), "1 h1 its lease ended for good; 3 h3 it has left for good; ");
  EXPECT_EQ(group::absent(*fixture->find(id), 1).size(), 1U);
}

TEST(Lease, one_that_crashes_before_all_are_there_has_never_joined) {
  RegistryFixture fixture({.join_limit_ns = 100 * second});
  fixture.job();
  fixture.hosts(1, 9);
  ASSERT_TRUE(fixture.join(0).ok());
  fixture.pass(20 * second);
  ASSERT_TRUE(fixture.join(1).ok());
  fixture.pass(10 * second);
  const Group& group = *fixture->find("j1", "demo");
  EXPECT_FALSE(group.members.contains(0));
  EXPECT_TRUE(group.members.contains(1));
  EXPECT_EQ(group.state, GroupState::receiving_join_req);
  const auto other_host = fixture->join(request_to_join(0, 9, 3, "demo"), fixture.now);
  EXPECT_TRUE(other_host.ok()) << other_host.error().message;
}

TEST(Lease, when_all_members_crashed_the_trees_are_removed) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  fixture.pass(30 * second);
  EXPECT_EQ(fixture.state(id), GroupState::destroying);
  EXPECT_EQ(fixture.expect<group::Remove>().group, id);
  EXPECT_EQ(fixture->next_deadline(), never);
}

TEST(Lease, asking_again_renews) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  fixture.pass(20 * second);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(fixture.join(rank).ok());
  }
  fixture.pass(29 * second);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
}

TEST(Lease, a_late_poll_finds_everything_that_is_due) {
  RegistryFixture fixture;
  fixture.job();
  fixture.ready(3, "a");
  ASSERT_TRUE(fixture.join(0, 2, "b").ok());
  ASSERT_TRUE(fixture.join(1, 2, "c").ok());
  fixture.act();
  fixture.pass(1'000 * second);
  EXPECT_EQ(fixture->find("j1", "a")->state, GroupState::destroying);
  EXPECT_EQ(fixture->find("j1", "b"), nullptr);
  EXPECT_EQ(fixture->find("j1", "c"), nullptr);
}

} // namespace
} // namespace tributary::test
