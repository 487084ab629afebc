// What the manager does while the disk takes its time.
#include "fake_world.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tributary::manager {
namespace {

class WritingTest : public ::testing::Test {
protected:
  WritingTest() {
    world.create_job("job");
    world.connect_star("leaf", 4);
    world.reconcile();
  }

  void pass_all() {
    while (world.writing) {
      world.disk_comes_to_it();
    }
    world.reconcile();
    while (world.writing) {
      world.disk_comes_to_it();
    }
  }

  World world;
  api::GroupRequest group(const std::string& name) {
    return {.job = "job", .name = name, .size = 2, .trees = 1, .root_rank = {}};
  }
};

TEST_F(WritingTest, no_request_is_answered_before_the_disk_and_all_after) {
  world.disk_is_slow = true;
  Given first;
  world.manager->ask<&Manager::create_group>(administrator, group("a"), first.reply());
  world.reconcile();
  ASSERT_TRUE(world.writing);
  EXPECT_FALSE(first.there());
  EXPECT_EQ(world.manager->next_deadline(), never) << "the end of the write continues the turn";
  pass_all();
  ASSERT_TRUE(first.there());
  EXPECT_EQ(first->status, 201U);
}

TEST_F(WritingTest, requests_that_come_meanwhile_are_taken_on_behind_it) {
  world.disk_is_slow = true;
  Given first;
  Given second;
  world.manager->ask<&Manager::create_group>(administrator, group("a"), first.reply());
  world.reconcile();
  world.manager->ask<&Manager::create_group>(administrator, group("b"), second.reply());
  EXPECT_EQ(world.manager->groups().find("job", "b"), nullptr);
  while (world.writing) {
    world.disk_comes_to_it();
  }
  EXPECT_TRUE(first.there());
  EXPECT_FALSE(second.there());
  pass_all();
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second->status, 201U);
}

TEST_F(WritingTest, a_write_that_fails_takes_back_what_was_in_it) {
  world.disk_is_slow = true;
  Given first;
  Given second;
  world.manager->ask<&Manager::create_group>(administrator, group("a"), first.reply());
  world.reconcile();
  world.manager->ask<&Manager::create_group>(administrator, group("b"), second.reply());
  world.store_is_full = true;
  while (world.writing) {
    world.disk_comes_to_it();
  }
  ASSERT_TRUE(first.there());
  EXPECT_EQ(first->status, 503U);
  EXPECT_EQ(world.manager->groups().find("job", "a"), nullptr);
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second->status, 503U) << "nothing is taken on while the store takes nothing";
  EXPECT_EQ(world.manager->groups().find("job", "b"), nullptr);
}

TEST_F(WritingTest, who_looks_and_who_renews_does_not_wait) {
  Given joined;
  world.manager->ask<&Manager::create_group>(administrator, group("a"), joined.reply());
  world.reconcile();
  world.disk_is_slow = true;
  Given created;
  world.manager->ask<&Manager::create_group>(administrator, group("b"), created.reply());
  world.reconcile();
  ASSERT_TRUE(world.writing);
  Given looked;
  world.manager->ask<&Manager::get_group>(administrator, {"job", "a"}, looked.reply());
  EXPECT_TRUE(looked.there());
  Given renewed;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "a", 0}, renewed.reply());
  EXPECT_TRUE(renewed.there());
  pass_all();
}

} // namespace
} // namespace tributary::manager
