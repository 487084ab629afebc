// What a registry does with the stored state.
#include "tests/unit/controlplane/group/registry_fixture.hpp"

#include <stdexcept>

namespace tributary::test {
namespace {

TEST(Restart, a_group_that_waits_for_members_continues_with_new_time_and_leases) {
  RegistryFixture fixture;
  fixture.job();
  fixture.hosts(1, 3);
  ASSERT_TRUE(fixture.join(0).ok());
  ASSERT_TRUE(fixture.join(1).ok());
  const GroupId id = (*fixture.join(1))->id;
  fixture.pass(29 * second);
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture->next_deadline(), fixture.now + 30 * second);
  fixture.pass(20 * second);
  EXPECT_EQ(fixture->find(id)->present, 2U);
  ASSERT_TRUE(fixture.join(2).ok());
  fixture.act();
  EXPECT_EQ(fixture.state(id), GroupState::receiving_join_req) << "no host is heard of yet";
  fixture.hosts(1, 3);
  EXPECT_EQ(fixture.expect<group::ComputeRoutes>().group, id);
}

TEST(Restart, a_computation_that_was_lost_is_asked_for_again) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture.state(id), GroupState::receiving_join_req);
  EXPECT_EQ(fixture->find(id)->root, std::nullopt);
  fixture.act();
  fixture.hosts(1, 3);
  EXPECT_EQ(fixture.expect<group::ComputeRoutes>().group, id);
  EXPECT_EQ(fixture->find(id)->root, 0U);
}

TEST(Restart, one_that_left_a_lost_computation_is_forgotten) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  ASSERT_TRUE(fixture.leave(1).ok());
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture->find(id)->members.size(), 2U);
  fixture.act();
  EXPECT_EQ(fixture.disk().members.size(), 2U);
  fixture.hosts(1, 3);
  fixture.expect_nothing();
  EXPECT_TRUE(fixture.join(1).ok());
  fixture.expect<group::ComputeRoutes>();
}

TEST(Restart, trees_that_were_being_installed_are_installed_again) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.computing();
  ASSERT_TRUE(fixture->routes_ready(id, routes_over("spine"), fixture.now));
  fixture.act();
  const Cookie cookie = fixture->find(id)->cookie;
  fixture.restart();
  EXPECT_EQ(fixture.expect<group::Install>().group, id);
  EXPECT_EQ(fixture->find(id)->cookie, cookie);
  EXPECT_EQ(fixture->find(id)->routes[0].form, routes_over("spine").trees[0].form);
  fixture->installed(id, fixture.now);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
}

TEST(Restart, a_running_group_runs_on_and_its_members_have_a_whole_lease) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  const Group before = *fixture->find(id);
  fixture.pass(29 * second);
  fixture.restart();
  fixture.expect_nothing();
  const Group& after = *fixture->find(id);
  EXPECT_EQ(after.state, GroupState::ready);
  EXPECT_EQ(after.vni, before.vni);
  EXPECT_EQ(after.cookie, before.cookie);
  EXPECT_EQ(after.root, before.root);
  EXPECT_EQ(after.routes[0].number, before.routes[0].number);
  EXPECT_EQ(after.members.at(2).host, "h2");
  fixture.pass(29 * second);
  EXPECT_EQ(fixture.state(id), GroupState::ready);
  fixture.pass(second);
  EXPECT_EQ(fixture.state(id), GroupState::destroying);
}

TEST(Restart, roots_numbers_and_vnis_in_use_are_not_given_out_again) {
  RegistryFixture fixture({.first_vni = Vni{50}, .last_vni = Vni{60}});
  fixture.job("j1");
  const GroupId a = fixture.ready(3, "a");
  fixture.hosts(7, 9);
  group::MulticastRequest request{.job = "j1", .step = "", .members = {Nid{8}}, .vni = Vni{51}};
  ASSERT_TRUE(fixture->create_multicast(request, fixture.now).ok());
  fixture.act();
  fixture.restart();
  fixture.job("j2");
  fixture.hosts(1, 9);
  EXPECT_EQ((*fixture.join(0, 2, "x", "j2"))->vni, Vni{52});
  fixture.act();
  const GroupId b = fixture.computing(3, "b");
  EXPECT_EQ(fixture->find(b)->root, 1U);
  EXPECT_EQ(fixture->find(b)->vni, Vni{50});
  ASSERT_TRUE(fixture->routes_ready(b, routes_over("s"), fixture.now));
  EXPECT_EQ(fixture->find(b)->routes[0].number.value, 1U);
  EXPECT_GT(b, a);
}

TEST(Restart, numbers_that_rested_go_on_resting) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId a = fixture.ready(3, "a");
  ASSERT_TRUE(fixture->destroy("j1", "a", fixture.now).ok());
  fixture->removed(a, fixture.now);
  fixture.act();
  fixture.restart();
  fixture.hosts(1, 3);
  const GroupId b = fixture.ready(3, "b");
  EXPECT_EQ(fixture->find(b)->routes[0].number.value, 1U);
}

TEST(Restart, leaving_continues_with_its_full_time) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture.leave(0).ok());
  fixture.act();
  fixture.pass(25 * second);
  fixture.restart();
  EXPECT_EQ(fixture.state(id), GroupState::receiving_leave_req);
  EXPECT_EQ(fixture->find(id)->present, 2U);
  EXPECT_EQ(fixture->find(id)->deadline, fixture.now + 30 * second);
  ASSERT_TRUE(fixture.leave(1).ok());
  ASSERT_TRUE(fixture.leave(2).ok());
  fixture.expect<group::Remove>();
}

TEST(Restart, removal_continues) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId id = fixture.ready();
  ASSERT_TRUE(fixture->destroy("j1", "demo", fixture.now).ok());
  fixture.act();
  fixture.restart();
  EXPECT_EQ(fixture.expect<group::Remove>().group, id);
  fixture->removed(id, fixture.now);
  fixture.act();
  EXPECT_TRUE(fixture.disk().groups.empty());
  EXPECT_TRUE(fixture.disk().trees.empty());
}

TEST(Restart, ids_are_never_given_out_twice) {
  RegistryFixture fixture;
  fixture.job();
  const GroupId a = (*fixture.join(0))->id;
  ASSERT_TRUE(fixture.leave(0).ok());
  fixture.act();
  fixture.restart();
  EXPECT_GT((*fixture.join(0))->id, a);
}

TEST(Restart, a_past_that_contradicts_itself_is_refused) {
  records::Snapshot past;
  past.groups.emplace_back().job = "nobody";
  const auto start = [&] {
    const Registry registry(
        {}, [](std::span<std::byte>) {}, past, TimeNs{});
  };
  EXPECT_THROW(start(), std::invalid_argument);
  past.groups.clear();
  past.members.push_back({.group = GroupId{1}, .rank = 0, .nid = Nid{1}, .host = ""});
  EXPECT_THROW(start(), std::invalid_argument);
}

} // namespace
} // namespace tributary::test
