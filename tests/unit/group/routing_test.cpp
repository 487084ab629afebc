// From the last join to ready, what can fail on the way, repairs later on, and who is the root.
#include "tests/unit/group/office.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Routing, what_is_to_be_installed_is_on_disk_first) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  ASSERT_TRUE(office->routes_ready(id, routes_over("spine"), office.now));
  office.expect<group::Install>();
  const auto disk = office.disk();
  ASSERT_EQ(disk.trees.size(), 1U);
  EXPECT_EQ(disk.trees[0].group, id);
  EXPECT_EQ(disk.trees[0].form, routes_over("spine").trees[0].form);
  EXPECT_EQ(disk.groups[0].state, GroupState::computing_routes);
  EXPECT_EQ(disk.groups[0].cookie, office->find(id)->cookie);
  EXPECT_EQ(disk.groups[0].root, 0U);

  office->installed(id, office.now);
  office.expect_nothing();
  EXPECT_EQ(office.state(id), GroupState::ready);
  EXPECT_EQ(office.disk().groups[0].state, GroupState::ready);
}

TEST(Routing, that_a_group_is_ready_need_not_wait_for_the_disk_and_all_else_has_to) {
  Office office;
  office.job();
  EXPECT_TRUE(office->changes_are_urgent());
  const GroupId id = office.computing();
  EXPECT_FALSE(office->changes_are_urgent()) << "all was taken";
  ASSERT_TRUE(office->routes_ready(id, routes_over("spine"), office.now));
  EXPECT_TRUE(office->changes_are_urgent());
  office.expect<group::Install>();
  office->installed(id, office.now);
  EXPECT_FALSE(office->changes_are_urgent());
  EXPECT_EQ(office->take_changes().size(), 1U) << "lost, as in a crash";
  office.restart();
  office.expect<group::Install>();
  office->installed(id, office.now);
  EXPECT_EQ(office.state(id), GroupState::ready);
  ASSERT_TRUE(office.leave(0).ok());
  EXPECT_TRUE(office->changes_are_urgent());
}

TEST(Routing, twins_get_two_numbers_and_one_cookie) {
  Office office;
  office.job();
  office.hosts(1, 2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    auto request = request_to_join(rank, rank + 1, 2);
    request.group.trees = 2;
    ASSERT_TRUE(office->join(request, office.now).ok());
  }
  const GroupId id = office.expect<group::ComputeRoutes>().group;
  EXPECT_THROW(office->routes_ready(id, routes_over("spine", 1), office.now),
               std::invalid_argument);
  ASSERT_TRUE(office->routes_ready(id, routes_over("spine", 2), office.now));
  const Group& group = *office->find(id);
  ASSERT_EQ(group.routes.size(), 2U);
  EXPECT_NE(group.routes[0].number, group.routes[1].number);
  EXPECT_EQ(office->find(group.routes[1].number), &group);
  EXPECT_NE(group.cookie.value, 0U);
}

TEST(Routing, failing_routes_end_the_group_with_their_reason) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  office->routes_failed(id, {422, "NID 1 and NID 2 are in unconnected parts"}, office.now);
  const auto gone = office.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason, (group::Error{422, "NID 1 and NID 2 are in unconnected parts"}));
}

TEST(Routing, failing_installation_ends_the_group_and_removes_what_may_be_there) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  ASSERT_TRUE(office->routes_ready(id, routes_over("spine"), office.now));
  office.expect<group::Install>();
  office->install_failed(id, "leaf1 refused", office.now);
  EXPECT_EQ(office.state(id), GroupState::destroying);
  EXPECT_EQ(office->find(id)->end_reason, (group::Error{503, "leaf1 refused"}));
  office.expect<group::Remove>();
  office->installed(id, office.now);
  EXPECT_EQ(office.state(id), GroupState::destroying) << "too late";
}

TEST(Routing, a_repair_replaces_the_routes_and_keeps_number_and_state) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  const TreeNumber number = office->find(id)->routes[0].number;
  const Cookie cookie = office->find(id)->cookie;
  ASSERT_TRUE(office->routes_ready(id, routes_over("other"), office.now));
  EXPECT_EQ(office.expect<group::Install>().group, id);
  const Group& group = *office->find(id);
  EXPECT_EQ(group.state, GroupState::ready);
  EXPECT_EQ(group.routes[0].number, number);
  EXPECT_EQ(group.cookie, cookie);
  EXPECT_EQ(group.routes[0].form.root_switch, "other");
  EXPECT_EQ(office.disk().trees[0].form.root_switch, "other");
}

TEST(Routing, a_repair_that_fails_is_an_error_and_not_the_end) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  office->routes_failed(id, {422, "leaf1 is cut off"}, office.now);
  EXPECT_EQ(office.state(id), GroupState::ready);
  EXPECT_EQ(group::describe(*office->find(id), office.now), "3 members reduce; leaf1 is cut off");
  ASSERT_TRUE(office->routes_ready(id, routes_over("other"), office.now));
  office->install_failed(id, "leaf1 refused", office.now);
  EXPECT_EQ(office->find(id)->error, "leaf1 refused");
  office->installed(id, office.now);
  EXPECT_EQ(office->find(id)->error, "");
  EXPECT_FALSE(office->routes_ready(id, routes_over("tiny", 1, 0), office.now));
  EXPECT_THAT(office->find(id)->error, HasSubstr("cannot be moved"));
  EXPECT_EQ(office->find(id)->routes[0].form.root_switch, "other");
}

TEST(Routing, answers_about_groups_that_are_gone_change_nothing) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office->destroy("j1", "demo", office.now).ok());
  office.expect<group::Remove>();
  EXPECT_FALSE(office->routes_ready(id, routes_over("other"), office.now));
  office->removed(id, office.now);
  office.expect<group::Gone>();
  EXPECT_FALSE(office->routes_ready(id, routes_over("other"), office.now));
  office->routes_failed(id, {422, "x"}, office.now);
  office->installed(id, office.now);
  office->install_failed(id, "x", office.now);
  office->removed(id, office.now);
  EXPECT_TRUE(office->take_changes().empty());
  EXPECT_TRUE(office->take_actions().empty());
}

TEST(Root, a_host_is_the_root_of_one_group_only) {
  Office office;
  office.job();
  const GroupId a = office.computing(3, "a");
  const GroupId b = office.computing(3, "b");
  const GroupId c = office.computing(3, "c");
  EXPECT_EQ(office->find(a)->root, 0U);
  EXPECT_EQ(office->find(b)->root, 1U);
  EXPECT_EQ(office->find(c)->root, 2U);
  ASSERT_TRUE(office.join(0, 3, "d").ok());
  ASSERT_TRUE(office.join(1, 3, "d").ok());
  const auto last = office.join(2, 3, "d");
  ASSERT_FALSE(last.ok());
  const auto gone = office.expect<group::Gone>();
  EXPECT_EQ(last.error(), gone.group.end_reason);
  EXPECT_EQ(gone.group.end_reason.status, 507U);
  EXPECT_THAT(gone.group.end_reason.message, ::testing::StartsWith("03: "));

  ASSERT_TRUE(office->destroy("j1", "b", office.now).ok());
  office.act();
  const GroupId e = office.computing(3, "e");
  EXPECT_EQ(office->find(e)->root, 1U) << "the host that was the root of b";
}

TEST(Root, the_one_asked_for_is_taken_or_the_group_ends_and_says_who_has_it) {
  Office office;
  office.job();
  const GroupId a = office.computing(3, "a");
  office.hosts(1, 3);
  const auto join_all = [&](std::uint32_t root) {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      auto request = request_to_join(rank, rank + 1, 3, "b");
      request.group.root_rank = root;
      EXPECT_EQ(office->join(request, office.now).ok(), rank < 2 || root != 0);
    }
  };
  join_all(0);
  const auto gone = office.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason.status, 507U);
  EXPECT_THAT(gone.group.end_reason.message,
              AllOf(HasSubstr("rank 0 (NID 1)"), HasSubstr("'a' of job j1")));
  join_all(2);
  const GroupId b = office.expect<group::ComputeRoutes>().group;
  EXPECT_EQ(office->find(b)->root, 2U);
  EXPECT_EQ(office->find(a)->root, 0U);
}

} // namespace
} // namespace tributary::test
