// Joining: permissions, refusals and their messages, and when routes are computed.
#include "controlplane/api/status.hpp"
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

group::JoinRequest request(std::uint32_t rank, std::uint32_t nid, std::uint32_t size = 3) {
  return request_to_join(rank, nid, size);
}

TEST(Joining, the_first_makes_the_group_and_the_last_starts_the_one_computation) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  ASSERT_TRUE(fixture.join(1).ok());
  fixture.expect_nothing();
  ASSERT_TRUE(fixture.join(0).ok());
  fixture.expect_nothing();
  const auto last = fixture.join(2);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ((*last)->state, GroupState::computing_routes);
  EXPECT_EQ(fixture.expect<group::ComputeRoutes>().group, (*last)->id);
  EXPECT_EQ((*last)->root, 0U);
}

TEST(Joining, asking_again_is_not_a_second_join) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  ASSERT_TRUE(fixture.join(0).ok());
  const auto again = fixture.join(0);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->present, 1U);
  ASSERT_TRUE(fixture.join(1).ok());
  ASSERT_TRUE(fixture.join(1).ok());
  EXPECT_EQ((*again)->state, GroupState::receiving_join_req);
}

TEST(Joining, in_every_state_up_to_leaving_a_member_that_asks_again_receives_the_state) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  EXPECT_EQ((*fixture.join(1))->state, GroupState::computing_routes);
  fixture->routes_ready(id, routes_over("spine"), fixture.now);
  fixture->installed(id, fixture.now);
  EXPECT_EQ((*fixture.join(1))->state, GroupState::ready);
  ASSERT_TRUE(fixture.leave(0).ok());
  EXPECT_EQ((*fixture.join(1))->state, GroupState::receiving_leave_req);
}

TEST(Joining, another_host_under_the_same_rank_is_refused_with_the_name_of_the_holder) {
  RegistryFixture fixture;
  fixture.job();
  ASSERT_TRUE(fixture.join(1).ok());
  const auto refused = fixture->join(request(1, 9), fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("rank 1 (NID 2, host h1)"), HasSubstr("NID 9"), HasSubstr("30.0 s")));
}

TEST(Joining, one_host_cannot_have_two_ranks) {
  RegistryFixture fixture;
  fixture.job();
  ASSERT_TRUE(fixture.join(1).ok());
  const auto refused = fixture->join(request(2, 2), fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("NID 2 is rank 1"));
}

TEST(Joining, a_member_count_number_of_trees_or_root_that_disagrees_is_refused) {
  RegistryFixture fixture;
  fixture.job();
  ASSERT_TRUE(fixture.join(0).ok());
  const auto size = fixture->join(request(1, 2, 4), fixture.now);
  ASSERT_FALSE(size.ok());
  EXPECT_EQ(size.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(size.error().message, HasSubstr("has 3 members, not 4"));

  auto two_trees = request(1, 2);
  two_trees.group.trees = 2;
  EXPECT_EQ(fixture->join(two_trees, fixture.now).error().kind, group::ErrorKind::conflict);

  auto other_root = request(1, 2);
  other_root.group.root_rank = 2;
  const auto root = fixture->join(other_root, fixture.now);
  EXPECT_EQ(root.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(root.error().message, HasSubstr("any rank"));
  EXPECT_EQ(fixture->find("j1", "demo")->present, 1U);
}

TEST(Joining, a_group_of_a_job_step_ends_with_it_and_other_steps_are_refused) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  const auto of_step = [](std::uint32_t rank, const std::string& step) {
    group::JoinRequest of = request(rank, rank + 1);
    of.group.step = step;
    return of;
  };
  ASSERT_TRUE(fixture->join(of_step(0, "0"), fixture.now).ok());
  const auto refused = fixture->join(of_step(1, "1"), fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("step 0"), HasSubstr("step 1")));
  EXPECT_TRUE(fixture->join(of_step(1, ""), fixture.now).ok()) << "it agrees with any";
  ASSERT_TRUE(fixture->join(of_step(2, "0"), fixture.now).ok());
  ASSERT_TRUE(fixture.join(0, 3, "of the job").ok());
  const GroupId of_job = fixture->find("j1", "of the job")->id;
  const GroupId id = fixture->find("j1", "demo")->id;
  fixture.act();
  fixture.restart();
  EXPECT_EQ(*fixture->end_steps("j1", std::vector<std::string>{"1"}, fixture.now), 0U);
  EXPECT_EQ(*fixture->end_steps("j1", std::vector<std::string>{"0"}, fixture.now), 1U);
  EXPECT_THAT(fixture.state(id), AnyOf(GroupState::destroying, GroupState::gone));
  EXPECT_EQ(fixture.state(of_job), GroupState::receiving_join_req);
}

TEST(Joining, sizes_ranks_trees_and_roots_out_of_range_are_bad_requests) {
  RegistryFixture fixture;
  fixture.job();
  const auto status = [&](auto change) {
    auto w = request(0, 1);
    change(w);
    const auto r = fixture->join(w, fixture.now);
    return r ? 200U : api::status_of(r.error().kind);
  };
  EXPECT_EQ(status([](auto& w) { w.group.size = 0; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.size = 65'537; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.rank = 3; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.trees = 3; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.trees = 0; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.root_rank = 3; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.nid = Nid{max_nid + 1}; }), 400U);
  EXPECT_TRUE(fixture->groups().empty()) << "what was refused left something behind";
  EXPECT_EQ(status([](auto& w) { w.group.name = "largest", w.group.size = 65'536; }), 200U);
}

TEST(Joining, no_wait_count_beyond_20_bits_whatever_is_configured) {
  RegistryFixture fixture({.max_group_size = 5'000'000});
  fixture.job();
  EXPECT_TRUE(fixture->create_group({.job = "j1", .name = "a", .size = 1 << 20}, fixture.now).ok());
  const auto refused =
      fixture->create_group({.job = "j1", .name = "b", .size = (1 << 20) + 1}, fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("20 bits"));
}

TEST(Joining, a_member_whose_host_is_not_heard_keeps_the_group_waiting_and_is_named) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 2);
  ASSERT_TRUE(fixture.join(0).ok());
  ASSERT_TRUE(fixture.join(2).ok());
  const Group& group = *fixture->find("j1", "demo");
  const auto both = group::missing(group, 10);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].rank, 1U);
  EXPECT_EQ(both[0].nid, std::nullopt);
  EXPECT_EQ(both[1].rank, 2U);
  EXPECT_EQ(both[1].nid, Nid{3});
  EXPECT_THAT(both[1].why, HasSubstr("no switch has learned"));
  EXPECT_EQ(
      group::describe(group, fixture.now),
      "waits for 1 of 3 members and for switches to learn of the host of 1 member for at most "
      "30.0 s");

  ASSERT_TRUE(fixture.join(1).ok());
  fixture.expect_nothing();
  EXPECT_EQ(group.state, GroupState::receiving_join_req);
  fixture->located(Nid{3}, fixture.now);
  EXPECT_EQ(group.state, GroupState::computing_routes);
  fixture.expect<group::ComputeRoutes>();
}

TEST(Joining, a_host_that_is_lost_before_all_are_there_is_waited_for) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  ASSERT_TRUE(fixture.join(0).ok());
  fixture->lost(Nid{1});
  ASSERT_TRUE(fixture.join(1).ok());
  ASSERT_TRUE(fixture.join(2).ok());
  fixture.expect_nothing();
  fixture->located(Nid{1}, fixture.now);
  fixture.expect<group::ComputeRoutes>();
}

TEST(Joining, the_time_limit_ends_a_group_and_names_who_was_missing) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 1);
  ASSERT_TRUE(fixture.join(0).ok());
  fixture.pass(20 * second);
  ASSERT_TRUE(fixture->renew("j1", "demo", 0, fixture.now).ok());
  EXPECT_EQ(fixture->next_deadline(), fixture.now + 10 * second);
  fixture.pass(10 * second);
  const auto gone = fixture.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason.kind, group::ErrorKind::conflict);
  EXPECT_THAT(gone.group.end_reason.message,
              AllOf(HasSubstr("2 of 3 members"), HasSubstr("rank 1 has not joined")));
  EXPECT_EQ(fixture->find("j1", "demo"), nullptr);
  EXPECT_EQ(fixture->next_deadline(), never);
  EXPECT_TRUE(fixture.join(0).ok()) << "the name is free again";
}

TEST(Joining, one_that_leaves_before_all_are_there_has_never_joined) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 9);
  ASSERT_TRUE(fixture.join(0).ok());
  ASSERT_TRUE(fixture.join(1).ok());
  ASSERT_TRUE(fixture.leave(1).ok());
  EXPECT_EQ(fixture.leave(1).error().kind, group::ErrorKind::not_found);
  ASSERT_TRUE(fixture->join(request(1, 9), fixture.now).ok()) << "the rank is another host's now";
  ASSERT_TRUE(fixture->join(request(2, 2), fixture.now).ok());
  EXPECT_EQ(fixture->find("j1", "demo")->state, GroupState::computing_routes);
}

TEST(Joining, when_all_who_had_joined_are_away_again_the_group_is_gone) {
  RegistryFixture fixture;
  fixture.job();
  ASSERT_TRUE(fixture.join(0).ok());
  const auto left = fixture.leave(0);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, nullptr);
  fixture.expect<group::Gone>();
  EXPECT_TRUE(fixture->groups().empty());
  EXPECT_TRUE(fixture.disk().groups.empty());
  EXPECT_TRUE(fixture.disk().members.empty());
}

TEST(Joining, while_the_old_group_of_the_name_is_removed_one_is_asked_to_come_again) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture->destroy("j1", "demo", fixture.now).ok());
  const auto refused = fixture->join(request(0, 17, 99), fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("ask again"));
  EXPECT_EQ(
      fixture->create_group({.job = "j1", .name = "demo", .size = 3}, fixture.now).error().kind,
      group::ErrorKind::conflict);
  fixture->removed(id, fixture.now);
  EXPECT_TRUE(fixture.join(0).ok());
}

TEST(Joining, creating_first_and_joining_later_is_the_same_group) {
  RegistryFixture fixture;
  fixture.job();
  const auto made =
      fixture->create_group({.job = "j1", .name = "demo", .size = 3, .root_rank = 2}, fixture.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(
      *fixture->create_group({.job = "j1", .name = "demo", .size = 3, .root_rank = 2}, fixture.now),
      *made);
  const GroupId id = fixture.computing();
  EXPECT_EQ(id, (*made)->id);
  EXPECT_EQ((*made)->root, 2U);
}

TEST(Joining, only_a_refusal_that_passes_by_itself_does_not_contradict) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  EXPECT_TRUE(fixture->join(request(0, 9), fixture.now).error().contradicts);
  EXPECT_TRUE(fixture->join(request(0, 1, 4), fixture.now).error().contradicts);
  ASSERT_TRUE(fixture.leave(1).ok());
  EXPECT_FALSE(fixture->join(request(0, 9), fixture.now).error().contradicts)
      << "the group ends soon";
  EXPECT_FALSE(fixture.join(1).error().contradicts);
  ASSERT_TRUE(fixture->destroy("j1", "demo", fixture.now).ok());
  EXPECT_FALSE(fixture->join(request(0, 9), fixture.now).error().contradicts);
  fixture->removed(id, fixture.now);
  EXPECT_TRUE(fixture->join(request(0, 9), fixture.now).ok());
}

TEST(Joining, without_a_job_there_is_no_group) {
  RegistryFixture fixture;
  EXPECT_EQ(fixture.join(0).error().kind, group::ErrorKind::not_found);
}

} // namespace
} // namespace tributary::test
