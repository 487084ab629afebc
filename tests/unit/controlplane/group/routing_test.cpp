// From the last join to ready, failures in between, and later repairs.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tributary::test {
namespace {

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

} // namespace
} // namespace tributary::test
