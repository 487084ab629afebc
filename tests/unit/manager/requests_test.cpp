// What is answered to whom, when, and after what.
#include "tests/unit/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t s = 1'000'000'000;

TEST(join, is_answered_to_all_when_the_tree_is_in_force) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 3);
  std::vector<Given> answers;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    answers.push_back(world.join("demo", 3, rank, rank + 1));
  }
  world.settle();
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
  world.settle();
  EXPECT_FALSE(first.there());
  world.pass(s);
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
  world.settle();
  world.pass(s);
  ASSERT_TRUE(unknown.there());
  EXPECT_EQ(unknown->status, 202U);
  EXPECT_THAT(boost::json::serialize(unknown->body), HasSubstr("no switch has heard"));
  // When it is heard, both are answered.
  const Given again = world.join("demo", 2, 1, 77);
  world.connect_star("other", 1, 77);
  world.pass(s);
  ASSERT_TRUE(again.there());
  EXPECT_EQ(again->status, 422U) << "the two switches are not cabled to one another";
  EXPECT_THAT(again.message(), HasSubstr("2 unconnected parts"));
}

TEST(answers, come_after_the_change_is_stored_and_before_switches_are_told) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.log.clear();
  const Given first = world.join("demo", 2, 0, 1);
  const Given second = world.join("demo", 2, 1, 2);
  EXPECT_TRUE(world.log.empty());
  world.settle();
  ASSERT_FALSE(world.log.empty());
  EXPECT_EQ(world.log.front(), "stored");
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "stored"), 2)
      << "both joins and the tree in one write; the state ready in another";
}

TEST(full_disk, refuses_changes_with_503_and_takes_them_when_there_is_room) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.store_is_full = true;
  const Given caught = world.join("demo", 2, 0, 1, administrator, 0);
  world.settle();
  ASSERT_TRUE(caught.there());
  EXPECT_EQ(caught->status, 503U);
  EXPECT_THAT(caught.message(), HasSubstr("the disk is full"));
  EXPECT_GT(caught->retry_after, 0U);
  const Given refused = world.join("demo", 2, 1, 2, administrator, 0);
  ASSERT_TRUE(refused.there());
  EXPECT_EQ(refused->status, 503U);
  EXPECT_THAT(world.manager->not_ready_because(), HasSubstr("full"));

  world.store_is_full = false;
  world.pass(2 * s);
  EXPECT_EQ(world.manager->not_ready_because(), "");
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  world.settle();
  ASSERT_TRUE(one.there() && two.there());
  EXPECT_EQ(one->status, 200U);
  EXPECT_EQ(two->status, 200U);
}

TEST(tokens, open_their_own_job_and_no_other) {
  World world;
  const std::string mine = world.create_job("mine");
  const std::string yours = world.create_job("yours");
  world.connect_star("leaf", 1);
  const rest::Caller me{.token = mine, .administrator = false};
  const rest::Caller you{.token = yours, .administrator = false};
  const Given joined = world.join("demo", 1, 0, 1, me);
  world.settle();
  ASSERT_TRUE(joined.there());
  EXPECT_EQ(joined->status, 200U);
  Given other;
  world.manager->get_group(you, "mine", "demo", other.reply());
  EXPECT_EQ(other->status, 403U);
  Given nobody;
  world.manager->get_group({}, "mine", "demo", nobody.reply());
  EXPECT_EQ(nobody->status, 401U);
  Given wrong;
  world.manager->get_group({.token = "nonsense", .administrator = false}, "mine", "demo",
                           wrong.reply());
  EXPECT_EQ(wrong->status, 401U);
  Given own;
  world.manager->get_group(me, "mine", "demo", own.reply());
  EXPECT_EQ(own->status, 200U);
}

TEST(jobs, are_the_administrators) {
  World world;
  Given refused;
  world.manager->create_job({}, {"job", std::nullopt}, refused.reply());
  EXPECT_EQ(refused->status, 403U);
  EXPECT_NE(world.create_job("job"), "");
  EXPECT_EQ(world.create_job("job"), "") << "a second one of the same name";
  Given deleted;
  world.manager->delete_job(administrator, "job", deleted.reply());
  world.settle();
  EXPECT_EQ(deleted->status, 200U);
}

TEST(multicast, answers_its_address_and_a_root_of_six_octets_the_first_three_zero) {
  World world;
  const std::string token = world.create_job("job");
  world.connect_star("leaf", 3, 0x12345);
  Given given;
  world.manager->create_multicast({.token = token, .administrator = false},
                                  {.macs = {Nid{0x12345}, Nid{0x12346}, Nid{0x12347}},
                                   .vni = Vni{99},
                                   .timeout = std::chrono::microseconds(0),
                                   .job = "job",
                                   .step = "0"},
                                  given.reply());
  world.settle();
  ASSERT_TRUE(given.there());
  ASSERT_EQ(given->status, 201U) << boost::json::serialize(given->body);
  EXPECT_LT(given.body().at("mcastID").to_number<std::uint32_t>(), max_trees);
  EXPECT_EQ(given.body().at("hwRoot").as_string(), "00:00:00:01:23:45");
  Given deleted;
  world.manager->delete_multicast({.token = token, .administrator = false},
                                  TreeNumber{given.body().at("mcastID").to_number<std::uint16_t>()},
                                  deleted.reply());
  world.settle();
  EXPECT_EQ(deleted->status, 200U);
  EXPECT_TRUE(world.manager->groups().groups().empty());
}

TEST(multicast, that_is_not_in_force_in_time_is_409_so_that_the_client_asks_again) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  world.switches_answer = false;
  Given given;
  world.manager->create_multicast(administrator,
                                  {.macs = {Nid{1}, Nid{2}},
                                   .vni = Vni{99},
                                   .timeout = std::chrono::microseconds(0),
                                   .job = "job",
                                   .step = "0"},
                                  given.reply());
  world.settle();
  EXPECT_FALSE(given.there());
  world.pass(10 * s);
  ASSERT_TRUE(given.there());
  EXPECT_GE(given->status, 409U);
}

TEST(views, name_what_is_there_and_404_what_is_not) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 2);
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  world.settle();
  ASSERT_EQ(one->status, 200U);
  for (const auto& [view, name, key] :
       {std::tuple(rest::View::switches, "switches", "leaf"),
        std::tuple(rest::View::hosts, "hosts", "nid-1"),
        std::tuple(rest::View::groups, "groups", "demo"),
        std::tuple(rest::View::trees, "trees", "0"), std::tuple(rest::View::jobs, "jobs", "job")}) {
    Given all;
    world.manager->view(administrator, view, std::nullopt, all.reply());
    ASSERT_EQ(all->status, 200U) << name;
    EXPECT_FALSE(all.body().at(name).as_array().empty()) << name;
    Given none;
    world.manager->view(administrator, view, "nothing of that name", none.reply());
    EXPECT_EQ(none->status, 404U) << name;
    if (view != rest::View::trees && view != rest::View::hosts) {
      Given named;
      world.manager->view(administrator, view, key, named.reply());
      EXPECT_EQ(named->status, 200U) << name;
    }
  }
  EXPECT_THAT(world.manager->metrics(), HasSubstr("tributary_groups{state=\"ready\"} 1\n"));
}

TEST(views, may_be_asked_for_while_cables_are_found_that_no_tree_was_planned_over_yet) {
  World world;
  world.connect_star("a", 1);
  world.connect_star("b", 1, 9);
  // Both ends of a cable tell of each other; nothing is settled in between.
  world.report_cable("a", 5, "b", 6);
  Given links;
  world.manager->view(administrator, rest::View::links, std::nullopt, links.reply());
  ASSERT_EQ(links->status, 200U);
  ASSERT_EQ(links.body().at("links").as_array().size(), 1U);
  EXPECT_EQ(links.body().at("links").as_array().front().at("efi").to_number<int>(), 0);
  EXPECT_THAT(world.manager->metrics(), HasSubstr("tributary_link_efi"));
}

TEST(events, are_numbered_kept_and_followed) {
  World world;
  world.create_job("job");
  std::vector<rest::Event> heard;
  const auto end = world.manager->subscribe(0, [&](const rest::Event& e) { heard.push_back(e); });
  const std::size_t before = heard.size();
  EXPECT_GT(before, 0U) << "what happened before is kept";
  world.connect_star("leaf", 1);
  ASSERT_GT(heard.size(), before);
  for (std::size_t i = 1; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i].number, heard[i - 1].number + 1);
  }
  end();
  const std::size_t then = heard.size();
  world.connect_star("other", 1, 50);
  EXPECT_EQ(heard.size(), then);
}

} // namespace
} // namespace tributary::manager
