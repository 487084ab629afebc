// What a registry does with the stored past.
#include "tests/unit/group/office.hpp"

#include <stdexcept>

namespace tributary::test {
namespace {

TEST(Restart, a_group_that_waits_for_members_goes_on_waiting_with_time_and_leases_anew) {
  Office office;
  office.job();
  office.hosts(1, 3);
  ASSERT_TRUE(office.join(0).ok());
  ASSERT_TRUE(office.join(1).ok());
  const GroupId id = (*office.join(1))->id;
  office.pass(29 * second);
  office.act();
  office.restart();
  EXPECT_EQ(office->next_deadline(), office.now + 30 * second);
  office.pass(20 * second);
  EXPECT_EQ(office->find(id)->present, 2U);
  ASSERT_TRUE(office.join(2).ok());
  office.act();
  EXPECT_EQ(office.state(id), GroupState::receiving_join_req) << "no host is heard of yet";
  office.hosts(1, 3);
  EXPECT_EQ(office.expect<group::ComputeRoutes>().group, id);
}

TEST(Restart, a_computation_that_was_lost_is_asked_for_again) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  office.act();
  office.restart();
  EXPECT_EQ(office.state(id), GroupState::receiving_join_req);
  EXPECT_EQ(office->find(id)->root, std::nullopt);
  office.act();
  office.hosts(1, 3);
  EXPECT_EQ(office.expect<group::ComputeRoutes>().group, id);
  EXPECT_EQ(office->find(id)->root, 0U);
}

TEST(Restart, one_that_left_a_lost_computation_is_forgotten) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  ASSERT_TRUE(office.leave(1).ok());
  office.act();
  office.restart();
  EXPECT_EQ(office->find(id)->members.size(), 2U);
  office.act();
  EXPECT_EQ(office.disk().members.size(), 2U);
  office.hosts(1, 3);
  office.expect_nothing();
  EXPECT_TRUE(office.join(1).ok());
  office.expect<group::ComputeRoutes>();
}

TEST(Restart, trees_that_were_being_installed_are_installed_again) {
  Office office;
  office.job();
  const GroupId id = office.computing();
  ASSERT_TRUE(office->routes_ready(id, routes_over("spine"), office.now));
  office.act();
  const Cookie cookie = office->find(id)->cookie;
  office.restart();
  EXPECT_EQ(office.expect<group::Install>().group, id);
  EXPECT_EQ(office->find(id)->cookie, cookie);
  EXPECT_EQ(office->find(id)->routes[0].form, routes_over("spine").trees[0].form);
  office->installed(id, office.now);
  EXPECT_EQ(office.state(id), GroupState::ready);
}

TEST(Restart, a_running_group_runs_on_and_its_members_have_a_whole_lease) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  const Group before = *office->find(id);
  office.pass(29 * second);
  office.restart();
  office.expect_nothing();
  const Group& after = *office->find(id);
  EXPECT_EQ(after.state, GroupState::ready);
  EXPECT_EQ(after.vni, before.vni);
  EXPECT_EQ(after.cookie, before.cookie);
  EXPECT_EQ(after.root, before.root);
  EXPECT_EQ(after.routes[0].number, before.routes[0].number);
  EXPECT_EQ(after.members.at(2).host, "h2");
  office.pass(29 * second);
  EXPECT_EQ(office.state(id), GroupState::ready);
  office.pass(second);
  EXPECT_EQ(office.state(id), GroupState::destroying);
}

TEST(Restart, roots_numbers_and_vnis_in_use_are_not_given_out_again) {
  Office office({.first_vni = Vni{50}, .last_vni = Vni{60}});
  office.job("j1");
  const GroupId a = office.ready(3, "a");
  office.hosts(7, 9);
  group::MulticastRequest request{.job = "j1", .step = "", .members = {Nid{8}}, .vni = Vni{51}};
  ASSERT_TRUE(office->create_multicast(request, office.now).ok());
  office.act();
  office.restart();
  office.job("j2");
  office.hosts(1, 9);
  EXPECT_EQ((*office.join(0, 2, "x", "j2"))->vni, Vni{52});
  office.act();
  const GroupId b = office.computing(3, "b");
  EXPECT_EQ(office->find(b)->root, 1U);
  EXPECT_EQ(office->find(b)->vni, Vni{50});
  ASSERT_TRUE(office->routes_ready(b, routes_over("s"), office.now));
  EXPECT_EQ(office->find(b)->routes[0].number.value, 1U);
  EXPECT_GT(b, a);
}

TEST(Restart, numbers_that_rested_go_on_resting) {
  Office office;
  office.job();
  const GroupId a = office.ready(3, "a");
  ASSERT_TRUE(office->destroy("j1", "a", office.now).ok());
  office->removed(a, office.now);
  office.act();
  office.restart();
  office.hosts(1, 3);
  const GroupId b = office.ready(3, "b");
  EXPECT_EQ(office->find(b)->routes[0].number.value, 1U);
}

TEST(Restart, leaving_goes_on_and_has_its_time_anew) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office.leave(0).ok());
  office.act();
  office.pass(25 * second);
  office.restart();
  EXPECT_EQ(office.state(id), GroupState::receiving_leave_req);
  EXPECT_EQ(office->find(id)->present, 2U);
  EXPECT_EQ(office->find(id)->deadline, office.now + 30 * second);
  ASSERT_TRUE(office.leave(1).ok());
  ASSERT_TRUE(office.leave(2).ok());
  office.expect<group::Remove>();
}

TEST(Restart, removal_goes_on) {
  Office office;
  office.job();
  const GroupId id = office.ready();
  ASSERT_TRUE(office->destroy("j1", "demo", office.now).ok());
  office.act();
  office.restart();
  EXPECT_EQ(office.expect<group::Remove>().group, id);
  office->removed(id, office.now);
  office.act();
  EXPECT_TRUE(office.disk().groups.empty());
  EXPECT_TRUE(office.disk().trees.empty());
}

TEST(Restart, ids_are_never_given_out_twice) {
  Office office;
  office.job();
  const GroupId a = (*office.join(0))->id;
  ASSERT_TRUE(office.leave(0).ok());
  office.act();
  office.restart();
  EXPECT_GT((*office.join(0))->id, a);
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
