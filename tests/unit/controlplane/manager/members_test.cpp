// Members and the ports that claim them.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <map>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

TEST(members, are_guarded_at_their_ports_with_the_tree) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 0);
  world.report_host("leaf", 1, 11);
  world.report_host("leaf", 2, 12);
  world.report_host("leaf", 3, 13);
  const Given first = world.join("demo", 2, 0, 11);
  const Given second = world.join("demo", 2, 1, 12);
  world.reconcile();
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second->status, 200U);
  const std::map<std::uint32_t, std::uint32_t> guards{{1, 11}, {2, 12}};
  EXPECT_EQ(world.permits, guards);
}

TEST(members, that_two_ports_claim_keep_their_group_from_being_ready) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 0);
  world.report_host("leaf", 1, 11);
  world.report_host("leaf", 2, 12);
  world.report_host("leaf", 3, 12);
  world.reconcile();
  const Given first = world.join("demo", 2, 0, 11, administrator, 100);
  const Given second = world.join("demo", 2, 1, 12, administrator, 100);
  world.reconcile();
  world.pass(World::second);
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second->status, 202U);
  EXPECT_THAT(boost::json::serialize(second->body),
              HasSubstr("NID 12 is at leaf port 2 and at leaf port 3"));
  EXPECT_TRUE(world.permits.empty());
  const Given multicast = world.multicast({Nid{11}, Nid{12}});
  world.pass(20 * World::second);
  ASSERT_TRUE(multicast.there());
  EXPECT_EQ(multicast->status, 409U);
  EXPECT_THAT(multicast.message(), HasSubstr("NID 12 is at leaf port 2 and at leaf port 3"));
  // One of the two is silent: the group continues.
  const Given again = world.join("demo", 2, 1, 12);
  world.report_down("leaf", 3);
  world.pass(World::second);
  ASSERT_TRUE(again.there());
  EXPECT_EQ(again->status, 200U);
  EXPECT_EQ(again.body().at("state").as_string(), "ready");
  EXPECT_EQ(world.permits.at(2), 12U);
}

TEST(members, of_a_group_that_is_ready_stay_where_they_are_when_another_port_claims_one) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 0);
  world.report_host("leaf", 1, 11);
  world.report_host("leaf", 2, 12);
  const Given first = world.join("demo", 2, 0, 11);
  const Given second = world.join("demo", 2, 1, 12);
  world.reconcile();
  world.report_host("leaf", 3, 12);
  world.pass(5 * World::second);
  EXPECT_EQ(world.permits.count(3), 0U);
  EXPECT_EQ(world.manager->groups().groups().front()->state, group::GroupState::ready);
  Given problems;
  world.manager->ask<&Manager::view>(administrator, {.what = api::View::topology},
                                     problems.reply());
  world.reconcile();
  EXPECT_THAT(boost::json::serialize(problems->body),
              HasSubstr("NID 12 is at leaf port 2 and at leaf port 3"));
}

TEST(members, whose_port_has_a_guard_cannot_be_contested) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.report_host("leaf", 3, 2);
  const Given first = world.join("demo", 2, 0, 1);
  const Given second = world.join("demo", 2, 1, 2);
  world.reconcile();
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second->status, 200U);
}

} // namespace
} // namespace tributary::manager
