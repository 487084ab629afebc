// Groups of the Slingshot-shaped contract.
#include "tests/unit/group/office.hpp"

#include <gmock/gmock.h>

namespace tributary::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

group::MulticastRequest request(std::vector<std::uint32_t> nids, std::uint16_t vni = 1024,
                                const std::string& job = "j1", const std::string& step = "0") {
  group::MulticastRequest w{.job = job, .step = step, .members = {}, .vni = Vni{vni}};
  for (const auto nid : nids) {
    w.members.push_back(Nid{nid});
  }
  return w;
}

TEST(Multicasts, are_computed_at_once_and_know_no_leases) {
  Office office;
  office.job();
  office.hosts(1, 3);
  const auto made = office->create_multicast(request({3, 1, 2}), office.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->state, GroupState::computing_routes);
  EXPECT_EQ((*made)->members.at(0).nid, Nid{3});
  EXPECT_EQ((*made)->vni, Vni{1024});
  const GroupId id = office.expect<group::ComputeRoutes>().group;
  ASSERT_TRUE(office->routes_ready(id, routes_over("s"), office.now));
  office.expect<group::Install>();
  EXPECT_EQ((*made)->cookie.value, 0x677D0000U | (*made)->routes[0].number.value);
  office->installed(id, office.now);
  office->told(id);
  EXPECT_EQ(office->next_deadline(), never);
  office.pass(1'000'000 * second);
  EXPECT_EQ(office.state(id), GroupState::ready);
}

TEST(Multicasts, are_found_by_their_tree_once_it_is_built) {
  Office office;
  office.job();
  office.hosts(1, 3);
  const GroupId id = (*office->create_multicast(request({1, 2, 3}), office.now))->id;
  EXPECT_EQ(office->find_multicast(TreeNumber{0}).error().status, 404U);
  ASSERT_TRUE(office->routes_ready(id, routes_over("s"), office.now));
  EXPECT_EQ(office->find_multicast(TreeNumber{0}).error().status, 409U);
  office->installed(id, office.now);
  ASSERT_TRUE(office->find_multicast(TreeNumber{0}).ok());
  EXPECT_EQ((*office->find_multicast(TreeNumber{0}))->id, id);
  office.act();
  const GroupId named = office.ready(3, "named");
  EXPECT_EQ(office->find_multicast(office->find(named)->routes[0].number).error().status, 404U)
      << "a group of another kind";
}

TEST(Multicasts, end_with_their_step_their_job_or_when_asked) {
  Office office;
  office.job();
  office.hosts(1, 4);
  std::vector<GroupId> ids;
  for (const std::string step : {"0", "1", "1", "2"}) {
    const auto made = office->create_multicast(request({1, 2, 3, 4}, 1024, "j1", step), office.now);
    ASSERT_TRUE(made.ok());
    ids.push_back((*made)->id);
    ASSERT_TRUE(office->routes_ready(ids.back(), routes_over("s"), office.now));
    office->installed(ids.back(), office.now);
    office->told(ids.back());
  }
  const std::vector<std::string> ended = {"1", "nine"};
  EXPECT_EQ(*office->end_steps("j1", ended, office.now), 2U);
  EXPECT_EQ(office.state(ids[0]), GroupState::ready);
  EXPECT_EQ(office.state(ids[1]), GroupState::destroying);
  EXPECT_EQ(office.state(ids[2]), GroupState::destroying);
  ASSERT_TRUE(office->destroy("j1", office->find(ids[0])->name, office.now).ok());
  EXPECT_EQ(office.state(ids[0]), GroupState::destroying);
  EXPECT_EQ(*office->delete_job("j1", office.now), 4U);
  EXPECT_EQ(office.state(ids[3]), GroupState::destroying);
}

TEST(Multicasts, of_hosts_unknown_or_named_twice_are_refused_and_leave_nothing) {
  Office office;
  office.job();
  office.hosts(1, 3);
  const auto unknown = office->create_multicast(request({1, 8, 9}), office.now);
  EXPECT_EQ(unknown.error().status, 422U);
  EXPECT_THAT(unknown.error().message, HasSubstr("8, 9"));
  EXPECT_EQ(office->create_multicast(request({1, 2, 1}), office.now).error().status, 400U);
  EXPECT_EQ(office->create_multicast(request({}), office.now).error().status, 400U);
  EXPECT_EQ(office->create_multicast(request({1, 1U << 20}), office.now).error().status, 400U);
  EXPECT_EQ(office->create_multicast(request({1}, 1024, "j9"), office.now).error().status, 404U);
  EXPECT_TRUE(office->groups().empty());
  EXPECT_TRUE(office->create_multicast(request({1, 2, 3}), office.now).ok());
}

TEST(Multicasts, when_every_member_is_a_root_already_none_is_made) {
  Office office;
  office.job();
  office.hosts(1, 3);
  ASSERT_TRUE(office->create_multicast(request({1, 3}), office.now).ok());
  const auto second_one = office->create_multicast(request({1, 2}), office.now);
  ASSERT_TRUE(second_one.ok());
  EXPECT_EQ((*second_one)->root, 1U);
  office->told((*second_one)->id);
  const auto refused = office->create_multicast(request({1, 2}), office.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().status, 507U);
  EXPECT_THAT(refused.error().message,
              AllOf(StartsWith("03: "), HasSubstr("NID 1"), HasSubstr("NID 2")));
  EXPECT_EQ(office->groups().size(), 2U);
}

TEST(Multicasts, that_nobody_was_told_of_are_answered_again_also_after_a_restart) {
  Office office;
  office.job();
  office.hosts(1, 3);
  const GroupId id = (*office->create_multicast(request({1, 2, 3}), office.now))->id;
  office.act();
  EXPECT_EQ((*office->create_multicast(request({1, 2, 3}), office.now))->id, id);
  EXPECT_NE((*office->create_multicast(request({1, 3, 2}), office.now))->id, id) << "other ranks";
  EXPECT_NE((*office->create_multicast(request({1, 2, 3}, 1025), office.now))->id, id);
  EXPECT_EQ(office->groups().size(), 3U);
  office.act();

  office.restart();
  office.hosts(1, 3);
  office.act();
  EXPECT_EQ((*office->create_multicast(request({1, 2, 3}), office.now))->id, id);
  ASSERT_TRUE(office->routes_ready(id, routes_over("s"), office.now));
  office->installed(id, office.now);
  EXPECT_EQ((*office->create_multicast(request({1, 2, 3}), office.now))->id, id);
  office->told(id);
  office.pass(31 * second);
  EXPECT_EQ(office.state(id), GroupState::ready);
}

TEST(Multicasts, count_against_the_quota) {
  Office office;
  office.job("j1", 1);
  office.hosts(1, 3);
  ASSERT_TRUE(office->create_multicast(request({1, 2}), office.now).ok());
  const auto refused = office->create_multicast(request({2, 3}), office.now);
  EXPECT_EQ(refused.error().status, 507U);
  EXPECT_THAT(refused.error().message, StartsWith("01: "));
}

TEST(Multicasts, cannot_bring_another_jobs_vni) {
  Office office({.first_vni = Vni{50}, .last_vni = Vni{60}});
  office.job("j1");
  office.job("j2");
  office.hosts(1, 4);
  const GroupId id = (*office->create_multicast(request({1, 2}, 50, "j1"), office.now))->id;
  const auto refused = office->create_multicast(request({3, 4}, 50, "j2"), office.now);
  EXPECT_EQ(refused.error().status, 403U);
  EXPECT_THAT(refused.error().message, HasSubstr("belongs to job j1"));
  EXPECT_EQ((*office.join(0, 2, "a", "j2"))->vni, Vni{51}) << "50 was brought";
  office->routes_failed(id, {422, "no way"}, office.now);
  EXPECT_TRUE(office->create_multicast(request({3, 4}, 50, "j2"), office.now).ok());
}

TEST(Multicasts, a_host_that_asks_for_one_it_is_not_in_is_told_so) {
  Office office;
  office.job();
  office.hosts(1, 9);
  const std::string name = (*office->create_multicast(request({1, 2, 3}), office.now))->name;
  const auto ask = [&](std::uint32_t rank, std::uint32_t nid) {
    return office->join(request_to_join(rank, nid, 3, name), office.now);
  };
  EXPECT_TRUE(ask(0, 1).ok());
  const auto stranger = ask(0, 9);
  EXPECT_EQ(stranger.error().status, 404U);
  EXPECT_THAT(stranger.error().message, HasSubstr("NID 9 is not in"));
  const auto other_rank = ask(0, 2);
  EXPECT_EQ(other_rank.error().status, 409U);
  EXPECT_THAT(other_rank.error().message, HasSubstr("NID 2 is rank 1"));
}

TEST(Multicasts, get_names_that_are_free) {
  Office office;
  office.job();
  office.hosts(1, 9);
  ASSERT_TRUE(office.join(0, 2, "multicast-2").ok());
  const auto made = office->create_multicast(request({4, 5}), office.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->name, "multicast-3");
}

} // namespace
} // namespace tributary::test
