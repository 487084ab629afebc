// The root of a group: any number of named groups may have theirs at one host, multicasts of the
// Slingshot-shaped contract may not.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Joins all members of a group, NID 1 and so on, that wants this root.
void join_with_root(RegistryFixture& fixture, const std::string& name, std::uint32_t root,
                    std::uint32_t size = 3) {
  fixture.hosts(1, size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    auto request = request_to_join(rank, rank + 1, size, name);
    request.group.root_rank = root;
    EXPECT_TRUE(fixture->join(request, fixture.now).ok()) << name << " rank " << rank;
  }
}

group::MulticastRequest multicast(std::vector<Nid> members) {
  return {.job = "j1", .step = "0", .members = std::move(members), .vni = Vni{2000}};
}

/// Creates it, and delivers its address: the next equal request creates another one.
GroupId make_multicast(RegistryFixture& fixture, const std::vector<Nid>& members) {
  const auto made = fixture->create_multicast(multicast(members), fixture.now);
  EXPECT_TRUE(made.ok()) << made.error().message;
  const GroupId id = (*made)->id;
  EXPECT_EQ(fixture.expect<group::ComputeRoutes>().group, id);
  EXPECT_TRUE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  EXPECT_EQ(fixture.expect<group::Install>().group, id);
  fixture->installed(id, fixture.now);
  fixture->answered(id);
  return id;
}

TEST(Root, one_host_is_the_root_of_as_many_groups_as_ask_for_it) {
  constexpr std::uint32_t groups = 500;
  RegistryFixture fixture({.default_multicast_limit = groups});
  fixture.job();
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::string name = std::to_string(g);
    join_with_root(fixture, name, 1);
    const GroupId id = fixture.expect<group::ComputeRoutes>().group;
    ASSERT_EQ(fixture->find(id)->root, 1U) << name;
    ASSERT_TRUE(fixture->routes_ready(id, routes_over("s"), fixture.now));
    fixture->installed(id, fixture.now);
    fixture.act();
    ASSERT_EQ(fixture.state(id), GroupState::ready) << name;
  }
  EXPECT_EQ(fixture->trees_in_use(), groups);
}

TEST(Root, without_a_request_it_goes_to_the_host_that_is_the_root_of_the_fewest_groups) {
  RegistryFixture fixture;
  fixture.job();
  std::map<std::uint32_t, int> roots;
  for (const char* const name : {"a", "b", "c", "d", "e", "f", "g"}) {
    ++roots[fixture->find(fixture.computing(3, name))->root.value()];
  }
  EXPECT_EQ(roots, (std::map<std::uint32_t, int>{{0, 3}, {1, 2}, {2, 2}}));

  ASSERT_TRUE(fixture->destroy("j1", "b", fixture.now).ok());
  ASSERT_TRUE(fixture->destroy("j1", "e", fixture.now).ok());
  fixture.act();
  EXPECT_EQ(fixture->find(fixture.computing(3, "h"))->root, 1U) << "the root of b and e";
}

TEST(Root, counts_the_groups_of_all_jobs) {
  RegistryFixture fixture;
  fixture.job("j1");
  fixture.job("j2");
  join_with_root(fixture, "a", 0);
  fixture.act();
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(fixture.join(rank, 2, "a", "j2").ok());
  }
  EXPECT_EQ(fixture->find(fixture.expect<group::ComputeRoutes>().group)->root, 1U);
}

TEST(Root, of_a_group_that_is_being_removed_holds_nobody_up) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId first = fixture.ready(2, "first");
  ASSERT_TRUE(fixture->destroy("j1", "first", fixture.now).ok());
  EXPECT_EQ(fixture.expect<group::Remove>().group, first);
  join_with_root(fixture, "second", 0, 2);
  const GroupId second = fixture.expect<group::ComputeRoutes>().group;
  EXPECT_EQ(fixture->find(second)->root, 0U);
  fixture->removed(first, fixture.now);
  EXPECT_EQ(fixture->find(second)->root, 0U);
  EXPECT_EQ(fixture.expect<group::Gone>().group.id, first);
}

TEST(Root, is_the_same_after_a_restart_and_counts_as_before) {
  RegistryFixture fixture;
  fixture.job();
  for (const char* const name : {"a", "b"}) {
    join_with_root(fixture, name, 0);
    const GroupId id = fixture.expect<group::ComputeRoutes>().group;
    ASSERT_TRUE(fixture->routes_ready(id, routes_over("s"), fixture.now));
    fixture->installed(id, fixture.now);
    fixture.act();
  }
  fixture.restart();
  EXPECT_EQ(fixture->find("j1", "a")->root, 0U);
  EXPECT_EQ(fixture->find("j1", "b")->root, 0U);
  EXPECT_EQ(fixture->find(fixture.computing(3, "c"))->root, 1U);
  EXPECT_EQ(fixture->find(fixture.computing(3, "d"))->root, 2U);
  EXPECT_EQ(fixture->find(fixture.computing(3, "e"))->root, 1U);
}

TEST(Root, that_was_taken_back_counts_no_more) {
  RegistryFixture fixture;
  fixture.job();
  fixture->begin_requests();
  join_with_root(fixture, "a", 0);
  fixture->undo_requests();
  fixture.expect_nothing();
  EXPECT_EQ(fixture->find(fixture.computing(3, "b"))->root, 0U);
}

TEST(RootOfAMulticast, may_be_the_root_of_named_groups_too) {
  RegistryFixture fixture;
  fixture.job();
  for (const char* const name : {"a", "b"}) {
    join_with_root(fixture, name, 0, 2);
    fixture.act();
  }
  const GroupId multicast = make_multicast(fixture, {Nid{1}, Nid{2}});
  EXPECT_EQ(fixture->find(multicast)->root, 0U);
  join_with_root(fixture, "c", 0, 2);
  EXPECT_EQ(fixture->find(fixture.expect<group::ComputeRoutes>().group)->root, 0U);
}

TEST(RootOfAMulticast, is_the_root_of_no_other_multicast_and_who_has_them_is_said) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 2);
  EXPECT_EQ(fixture->find(make_multicast(fixture, {Nid{1}, Nid{2}}))->root, 0U);
  EXPECT_EQ(fixture->find(make_multicast(fixture, {Nid{1}, Nid{2}}))->root, 1U);
  const auto refused = fixture->create_multicast(multicast({Nid{1}, Nid{2}}), fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message,
              AllOf(StartsWith("03: "), HasSubstr("one multicast only"),
                    HasSubstr("rank 0 (NID 1)"), HasSubstr("rank 1 (NID 2)")));
}

/// A multicast that is being removed, and its request.
GroupId being_removed(RegistryFixture& fixture) {
  fixture.job();
  fixture.hosts(1, 2);
  const GroupId first = make_multicast(fixture, {Nid{1}});
  EXPECT_TRUE(fixture->destroy("j1", fixture->find(first)->name, fixture.now).ok());
  EXPECT_EQ(fixture.expect<group::Remove>().group, first);
  return first;
}

TEST(RootOfAMulticastBeingRemoved, is_waited_for_and_then_taken) {
  RegistryFixture fixture;
  const GroupId first = being_removed(fixture);
  const auto made = fixture->create_multicast(multicast({Nid{1}}), fixture.now);
  ASSERT_TRUE(made.ok());
  const Group* const second = *made;
  fixture.expect_nothing();
  EXPECT_EQ(second->state, GroupState::receiving_join_req);
  EXPECT_THAT(describe(*second, fixture.now),
              AllOf(HasSubstr("waits for group 'multicast-"), HasSubstr("which is being removed")));
  fixture->removed(first, fixture.now);
  EXPECT_EQ(second->state, GroupState::computing_routes);
  EXPECT_EQ(second->root, 0U);
  const auto actions = fixture.act();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<group::Gone>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<group::ComputeRoutes>(actions[1]));
}

TEST(RootOfAMulticastBeingRemoved, that_is_not_given_up_in_time_is_named) {
  RegistryFixture fixture({.join_limit_ns = 10 * second});
  being_removed(fixture);
  const auto made = fixture->create_multicast(multicast({Nid{1}}), fixture.now);
  ASSERT_TRUE(made.ok());
  fixture.act();
  fixture.now = (*made)->deadline;
  fixture->poll(fixture.now);
  EXPECT_THAT(fixture.expect<group::Gone>().group.end_reason.message,
              HasSubstr("all members joined, but group 'multicast-"));
}

TEST(RootOfAMulticastBeingRemoved, goes_to_one_of_those_that_wait_and_the_others_are_notified) {
  RegistryFixture fixture;
  const GroupId first = being_removed(fixture);
  auto second_request = multicast({Nid{1}});
  auto third_request = multicast({Nid{1}});
  third_request.step = "1";
  const auto second_one = fixture->create_multicast(second_request, fixture.now);
  const auto third_one = fixture->create_multicast(third_request, fixture.now);
  ASSERT_TRUE(second_one.ok() && third_one.ok());
  const GroupId waits = (*second_one)->id;
  const GroupId in_vain = (*third_one)->id;
  fixture->removed(first, fixture.now);
  EXPECT_EQ(fixture.state(waits), GroupState::computing_routes);
  EXPECT_EQ(fixture.state(in_vain), GroupState::gone);
}

TEST(RootOfAMulticastBeingRemoved, is_of_no_use_when_the_job_of_those_that_wait_ends) {
  RegistryFixture fixture;
  const GroupId first = being_removed(fixture);
  ASSERT_TRUE(fixture->create_multicast(multicast({Nid{1}}), fixture.now).ok());
  ASSERT_TRUE(fixture->delete_job("j1", fixture.now).ok());
  fixture->removed(first, fixture.now);
  EXPECT_TRUE(fixture->groups().empty());
  EXPECT_EQ(fixture->find_job("j1"), nullptr);
}

} // namespace
} // namespace tributary::test
