// Joining: who may, who is refused and in which words, and when routes are computed.
#include "tests/unit/group/office.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

group::JoinRequest request(std::uint32_t rank, std::uint32_t nid, std::uint32_t size = 3) {
  return request_to_join(rank, nid, size);
}

TEST(Joining, the_first_makes_the_group_and_the_last_starts_the_one_computation) {
  Office office;
  office.job();
  office.hosts(1, 3);
  ASSERT_TRUE(office.join(1).ok());
  office.expect_nothing();
  ASSERT_TRUE(office.join(0).ok());
  office.expect_nothing();
  const auto last = office.join(2);
  ASSERT_TRUE(last.ok());
  EXPECT_EQ((*last)->state, GroupState::computing_routes);
  EXPECT_EQ(office.expect<group::ComputeRoutes>().group, (*last)->id);
  EXPECT_EQ((*last)->root, 0U);
}

TEST(Joining, asking_again_is_not_a_second_join) {
  Office office;
  office.job();
  office.hosts(1, 3);
  ASSERT_TRUE(office.join(0).ok());
  const auto again = office.join(0);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->present, 1U);
  ASSERT_TRUE(office.join(1).ok());
  ASSERT_TRUE(office.join(1).ok());
  EXPECT_EQ((*again)->state, GroupState::receiving_join_req);
}

TEST(Joining, in_every_state_up_to_leaving_a_member_that_asks_again_is_told_what_is) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  EXPECT_EQ((*office.join(1))->state, GroupState::computing_routes);
  office->routes_ready(id, routes_over("spine"), office.now);
  office->installed(id, office.now);
  EXPECT_EQ((*office.join(1))->state, GroupState::ready);
  ASSERT_TRUE(office.leave(0).ok());
  EXPECT_EQ((*office.join(1))->state, GroupState::receiving_leave_req);
}

TEST(Joining, another_host_under_the_same_rank_is_refused_and_told_who_has_it) {
  Office office;
  office.job();
  ASSERT_TRUE(office.join(1).ok());
  const auto refused = office->join(request(1, 9), office.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, 409U);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("rank 1 (NID 2, host h1)"), HasSubstr("NID 9"), HasSubstr("30.0 s")));
}

TEST(Joining, one_host_cannot_have_two_ranks) {
  Office office;
  office.job();
  ASSERT_TRUE(office.join(1).ok());
  const auto refused = office->join(request(2, 2), office.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, 409U);
  EXPECT_THAT(refused.error().message, HasSubstr("NID 2 is rank 1"));
}

TEST(Joining, a_member_count_number_of_trees_or_root_that_disagrees_is_refused) {
  Office office;
  office.job();
  ASSERT_TRUE(office.join(0).ok());
  const auto size = office->join(request(1, 2, 4), office.now);
  ASSERT_FALSE(size.ok());
  EXPECT_EQ(size.error().status, 409U);
  EXPECT_THAT(size.error().message, HasSubstr("has 3 members, not 4"));

  auto two_trees = request(1, 2);
  two_trees.group.trees = 2;
  EXPECT_EQ(office->join(two_trees, office.now).error().status, 409U);

  auto other_root = request(1, 2);
  other_root.group.root_rank = 2;
  const auto root = office->join(other_root, office.now);
  EXPECT_EQ(root.error().status, 409U);
  EXPECT_THAT(root.error().message, HasSubstr("any rank"));
  EXPECT_EQ(office->find("j1", "demo")->present, 1U);
}

TEST(Joining, sizes_ranks_trees_and_roots_out_of_range_are_bad_requests) {
  Office office;
  office.job();
  const auto status = [&](auto change) {
    auto w = request(0, 1);
    change(w);
    const auto r = office->join(w, office.now);
    return r ? 200U : r.error().status;
  };
  EXPECT_EQ(status([](auto& w) { w.group.size = 0; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.size = 65'537; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.rank = 3; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.trees = 3; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.trees = 0; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.group.root_rank = 3; }), 400U);
  EXPECT_EQ(status([](auto& w) { w.nid = Nid{max_nid + 1}; }), 400U);
  EXPECT_TRUE(office->groups().empty()) << "what was refused left something behind";
  EXPECT_EQ(status([](auto& w) { w.group.name = "largest", w.group.size = 65'536; }), 200U);
}

TEST(Joining, no_wait_count_beyond_20_bits_whatever_is_configured) {
  Office office({.max_group_size = 5'000'000});
  office.job();
  EXPECT_TRUE(office->create_group({.job = "j1", .name = "a", .size = 1 << 20}, office.now).ok());
  const auto refused =
      office->create_group({.job = "j1", .name = "b", .size = (1 << 20) + 1}, office.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("20 bits"));
}

TEST(Joining, a_member_whose_host_is_not_heard_keeps_the_group_waiting_and_is_named) {
  Office office;
  office.job();
  office.hosts(1, 2);
  ASSERT_TRUE(office.join(0).ok());
  ASSERT_TRUE(office.join(2).ok());
  const Group& group = *office->find("j1", "demo");
  const auto both = group::missing(group, 10);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].rank, 1U);
  EXPECT_EQ(both[0].nid, std::nullopt);
  EXPECT_EQ(both[1].rank, 2U);
  EXPECT_EQ(both[1].nid, Nid{3});
  EXPECT_THAT(both[1].why, HasSubstr("no switch has heard"));
  EXPECT_EQ(group::describe(group, office.now),
            "waits for 1 of 3 members and for switches to hear of the host of 1 member for at most "
            "30.0 s");

  ASSERT_TRUE(office.join(1).ok());
  office.expect_nothing();
  EXPECT_EQ(group.state, GroupState::receiving_join_req);
  office->located(Nid{3}, office.now);
  EXPECT_EQ(group.state, GroupState::computing_routes);
  office.expect<group::ComputeRoutes>();
}

TEST(Joining, a_host_that_is_lost_before_all_are_there_is_waited_for) {
  Office office;
  office.job();
  office.hosts(1, 3);
  ASSERT_TRUE(office.join(0).ok());
  office->lost(Nid{1});
  ASSERT_TRUE(office.join(1).ok());
  ASSERT_TRUE(office.join(2).ok());
  office.expect_nothing();
  office->located(Nid{1}, office.now);
  office.expect<group::ComputeRoutes>();
}

TEST(Joining, the_time_limit_ends_a_group_and_names_who_was_missing) {
  Office office;
  office.job();
  office.hosts(1, 1);
  ASSERT_TRUE(office.join(0).ok());
  office.pass(20 * second);
  ASSERT_TRUE(office->renew("j1", "demo", 0, office.now).ok());
  EXPECT_EQ(office->next_deadline(), office.now + 10 * second);
  office.pass(10 * second);
  const auto gone = office.expect<group::Gone>();
  EXPECT_EQ(gone.group.end_reason.status, 409U);
  EXPECT_THAT(gone.group.end_reason.message,
              AllOf(HasSubstr("2 of 3 members"), HasSubstr("rank 1 has not joined")));
  EXPECT_EQ(office->find("j1", "demo"), nullptr);
  EXPECT_EQ(office->next_deadline(), never);
  EXPECT_TRUE(office.join(0).ok()) << "the name is free again";
}

TEST(Joining, one_that_leaves_before_all_are_there_has_never_joined) {
  Office office;
  office.job();
  office.hosts(1, 9);
  ASSERT_TRUE(office.join(0).ok());
  ASSERT_TRUE(office.join(1).ok());
  ASSERT_TRUE(office.leave(1).ok());
  EXPECT_EQ(office.leave(1).error().status, 404U);
  ASSERT_TRUE(office->join(request(1, 9), office.now).ok()) << "the rank is another host's now";
  ASSERT_TRUE(office->join(request(2, 2), office.now).ok());
  EXPECT_EQ(office->find("j1", "demo")->state, GroupState::computing_routes);
}

TEST(Joining, when_all_who_had_joined_are_away_again_the_group_is_gone) {
  Office office;
  office.job();
  ASSERT_TRUE(office.join(0).ok());
  const auto left = office.leave(0);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(*left, nullptr);
  office.expect<group::Gone>();
  EXPECT_TRUE(office->groups().empty());
  EXPECT_TRUE(office.disk().groups.empty());
  EXPECT_TRUE(office.disk().members.empty());
}

TEST(Joining, while_the_old_group_of_the_name_is_removed_one_is_asked_to_come_again) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office->destroy("j1", "demo", office.now).ok());
  const auto refused = office->join(request(0, 17, 99), office.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, 409U);
  EXPECT_THAT(refused.error().message, HasSubstr("ask again"));
  EXPECT_EQ(
      office->create_group({.job = "j1", .name = "demo", .size = 3}, office.now).error().status,
      409U);
  office->removed(id, office.now);
  EXPECT_TRUE(office.join(0).ok());
}

TEST(Joining, creating_first_and_joining_later_is_the_same_group) {
  Office office;
  office.job();
  const auto made =
      office->create_group({.job = "j1", .name = "demo", .size = 3, .root_rank = 2}, office.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(
      *office->create_group({.job = "j1", .name = "demo", .size = 3, .root_rank = 2}, office.now),
      *made);
  const GroupId id = office.computing();
  EXPECT_EQ(id, (*made)->id);
  EXPECT_EQ((*made)->root, 2U);
}

TEST(Joining, only_a_refusal_that_passes_by_itself_does_not_contradict) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  EXPECT_TRUE(office->join(request(0, 9), office.now).error().contradicts);
  EXPECT_TRUE(office->join(request(0, 1, 4), office.now).error().contradicts);
  ASSERT_TRUE(office.leave(1).ok());
  EXPECT_FALSE(office->join(request(0, 9), office.now).error().contradicts)
      << "the group ends soon";
  EXPECT_FALSE(office.join(1).error().contradicts);
  ASSERT_TRUE(office->destroy("j1", "demo", office.now).ok());
  EXPECT_FALSE(office->join(request(0, 9), office.now).error().contradicts);
  office->removed(id, office.now);
  EXPECT_TRUE(office->join(request(0, 9), office.now).ok());
}

TEST(Joining, without_a_job_there_is_no_group) {
  Office office;
  EXPECT_EQ(office.join(0).error().status, 404U);
}

} // namespace
} // namespace tributary::test
