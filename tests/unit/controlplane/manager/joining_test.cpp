// Members that join: which answers they get, when, and after which events.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

TEST(join, is_answered_to_all_when_the_tree_is_in_force) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 3);
  std::vector<Given> answers;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    answers.push_back(world.join("demo", 3, rank, rank + 1));
  }
  world.reconcile();
  for (const Given& answer : answers) {
    ASSERT_TRUE(answer.there());
    EXPECT_EQ(answer->status, 200U);
    EXPECT_EQ(answer.body().at("state").as_string(), "ready");
    EXPECT_EQ(answer.body().at("trees").as_array().size(), 1U);
    EXPECT_NE(answer.body().at("cookie").to_number<std::uint32_t>(), 0U);
  }
}

TEST(join, waits_for_the_others_and_then_says_who_is_missing) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 3);
  const Given first = world.join("demo", 3, 0, 1, administrator, 500);
  world.reconcile();
  EXPECT_FALSE(first.there());
  world.pass(World::second);
  ASSERT_TRUE(first.there());
  EXPECT_EQ(first->status, 202U);
  EXPECT_EQ(first.body().at("missing").as_array().size(), 2U);
}

TEST(join, of_a_host_that_no_switch_has_heard_keeps_the_group_waiting_and_is_named) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 1);
  const Given known = world.join("demo", 2, 0, 1, administrator, 100);
  const Given unknown = world.join("demo", 2, 1, 77, administrator, 100);
  world.reconcile();
  world.pass(World::second);
  ASSERT_TRUE(unknown.there());
  EXPECT_EQ(unknown->status, 202U);
  EXPECT_THAT(boost::json::serialize(unknown->body), HasSubstr("no switch has learned"));
  // When its hello arrives, both are answered.
  const Given again = world.join("demo", 2, 1, 77);
  world.connect_star("other", 1, 77);
  world.pass(World::second);
  ASSERT_TRUE(again.there());
  EXPECT_EQ(again->status, 422U) << "the two switches are not cabled to one another";
  EXPECT_THAT(again.message(), HasSubstr("2 unconnected parts"));
}

TEST(answers, come_after_the_change_is_stored_and_before_switches_are_updated) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.log.clear();
  const Given first = world.join("demo", 2, 0, 1);
  const Given second = world.join("demo", 2, 1, 2);
  EXPECT_TRUE(world.log.empty());
  world.reconcile();
  ASSERT_FALSE(world.log.empty());
  EXPECT_EQ(world.log.front(), "stored");
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "stored"), 3)
      << "both joins in one write, what follows from them in another; the state ready in a third";
}

TEST(restart, answers_409_for_hosts_whose_switch_is_waited_for_and_422_when_it_had_its_time) {
  constexpr std::uint64_t timeout = 3 * World::second;
  records::Snapshot past;
  past.epoch = 2;
  past.jobs = {{"job", 4, "token", std::nullopt, false}};
  past.switches = {{0, "leaf", 1, 8, true}, {1, "other", 2, 8, true}};
  past.hosts = {{Nid{1}, "a", {0, 0}, true, true},
                {Nid{2}, "b", {0, 1}, true, true},
                {Nid{3}, "c", {1, 0}, true, true}};
  World world;
  world.restart(past, timeout);
  const auto multicast = [&](std::vector<Nid> macs) {
    Given given;
    world.manager->ask<&Manager::create_multicast>(
        administrator,
        {.macs = std::move(macs), .vni = Vni{9}, .timeout = {}, .job = "job", .step = "0"},
        given.reply());
    world.reconcile();
    return given;
  };
  const Given early = multicast({Nid{1}, Nid{2}});
  ASSERT_TRUE(early.there());
  EXPECT_EQ(early->status, 409U);
  EXPECT_GT(early->retry_after, 0U);
  EXPECT_THAT(early.message(),
              HasSubstr("switch leaf, where some of these hosts were, is not connected yet"));
  EXPECT_EQ(multicast({Nid{1}, Nid{99}})->status, 422U) << "one that is unknown";
  world.connect_star("leaf", 2);
  const Given back = multicast({Nid{1}, Nid{2}});
  EXPECT_TRUE(!back.there() || back->status == 201) << "it is taken on";
  EXPECT_EQ(multicast({Nid{1}, Nid{3}})->status, 409U) << "the other switch is still missing";
  world.manager->switches().lost(world.sessions.at("leaf"), "it is gone");
  world.reconcile();
  const Given lost = multicast({Nid{2}, Nid{1}});
  EXPECT_EQ(lost->status, 422U) << "it was back, and is lost since: no restart waits for it";
  EXPECT_THAT(lost.message(), testing::Not(HasSubstr("just started")));
  world.pass(timeout);
  EXPECT_EQ(multicast({Nid{1}, Nid{3}})->status, 422U) << "it had its time";
}

} // namespace
} // namespace tributary::manager
