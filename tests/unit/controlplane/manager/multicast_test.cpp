// Multicasts of the Slingshot-shaped contract.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tributary::manager {
namespace {

TEST(multicast, of_another_job_is_401_to_delete_as_one_that_is_not_there) {
  World world;
  const api::Caller mine{.token = world.create_job("mine"), .administrator = false};
  const api::Caller yours{.token = world.create_job("yours"), .administrator = false};
  world.connect_star("leaf", 2);
  Given made;
  world.manager->ask<&Manager::create_multicast>(
      mine, {.macs = {Nid{1}, Nid{2}}, .vni = Vni{9}, .timeout = {}, .job = "mine", .step = "0"},
      made.reply());
  world.reconcile();
  ASSERT_EQ(made->status, 201U);
  const TreeNumber number{made.body().at("mcastID").to_number<std::uint16_t>()};
  const auto answer = [&](const api::Caller& caller, TreeNumber tree) {
    Given given;
    world.manager->ask<&Manager::delete_multicast>(caller, tree, given.reply());
    world.reconcile();
    return std::pair(given->status, given->status == 200 ? std::string() : given.message());
  };
  const auto there = answer(yours, number);
  EXPECT_EQ(there.first, 401U);
  auto not_there = answer(yours, TreeNumber{4711});
  EXPECT_EQ(not_there.first, 401U);
  not_there.second.replace(not_there.second.find("4711"), 4, std::to_string(number.value));
  EXPECT_EQ(there.second, not_there.second);
  EXPECT_EQ(answer({}, number).first, 401U);
  EXPECT_EQ(answer({}, TreeNumber{4711}).first, 401U);
  EXPECT_EQ(answer(administrator, TreeNumber{4711}).first, 404U);
  EXPECT_EQ(answer(mine, number).first, 200U);
}

TEST(multicast, answers_its_address_and_a_root_of_six_octets_the_first_three_zero) {
  World world;
  const std::string token = world.create_job("job");
  world.connect_star("leaf", 3, 0x12345);
  Given given;
  world.manager->ask<&Manager::create_multicast>(
      {.token = token, .administrator = false},
      {.macs = {Nid{0x12345}, Nid{0x12346}, Nid{0x12347}},
       .vni = Vni{99},
       .timeout = std::chrono::microseconds(0),
       .job = "job",
       .step = "0"},
      given.reply());
  world.reconcile();
  ASSERT_TRUE(given.there());
  ASSERT_EQ(given->status, 201U) << boost::json::serialize(given->body);
  EXPECT_LT(given.body().at("mcastID").to_number<std::uint32_t>(), max_trees);
  EXPECT_EQ(given.body().at("hwRoot").as_string(), "00:00:00:01:23:45");
  Given deleted;
  world.manager->ask<&Manager::delete_multicast>(
      {.token = token, .administrator = false},
      TreeNumber{given.body().at("mcastID").to_number<std::uint16_t>()}, deleted.reply());
  world.reconcile();
  EXPECT_EQ(deleted->status, 200U);
  EXPECT_TRUE(world.manager->groups().groups().empty());
}

TEST(multicast, that_is_not_in_force_in_time_is_409_so_that_the_client_asks_again) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.switches_answer = false;
  Given given;
  world.manager->ask<&Manager::create_multicast>(administrator,
                                                 {.macs = {Nid{1}, Nid{2}},
                                                  .vni = Vni{99},
                                                  .timeout = std::chrono::microseconds(0),
                                                  .job = "job",
                                                  .step = "0"},
                                                 given.reply());
  world.reconcile();
  EXPECT_FALSE(given.there());
  world.pass(10 * World::second);
  ASSERT_TRUE(given.there());
  EXPECT_GE(given->status, 409U);
}

/// A switch that takes longer to install a tree than a client waits for its answer.
class SlowSwitch : public testing::Test {
protected:
  SlowSwitch() {
    world.create_job("job");
    world.connect_star("leaf", 4);
    world.switches_commit = false;
    first = world.multicast({Nid{1}, Nid{2}});
    world.reconcile();
    world.pass(4'600'000'000);
  }
  void SetUp() override {
    ASSERT_TRUE(first.there());
    ASSERT_EQ(first->status, 409U);
    ASSERT_GT(first->retry_after, 0U);
  }
  [[nodiscard]] std::size_t groups() const { return world.manager->groups().groups().size(); }
  void switch_commits() {
    world.switches_commit = true;
    world.pass(1);
  }

  World world;
  Given first;
};

TEST_F(SlowSwitch, a_client_that_got_409_asks_again_and_gets_the_multicast_that_is_pending) {
  const Given second = world.multicast({Nid{1}, Nid{2}});
  world.reconcile();
  EXPECT_EQ(groups(), 1U);
  EXPECT_FALSE(second.there());
  switch_commits();
  ASSERT_TRUE(second.there());
  ASSERT_EQ(second->status, 201U) << boost::json::serialize(second->body);
  // Now it has one, and requests another.
  const Given third = world.multicast({Nid{1}, Nid{2}});
  world.reconcile();
  ASSERT_TRUE(third.there());
  EXPECT_EQ(third->status, 201U) << boost::json::serialize(third->body);
  EXPECT_NE(third.body().at("mcastID"), second.body().at("mcastID"));
  EXPECT_EQ(groups(), 2U);
}

TEST_F(SlowSwitch, the_multicast_that_became_ready_meanwhile_is_his_who_asks_again) {
  switch_commits();
  const Given second = world.multicast({Nid{1}, Nid{2}});
  world.reconcile();
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second->status, 201U) << boost::json::serialize(second->body);
  EXPECT_EQ(groups(), 1U);
}

TEST_F(SlowSwitch, another_request_is_another_multicast) {
  world.multicast({Nid{1}, Nid{2}}, "1");
  world.multicast({Nid{4}, Nid{3}});
  world.multicast({Nid{3}, Nid{4}});
  world.reconcile();
  EXPECT_EQ(groups(), 4U) << "another step, other hosts, and other ranks of the same";
}

TEST_F(SlowSwitch, an_abandoned_multicast_ends_and_returns_what_it_had) {
  switch_commits();
  EXPECT_EQ(groups(), 1U);
  world.pass(31 * World::second);
  EXPECT_EQ(groups(), 0U);
}

} // namespace
} // namespace tributary::manager
