// Groups of the Slingshot-shaped contract.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

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
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  const auto made = fixture->create_multicast(request({3, 1, 2}), fixture.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->state, GroupState::computing_routes);
  EXPECT_EQ((*made)->members.at(0).nid, Nid{3});
  EXPECT_EQ((*made)->vni, Vni{1024});
  const GroupId id = fixture.expect<group::ComputeRoutes>().group;
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("s"), fixture.now));
  fixture.expect<group::Install>();
  EXPECT_EQ((*made)->cookie.value, 0x677D0000U | (*made)->routes[0].number.value);
  fixture->installed(id, fixture.now);
  fixture->answered(id);
  EXPECT_EQ(fixture->next_deadline(), never);
  fixture.pass(1'000'000 * second);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
}

TEST(Multicasts, are_found_by_their_tree_once_it_is_built) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  const GroupId id = (*fixture->create_multicast(request({1, 2, 3}), fixture.now))->id;
  EXPECT_EQ(fixture->find_multicast(TreeNumber{0}).error().kind, group::ErrorKind::not_found);
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("s"), fixture.now));
  EXPECT_EQ(fixture->find_multicast(TreeNumber{0}).error().kind, group::ErrorKind::conflict);
  fixture->installed(id, fixture.now);
  ASSERT_TRUE(fixture->find_multicast(TreeNumber{0}).ok());
  EXPECT_EQ((*fixture->find_multicast(TreeNumber{0}))->id, id);
  fixture.act();
  const GroupId named = fixture.ready(3, "named");
  EXPECT_EQ(fixture->find_multicast(fixture->find(named)->routes[0].number).error().kind,
            group::ErrorKind::not_found)
      << "a group of another kind";
}

TEST(Multicasts, end_with_their_step_their_job_or_when_asked) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 4);
  std::vector<GroupId> ids;
  for (const std::string step : {"0", "1", "1", "2"}) {
    const auto made =
        fixture->create_multicast(request({1, 2, 3, 4}, 1024, "j1", step), fixture.now);
    ASSERT_TRUE(made.ok());
    ids.push_back((*made)->id);
    ASSERT_TRUE(fixture->routes_ready(ids.back(), routes_over("s"), fixture.now));
    fixture->installed(ids.back(), fixture.now);
    fixture->answered(ids.back());
  }
  const std::vector<std::string> ended = {"1", "nine"};
  EXPECT_EQ(*fixture->end_steps("j1", ended, fixture.now), 2U);
  EXPECT_EQ(fixture.state(ids[0]), GroupState::ready);
  EXPECT_EQ(fixture.state(ids[1]), GroupState::destroying);
  EXPECT_EQ(fixture.state(ids[2]), GroupState::destroying);
  ASSERT_TRUE(fixture->destroy("j1", fixture->find(ids[0])->name, fixture.now).ok());
  EXPECT_EQ(fixture.state(ids[0]), GroupState::destroying);
  EXPECT_EQ(*fixture->delete_job("j1", fixture.now), 4U);
  EXPECT_EQ(fixture.state(ids[3]), GroupState::destroying);
}

TEST(Multicasts, of_hosts_unknown_or_named_twice_are_refused_and_leave_nothing) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  const auto unknown = fixture->create_multicast(request({1, 8, 9}), fixture.now);
  EXPECT_EQ(unknown.error().kind, group::ErrorKind::unreachable);
  EXPECT_THAT(unknown.error().message, HasSubstr("8, 9"));
  EXPECT_EQ(fixture->create_multicast(request({1, 2, 1}), fixture.now).error().kind,
            group::ErrorKind::invalid);
  EXPECT_EQ(fixture->create_multicast(request({}), fixture.now).error().kind,
            group::ErrorKind::invalid);
  EXPECT_EQ(fixture->create_multicast(request({1, 1U << 20}), fixture.now).error().kind,
            group::ErrorKind::invalid);
  EXPECT_EQ(fixture->create_multicast(request({1}, 1024, "j9"), fixture.now).error().kind,
            group::ErrorKind::not_found);
  EXPECT_TRUE(fixture->groups().empty());
  EXPECT_TRUE(fixture->create_multicast(request({1, 2, 3}), fixture.now).ok());
}

TEST(Multicasts, when_every_member_is_a_root_already_none_is_made) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  ASSERT_TRUE(fixture->create_multicast(request({1, 3}), fixture.now).ok());
  const auto second_one = fixture->create_multicast(request({1, 2}), fixture.now);
  ASSERT_TRUE(second_one.ok());
  EXPECT_EQ((*second_one)->root, 1U);
  fixture->answered((*second_one)->id);
  const auto refused = fixture->create_multicast(request({1, 2}), fixture.now);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message,
              AllOf(StartsWith("03: "), HasSubstr("NID 1"), HasSubstr("NID 2")));
  EXPECT_EQ(fixture->groups().size(), 2U);
}

TEST(Multicasts, that_were_not_answered_are_answered_again_also_after_a_restart) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  const GroupId id = (*fixture->create_multicast(request({1, 2, 3}), fixture.now))->id;
  fixture.act();
  EXPECT_EQ((*fixture->create_multicast(request({1, 2, 3}), fixture.now))->id, id);
  EXPECT_NE((*fixture->create_multicast(request({1, 3, 2}), fixture.now))->id, id) << "other ranks";
  EXPECT_NE((*fixture->create_multicast(request({1, 2, 3}, 1025), fixture.now))->id, id);
  EXPECT_EQ(fixture->groups().size(), 3U);
  fixture.act();

  fixture.restart();
  fixture.hosts(1, 3);
  fixture.act();
  EXPECT_EQ((*fixture->create_multicast(request({1, 2, 3}), fixture.now))->id, id);
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("s"), fixture.now));
  fixture->installed(id, fixture.now);
  EXPECT_EQ((*fixture->create_multicast(request({1, 2, 3}), fixture.now))->id, id);
  fixture->answered(id);
  fixture.pass(31 * second);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
}

TEST(Multicasts, count_against_the_quota) {
  RegistryFixture fixture;
  fixture.job("j1", 1);
  fixture.hosts(1, 3);
  ASSERT_TRUE(fixture->create_multicast(request({1, 2}), fixture.now).ok());
  const auto refused = fixture->create_multicast(request({2, 3}), fixture.now);
  EXPECT_EQ(refused.error().kind, group::ErrorKind::exhausted);
  EXPECT_THAT(refused.error().message, StartsWith("01: "));
}

TEST(Multicasts, cannot_bring_another_jobs_vni) {
  RegistryFixture fixture({.first_vni = Vni{50}, .last_vni = Vni{60}});
  fixture.job("j1");
  fixture.job("j2");
  fixture.hosts(1, 4);
  const GroupId id = (*fixture->create_multicast(request({1, 2}, 50, "j1"), fixture.now))->id;
  const auto refused = fixture->create_multicast(request({3, 4}, 50, "j2"), fixture.now);
  EXPECT_EQ(refused.error().kind, group::ErrorKind::forbidden);
  EXPECT_THAT(refused.error().message, HasSubstr("belongs to job j1"));
  EXPECT_EQ((*fixture.join(0, 2, "a", "j2"))->vni, Vni{51}) << "50 was brought";
  fixture->routes_failed(id, {group::ErrorKind::unreachable, "no path"}, fixture.now);
  EXPECT_FALSE(fixture->create_multicast(request({3, 4}, 50, "j2"), fixture.now).ok());
  fixture.pass(300 * second);
  EXPECT_TRUE(fixture->create_multicast(request({3, 4}, 50, "j2"), fixture.now).ok());
}

TEST(Multicasts, a_host_that_asks_for_one_it_is_not_in_is_refused) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 9);
  const std::string name = (*fixture->create_multicast(request({1, 2, 3}), fixture.now))->name;
  const auto ask = [&](std::uint32_t rank, std::uint32_t nid) {
    return fixture->join(request_to_join(rank, nid, 3, name), fixture.now);
  };
  EXPECT_TRUE(ask(0, 1).ok());
  const auto stranger = ask(0, 9);
  EXPECT_EQ(stranger.error().kind, group::ErrorKind::not_found);
  EXPECT_THAT(stranger.error().message, HasSubstr("NID 9 is not in"));
  const auto other_rank = ask(0, 2);
  EXPECT_EQ(other_rank.error().kind, group::ErrorKind::conflict);
  EXPECT_THAT(other_rank.error().message, HasSubstr("NID 2 is rank 1"));
}

TEST(Multicasts, get_names_that_are_free) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 9);
  ASSERT_TRUE(fixture.join(0, 2, "multicast-2").ok());
  const auto made = fixture->create_multicast(request({4, 5}), fixture.now);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->name, "multicast-3");
}

} // namespace
} // namespace tributary::test
