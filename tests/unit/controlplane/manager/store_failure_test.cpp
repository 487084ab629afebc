// A store that rejects all writes: nothing is done that could be lost, and no state of it is kept.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

TEST(full_disk, refuses_changes_with_503_and_takes_them_when_there_is_room) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.store_is_full = true;
  const Given caught = world.join("demo", 2, 0, 1, administrator, 0);
  world.reconcile();
  ASSERT_TRUE(caught.there());
  EXPECT_EQ(caught->status, 503U);
  EXPECT_THAT(caught.message(), HasSubstr("the disk is full"));
  EXPECT_GT(caught->retry_after, 0U);
  const Given refused = world.join("demo", 2, 1, 2, administrator, 0);
  ASSERT_TRUE(refused.there());
  EXPECT_EQ(refused->status, 503U);
  EXPECT_THAT(world.manager->not_ready_because(), HasSubstr("full"));

  world.store_is_full = false;
  world.pass(2 * World::second);
  EXPECT_EQ(world.manager->not_ready_because(), "");
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  world.reconcile();
  ASSERT_TRUE(one.there() && two.there());
  EXPECT_EQ(one->status, 200U);
  EXPECT_EQ(two->status, 200U);
}

TEST(store_that_is_away, is_reported_before_anything_is_to_be_written) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.store_is_full = true; // everything written now is lost
  world.manager->store_is_away("fabric.db was removed");
  world.reconcile();
  EXPECT_EQ(world.manager->not_ready_because(), "fabric.db was removed");
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_store_failing 1\n"));
  const Given refused = world.join("demo", 2, 0, 1, administrator, 0);
  ASSERT_TRUE(refused.there());
  EXPECT_EQ(refused->status, 503U);
  EXPECT_THAT(refused.message(), HasSubstr("fabric.db was removed"));
  world.pass(5 * World::second);
  EXPECT_NE(world.manager->not_ready_because(), "");
  world.store_is_full = false;
  world.pass(2 * World::second);
  EXPECT_EQ(world.manager->not_ready_because(), "") << "though no request asked for any change";
}

TEST(store_that_is_away, keeps_nothing_that_was_asked_for_in_the_same_turn) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.store_is_full = true;
  const Given caught = world.join("demo", 2, 0, 1, administrator, 0);
  world.manager->store_is_away("fabric.db was removed");
  world.reconcile();
  ASSERT_TRUE(caught.there());
  EXPECT_EQ(caught->status, 503U);
  EXPECT_EQ(world.manager->groups().find("job", "demo"), nullptr);
}

/// A disk that is full when changes arrive, and has room when they arrive again.
class FullDisk : public testing::Test {
protected:
  FullDisk() {
    world.create_job("job");
    world.connect_star("leaf", 4);
  }
  void fill() { world.store_is_full = true; }
  void make_room() {
    world.store_is_full = false;
    world.pass(2 * World::second);
    ASSERT_EQ(world.manager->not_ready_because(), "");
  }
  static void expect_503(const Given& given) {
    ASSERT_TRUE(given.there());
    EXPECT_EQ(given->status, 503U) << boost::json::serialize(given->body);
    EXPECT_GT(given->retry_after, 0U);
  }
  [[nodiscard]] std::size_t groups() const { return world.manager->groups().groups().size(); }

  World world;
};

TEST_F(FullDisk, a_multicast_that_was_answered_503_is_not_there_and_the_repeat_makes_one) {
  fill();
  const Given refused = world.multicast({Nid{1}, Nid{2}});
  world.reconcile();
  expect_503(refused);
  EXPECT_EQ(groups(), 0U);
  make_room();
  EXPECT_EQ(groups(), 0U);
  const Given again = world.multicast({Nid{1}, Nid{2}});
  world.reconcile();
  ASSERT_TRUE(again.there());
  EXPECT_EQ(again->status, 201U);
  EXPECT_EQ(groups(), 1U);
}

TEST_F(FullDisk, a_job_that_was_answered_503_can_be_made_and_its_token_is_sent) {
  fill();
  EXPECT_EQ(world.create_job("another"), "");
  make_room();
  EXPECT_NE(world.create_job("another"), "") << "it was there, and no client knew its token";
}

TEST_F(FullDisk, what_was_to_be_deleted_is_there_still) {
  const Given made = world.multicast({Nid{1}, Nid{2}});
  world.reconcile();
  ASSERT_EQ(made->status, 201U);
  const TreeNumber tree{made.body().at("mcastID").to_number<std::uint16_t>()};
  fill();
  Given refused;
  world.manager->ask<&Manager::delete_multicast>(administrator, tree, refused.reply());
  Given job;
  world.manager->ask<&Manager::delete_job>(administrator, {"job"}, job.reply());
  world.reconcile();
  expect_503(refused);
  expect_503(job);
  ASSERT_EQ(groups(), 1U);
  EXPECT_EQ(world.manager->groups().groups().front()->state, group::GroupState::ready);
  make_room();
  Given again;
  world.manager->ask<&Manager::delete_multicast>(administrator, tree, again.reply());
  world.reconcile();
  EXPECT_EQ(again->status, 200U);
  EXPECT_EQ(groups(), 0U);
}

TEST_F(FullDisk, a_join_that_was_answered_503_leaves_the_others_waiting_as_before) {
  const Given early = world.join("demo", 2, 0, 1, administrator, 20'000);
  world.reconcile();
  fill();
  const Given refused = world.join("demo", 2, 1, 2);
  world.reconcile();
  expect_503(refused);
  EXPECT_FALSE(early.there());
  ASSERT_EQ(groups(), 1U);
  EXPECT_EQ(world.manager->groups().groups().front()->present, 1U);
  EXPECT_TRUE(world.sent.empty()) << "switches were sent a tree that no group may use";
  make_room();
  const Given again = world.join("demo", 2, 1, 2);
  world.reconcile();
  ASSERT_TRUE(early.there() && again.there());
  EXPECT_EQ(early->status, 200U);
  EXPECT_EQ(again->status, 200U);
}

TEST_F(FullDisk, a_tree_that_cannot_be_stored_is_sent_when_it_can) {
  const Given early = world.join("demo", 2, 0, 1, administrator, 20'000);
  world.reconcile();
  const Given last = world.join("demo", 2, 1, 2, administrator, 20'000);
  world.full_after = 1; // the join itself finds room
  world.reconcile();
  EXPECT_FALSE(early.there() || last.there()) << "a crash would lose what they were told";
  make_room();
  ASSERT_TRUE(early.there() && last.there());
  EXPECT_EQ(early->status, 200U);
  EXPECT_EQ(last->status, 200U);
}

} // namespace
} // namespace tributary::manager
