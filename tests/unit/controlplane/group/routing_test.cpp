// From the last join to ready, failures in between, later repairs, and the choice of the root.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Routing, what_is_to_be_installed_is_on_disk_first) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  fixture.expect<group::Install>();
  const auto disk = fixture.disk();
  ASSERT_EQ(disk.trees.size(), 1U);
  EXPECT_EQ(disk.trees[0].group, id);
  EXPECT_EQ(disk.trees[0].form, routes_over("spine").trees[0].form);
  EXPECT_EQ(disk.groups[0].state, GroupState::computing_routes);
  EXPECT_EQ(disk.groups[0].cookie, fixture->find(id)->cookie);
  EXPECT_EQ(disk.groups[0].root, 0U);

  fixture->installed(id, fixture.now);
  fixture.expect_nothing();
  EXPECT_EQ(fixture.state(id), GroupState::ready);
  EXPECT_EQ(fixture.disk().groups[0].state, GroupState::ready);
}

TEST(Routing, that_a_group_is_ready_is_found_again_when_it_was_not_stored) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  fixture.expect<group::Install>();
  fixture->installed(id, fixture.now);
  EXPECT_EQ(fixture->take_changes().size(), 1U) << "lost, as in a crash";
  fixture.restart();
  fixture.expect<group::Install>();
  fixture->installed(id, fixture.now);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
  ASSERT_TRUE(fixture.leave(0).ok());
}

TEST(Routing, twins_get_two_numbers_and_one_cookie) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto request = request_to_join(rank, rank + 1, 2);
    request.group.trees = 2;
    ASSERT_TRUE(fixture->join(request, fixture.now).ok());
  }
  const GroupId id = fixture.expect<group::ComputeRoutes>().group;
  EXPECT_THROW(fixture->routes_ready(id, routes_over("spine", 1), fixture.now),
               std::invalid_argument);
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("spine", 2), fixture.now));
  const Group& group = *fixture->find(id);
  ASSERT_EQ(group.routes.size(), 2U);
  EXPECT_NE(group.routes[0].number, group.routes[1].number);
  EXPECT_EQ(fixture->find(group.routes[1].number), &group);
  EXPECT_NE(group.cookie.value, 0U);
}

TEST(Routing, failing_routes_end_the_group_with_their_reason) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  fixture->routes_failed(
      id, {group::ErrorKind::unreachable, "NID 1 and NID 2 are in unconnected parts"}, fixture.now);
  const auto gone = fixture.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason, (group::Error{group::ErrorKind::unreachable,
                                                 "NID 1 and NID 2 are in unconnected parts"}));
}

TEST(Routing, failing_installation_ends_the_group_and_removes_what_may_be_there) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  fixture.expect<group::Install>();
  fixture->install_failed(id, "leaf1 refused", fixture.now);
  EXPECT_EQ(fixture.state(id), GroupState::destroying);
  EXPECT_EQ(fixture->find(id)->end_reason,
            (group::Error{group::ErrorKind::unavailable, "leaf1 refused"}));
  fixture.expect<group::Remove>();
  fixture->installed(id, fixture.now);
  EXPECT_EQ(fixture.state(id), GroupState::destroying) << "too late";
}

TEST(Routing, a_repair_replaces_the_routes_and_keeps_number_and_state) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  const TreeNumber number = fixture->find(id)->routes[0].number;
  const Cookie cookie = fixture->find(id)->cookie;
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("other"), fixture.now));
  EXPECT_EQ(fixture.expect<group::Install>().group, id);
  const Group& group = *fixture->find(id);
  EXPECT_EQ(group.state, GroupState::ready);
  EXPECT_EQ(group.routes[0].number, number);
  EXPECT_EQ(group.cookie, cookie);
  EXPECT_EQ(group.routes[0].form.root_switch, "other");
  EXPECT_EQ(fixture.disk().trees[0].form.root_switch, "other");
}

TEST(Routing, a_repair_that_fails_is_an_error_and_not_the_end) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  fixture->routes_failed(id, {group::ErrorKind::unreachable, "leaf1 is cut off"}, fixture.now);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
  EXPECT_EQ(group::describe(*fixture->find(id), fixture.now), "3 members reduce; leaf1 is cut off");
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("other"), fixture.now));
  fixture->install_failed(id, "leaf1 refused", fixture.now);
  EXPECT_EQ(fixture->find(id)->error, "leaf1 refused");
  fixture->installed(id, fixture.now);
  EXPECT_EQ(fixture->find(id)->error, "");
  EXPECT_FALSE(fixture->routes_ready(id, routes_over("tiny", 1, 0), fixture.now));
  EXPECT_THAT(fixture->find(id)->error, HasSubstr("cannot be moved"));
  EXPECT_EQ(fixture->find(id)->routes[0].form.root_switch, "other");
}

TEST(Routing, answers_about_groups_that_are_gone_change_nothing) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture->destroy("j1", "demo", fixture.now).ok());
  fixture.expect<group::Remove>();
  EXPECT_FALSE(fixture->routes_ready(id, routes_over("other"), fixture.now));
  fixture->removed(id, fixture.now);
  fixture.expect<group::Gone>();
  EXPECT_FALSE(fixture->routes_ready(id, routes_over("other"), fixture.now));
  fixture->routes_failed(id, {group::ErrorKind::unreachable, "x"}, fixture.now);
  fixture->installed(id, fixture.now);
  fixture->install_failed(id, "x", fixture.now);
  fixture->removed(id, fixture.now);
  EXPECT_TRUE(fixture->take_changes().empty());
  EXPECT_TRUE(fixture->take_actions().empty());
}

TEST(Root, a_host_is_the_root_of_one_group_only) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId a = fixture.computing(3, "a");
  const GroupId b = fixture.computing(3, "b");
  const GroupId c = fixture.computing(3, "c");
  EXPECT_EQ(fixture->find(a)->root, 0U);
  EXPECT_EQ(fixture->find(b)->root, 1U);
  EXPECT_EQ(fixture->find(c)->root, 2U);
  ASSERT_TRUE(fixture.join(0, 3, "d").ok());
  ASSERT_TRUE(fixture.join(1, 3, "d").ok());
  const auto last = fixture.join(2, 3, "d");
  ASSERT_FALSE(last.ok());
  const auto gone = fixture.expect<group::Gone>();
  EXPECT_EQ(last.error(), gone.group.end_reason);
  EXPECT_EQ(gone.group.end_reason.kind, group::ErrorKind::exhausted);
  EXPECT_THAT(gone.group.end_reason.message, ::testing::StartsWith("03: "));

  ASSERT_TRUE(fixture->destroy("j1", "b", fixture.now).ok());
  fixture.act();
  const GroupId e = fixture.computing(3, "e");
  EXPECT_EQ(fixture->find(e)->root, 1U) << "the host that was the root of b";
}

TEST(Root, the_one_asked_for_is_taken_or_the_group_ends_and_says_who_has_it) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId a = fixture.computing(3, "a");
  fixture.hosts(1, 3);
  const auto join_all = [&](std::uint32_t root) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      auto request = request_to_join(rank, rank + 1, 3, "b");
      request.group.root_rank = root;
      EXPECT_EQ(fixture->join(request, fixture.now).ok(), rank < 2 || root != 0);
    }
  };
  join_all(0);
  const auto gone = fixture.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason.kind, group::ErrorKind::exhausted);
  EXPECT_THAT(gone.group.end_reason.message,
              AllOf(HasSubstr("rank 0 (NID 1)"), HasSubstr("'a' of job j1")));
  join_all(2);
  const GroupId b = fixture.expect<group::ComputeRoutes>().group;
  EXPECT_EQ(fixture->find(b)->root, 2U);
  EXPECT_EQ(fixture->find(a)->root, 0U);
}

/// Both members of a group that wants its rank 0, NID 1, as its root.
void join_with_root_0(RegistryFixture& fixture, const std::string& name) {
  for (const std::uint32_t rank : {0U, 1U}) {
    auto request = request_to_join(rank, rank + 1, 2, name);
    request.group.root_rank = 0;
    EXPECT_TRUE(fixture->join(request, fixture.now).ok());
  }
}

TEST(RootOfAGroupBeingRemoved, is_waited_for_and_then_taken) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId first = fixture.ready(2, "first");
  ASSERT_TRUE(fixture->destroy("j1", "first", fixture.now).ok());
  EXPECT_EQ(fixture.expect<group::Remove>().group, first);
  join_with_root_0(fixture, "second");
  fixture.expect_nothing();
  const Group* const second = fixture->find("j1", "second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->state, GroupState::receiving_join_req);
  EXPECT_THAT(describe(*second, fixture.now),
              HasSubstr("waits for group 'first' of job j1, which is being removed"));
  fixture->removed(first, fixture.now);
  EXPECT_EQ(second->state, GroupState::computing_routes);
  EXPECT_EQ(second->root, 0U);
  const auto actions = fixture.act();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<group::Gone>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<group::ComputeRoutes>(actions[1]));
}

TEST(RootOfAGroupBeingRemoved, that_is_not_given_up_in_time_is_named) {
  RegistryFixture fixture({.join_limit_ns = 10 * second});
  fixture.job();
  fixture.ready(2, "first");
  ASSERT_TRUE(fixture->destroy("j1", "first", fixture.now).ok());
  join_with_root_0(fixture, "second");
  fixture.act();
  fixture.now = fixture->find("j1", "second")->deadline;
  fixture->poll(fixture.now);
  EXPECT_THAT(fixture.expect<group::Gone>().group.end_reason.message,
              HasSubstr("all members joined, but group 'first' of job j1"));
}

/// A group that is being removed, and two that wait for its root.
GroupId two_waiting_for_one(RegistryFixture& fixture) {
  fixture.job();
  const GroupId first = fixture.ready(2, "first");
  EXPECT_TRUE(fixture->destroy("j1", "first", fixture.now).ok());
  join_with_root_0(fixture, "second");
  join_with_root_0(fixture, "third");
  fixture.act();
  return first;
}

TEST(RootOfAGroupBeingRemoved, goes_to_one_of_those_that_wait_and_the_others_are_notified) {
  RegistryFixture fixture;
  fixture->removed(two_waiting_for_one(fixture), fixture.now);
  EXPECT_EQ(fixture->find("j1", "second")->state, GroupState::computing_routes);
  EXPECT_EQ(fixture->find("j1", "third"), nullptr);
}

TEST(RootOfAGroupBeingRemoved, is_of_no_use_when_the_job_of_those_that_wait_ends) {
  RegistryFixture fixture;
  const GroupId first = two_waiting_for_one(fixture);
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  fixture->removed(first, fixture.now);
  EXPECT_TRUE(fixture->groups().empty());
  EXPECT_EQ(fixture->find_job("j1"), nullptr);
}

TEST(RootOfAGroupBeingRemoved, is_waited_for_by_a_multicast_all_of_whose_hosts_are_roots) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId first = fixture.ready(2, "first");
  fixture.ready(2, "other");
  const group::MulticastRequest request{
      .job = "j1", .step = "0", .members = {Nid{1}, Nid{2}}, .vni = Vni{2000}};
  EXPECT_FALSE(fixture->create_multicast(request, fixture.now).ok());
  ASSERT_TRUE(fixture->destroy("j1", "first", fixture.now).ok());
  const auto made = fixture->create_multicast(request, fixture.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->state, GroupState::receiving_join_req);
  const GroupId id = (*made)->id;
  fixture->removed(first, fixture.now);
  EXPECT_EQ(fixture->find(id)->state, GroupState::computing_routes);
  EXPECT_EQ(fixture->find(id)->root, 0U);
}

} // namespace
} // namespace tributary::test
