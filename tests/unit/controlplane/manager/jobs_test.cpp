// Jobs: their limits, their paths, and the answers to failures.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tributary::manager {
namespace {

TEST(jobs, limits_are_changed_by_administrators_alone) {
  World world;
  const std::string token = world.create_job("job");
  const api::Caller own{.token = token, .administrator = false};
  Given refused;
  world.manager->ask<&Manager::patch_job>(own, {"job", {}, 9}, refused.reply());
  world.reconcile();
  EXPECT_EQ(refused->status, 403U);
  EXPECT_EQ(world.manager->groups().find_job("job")->multicast_limit, 64U);
  Given taken;
  world.manager->ask<&Manager::patch_job>(administrator, {"job", {}, 9}, taken.reply());
  world.reconcile();
  EXPECT_EQ(taken->status, 200U);
  EXPECT_EQ(taken.body().at("mcastLimit").to_number<int>(), 9);
  Given steps;
  world.manager->ask<&Manager::patch_job>(own, {"job", {"0"}}, steps.reply());
  world.reconcile();
  EXPECT_EQ(steps->status, 200U) << "its steps are its own";
}

TEST(jobs, that_may_have_no_groups_are_refused_for_every_caller) {
  const std::string note = "job none may have no groups: its limit is 0; leave mcastLimit out for "
                           "the default, or raise it";
  World world;
  Given made;
  world.manager->ask<&Manager::create_job>(administrator, {"none", 0}, made.reply());
  world.reconcile();
  ASSERT_EQ(made->status, 201U);
  EXPECT_EQ(made.body().at("note").as_string(), note);
  const api::Caller own{.token = std::string(made.body().at("sessionToken").as_string())};
  Given refused;
  world.manager->ask<&Manager::create_group>(own, {.job = "none", .name = "g", .size = 2},
                                             refused.reply());
  world.reconcile();
  EXPECT_EQ(refused->status, 507U);
  EXPECT_EQ(refused.message(), "01: " + note);
  Given raised;
  world.manager->ask<&Manager::patch_job>(administrator, {"none", {}, 1}, raised.reply());
  world.reconcile();
  EXPECT_FALSE(raised.body().contains("note"));
  Given lowered;
  world.manager->ask<&Manager::patch_job>(administrator, {"none", {}, 0}, lowered.reply());
  world.reconcile();
  EXPECT_EQ(lowered.body().at("note").as_string(), note);
}

TEST(jobs, show_what_they_are_limited_to) {
  World world;
  Given made;
  world.manager->ask<&Manager::create_job>(
      administrator,
      {.job = "job", .multicast_limit = 4, .hosts = {{Nid{2}, Nid{1}}}, .vnis = {{Vni{77}}}},
      made.reply());
  world.reconcile();
  ASSERT_EQ(made->status, 201U);
  Given seen;
  world.manager->ask<&Manager::get_job>(administrator, {"job"}, seen.reply());
  EXPECT_EQ(boost::json::serialize(seen.body().at("hosts")),
            R"(["00:00:00:00:00:01","00:00:00:00:00:02"])");
  EXPECT_EQ(boost::json::serialize(seen.body().at("vnis")), "[77]");
  world.create_job("open");
  const Given list;
  world.manager->ask<&Manager::view_jobs>(administrator, api::ViewRequest{.what = api::View::jobs},
                                          list.reply());
  EXPECT_EQ(boost::json::serialize(list.body().at("jobs")),
            R"([{"job":"job","mcast_limit":4,"groups":[],"vni":null,"hosts":[1,2],"vnis":[77]},)"
            R"({"job":"open","mcast_limit":64,"groups":[],"vni":null,"hosts":null,"vnis":null}])");
}

TEST(jobs, have_links_that_lead_to_them_whatever_their_name) {
  World world;
  world.create_job("a b/\u00fc?");
  Given listed;
  world.manager->ask<&Manager::list_jobs>(administrator, {}, listed.reply());
  const std::string link(listed.body().at("documentLinks").as_array().at(0).as_string());
  EXPECT_EQ(link, "/fabric/collectives/jobs/a%20b%2F%C3%BC%3F");
  Given one;
  world.manager->ask<&Manager::get_job>(administrator, {"a b/\u00fc?"}, one.reply());
  EXPECT_EQ(one.body().at("documentSelfLink").as_string(), link);
}

TEST(failures, say_the_same_as_message_and_as_detail) {
  World world;
  Given none;
  world.manager->ask<&Manager::get_job>(administrator, {"nobody"}, none.reply());
  EXPECT_EQ(none->status, 404U);
  EXPECT_EQ(none.body().at("detail"), none.body().at("message"));
}

TEST(jobs, are_the_administrators) {
  World world;
  Given refused;
  world.manager->ask<&Manager::create_job>({}, {"job", std::nullopt}, refused.reply());
  EXPECT_EQ(refused->status, 403U);
  EXPECT_NE(world.create_job("job"), "");
  EXPECT_EQ(world.create_job("job"), "") << "a second one of the same name";
  Given deleted;
  world.manager->ask<&Manager::delete_job>(administrator, {"job"}, deleted.reply());
  world.reconcile();
  EXPECT_EQ(deleted->status, 200U);
}

} // namespace
} // namespace tributary::manager
