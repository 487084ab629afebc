// Permissions of tokens.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <optional>
#include <set>
#include <string>

namespace tributary::manager {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(tokens, open_their_own_job_and_no_other) {
  World world;
  const std::string mine = world.create_job("mine");
  const std::string yours = world.create_job("yours");
  world.connect_star("leaf", 1);
  const api::Caller me{.token = mine, .administrator = false};
  const api::Caller you{.token = yours, .administrator = false};
  const Given joined = world.join("demo", 1, 0, 1, me);
  world.reconcile();
  ASSERT_TRUE(joined.there());
  EXPECT_EQ(joined->status, 200U);
  Given other;
  world.manager->ask<&Manager::get_group>(you, {"mine", "demo"}, other.reply());
  EXPECT_EQ(other->status, 403U);
  Given nobody;
  world.manager->ask<&Manager::get_group>({}, {"mine", "demo"}, nobody.reply());
  EXPECT_EQ(nobody->status, 401U);
  Given wrong;
  world.manager->ask<&Manager::get_group>({.token = "nonsense", .administrator = false},
                                          {"mine", "demo"}, wrong.reply());
  EXPECT_EQ(wrong->status, 401U);
  Given own;
  world.manager->ask<&Manager::get_group>(me, {"mine", "demo"}, own.reply());
  EXPECT_EQ(own->status, 200U);
}

TEST(tokens, that_are_given_must_be_right_also_where_there_is_an_open_job) {
  Settings settings;
  settings.open_job = "everybody";
  World world(settings);
  const api::Caller stranger{.token = "made-up", .administrator = false};
  const auto status_of = [](const Given& given) { return given.there() ? given->status : 0; };
  for (const api::View view : {api::View::topology, api::View::groups, api::View::jobs}) {
    Given viewed;
    world.manager->ask<&Manager::view>(stranger, api::ViewRequest{.what = view}, viewed.reply());
    EXPECT_EQ(status_of(viewed), 401U);
  }
  EXPECT_EQ(world.manager->refuse_events(stranger).value().status, 401U);
  Given created;
  world.manager->ask<&Manager::create_job>(stranger, {"other", std::nullopt}, created.reply());
  EXPECT_EQ(status_of(created), 401U);
  Given listed;
  world.manager->ask<&Manager::list_jobs>(stranger, {}, listed.reply());
  EXPECT_EQ(status_of(listed), 401U);
  Given deleted;
  world.manager->ask<&Manager::delete_job>(stranger, {"everybody"}, deleted.reply());
  EXPECT_EQ(status_of(deleted), 401U);
  Given one;
  world.manager->ask<&Manager::get_job>(stranger, {"everybody"}, one.reply());
  EXPECT_EQ(status_of(one), 401U);
  EXPECT_EQ(status_of(world.join("demo", 1, 0, 1, stranger)), 401U);
  EXPECT_FALSE(world.manager->refuse_events({}).has_value()) << "no token is needed here";
}

TEST(open_view, lets_those_without_a_token_look_at_everything_and_change_nothing) {
  Settings settings;
  settings.open_view = true;
  World world(settings);
  const std::string mine = world.create_job("mine");
  world.connect_star("leaf", 2);
  const Given joined = world.join("demo", 1, 0, 1, {.token = mine, .administrator = false});
  world.reconcile();
  ASSERT_EQ(joined->status, 200U);
  const api::Caller nobody{};
  const api::Caller stranger{.token = "made-up", .administrator = false};
  for (const api::View view : {api::View::topology, api::View::loads, api::View::groups}) {
    Given seen;
    world.manager->ask<&Manager::view>(nobody, api::ViewRequest{.what = view}, seen.reply());
    EXPECT_EQ(seen->status, 200U);
    Given refused;
    world.manager->ask<&Manager::view>(stranger, api::ViewRequest{.what = view}, refused.reply());
    EXPECT_EQ(refused->status, 401U) << "a token that is given must be right";
  }
  Given groups;
  world.manager->ask<&Manager::view>(nobody, api::ViewRequest{.what = api::View::groups},
                                     groups.reply());
  EXPECT_EQ(groups.body().at("groups").as_array().size(), 1U) << "of all jobs";
  Given faults;
  world.manager->ask<&Manager::faults>(nobody, 10, faults.reply());
  EXPECT_EQ(faults->status, 200U);
  EXPECT_FALSE(world.events_of(nobody).empty());

  Given jobs;
  world.manager->ask<&Manager::view_jobs>(nobody, api::ViewRequest{.what = api::View::jobs},
                                          jobs.reply());
  EXPECT_EQ(jobs->status, 403U);
  Given deleted;
  world.manager->ask<&Manager::delete_group>(nobody, {"mine", "demo"}, deleted.reply());
  EXPECT_EQ(deleted->status, 401U);
  Given drained;
  world.manager->ask<&Manager::drain>(
      nobody, {.verb = api::DrainRequest::Verb::drain, .at = "leaf"}, drained.reply());
  EXPECT_EQ(drained->status, 403U);
  Given reported;
  world.manager->ask<&Manager::rdma_report>(nobody, {.nid = Nid{1}}, reported.reply());
  EXPECT_EQ(reported->status, 401U) << "a report changes the settings of hosts";
  Given job;
  world.manager->ask<&Manager::get_job>(nobody, {"mine"}, job.reply());
  EXPECT_NE(job->status, 200U) << "there is its token";
}

TEST(open_job, that_an_administrator_deleted_is_404_to_those_without_a_token) {
  Settings settings;
  settings.open_job = "everybody";
  World world(settings);
  world.connect_star("leaf", 2);
  static_cast<void>(world.join("demo", 2, 0, 1, {}));
  world.reconcile();
  world.switches_answer = false;
  Given deleted;
  world.manager->ask<&Manager::delete_job>(administrator, {"everybody"}, deleted.reply());
  world.reconcile();
  ASSERT_EQ(deleted->status, 200U);

  const auto is_404 = [](const Given& given) {
    ASSERT_TRUE(given.there());
    EXPECT_EQ(given->status, 404U);
    EXPECT_THAT(given.message(), HasSubstr("everybody"));
  };
  for (const char* named : {"everybody", ""}) {
    for (const api::Caller& caller : {api::Caller{}, administrator}) {
      if (caller.administrator && *named == '\0') {
        continue; // names no job at all
      }
      Given got;
      world.manager->ask<&Manager::get_job>(caller, {named}, got.reply());
      is_404(got);
      Given group;
      world.manager->ask<&Manager::get_group>(caller, {named, "demo"}, group.reply());
      is_404(group);
      Given left;
      world.manager->ask<&Manager::leave_group>(caller, {named, "demo", 0}, left.reply());
      is_404(left);
      Given renewed;
      world.manager->ask<&Manager::renew_lease>(caller, {named, "demo", 0}, renewed.reply());
      is_404(renewed);
      Given patched;
      world.manager->ask<&Manager::patch_job>(caller, {named, {"0"}}, patched.reply());
      is_404(patched);
      Given destroyed;
      world.manager->ask<&Manager::delete_group>(caller, {named, "demo"}, destroyed.reply());
      is_404(destroyed);
      Given multicast;
      world.manager->ask<&Manager::create_multicast>(
          caller, {.macs = {Nid{1}}, .vni = Vni{9}, .timeout = {}, .job = named, .step = "0"},
          multicast.reply());
      is_404(multicast);
    }
  }
  is_404(world.join("demo", 2, 0, 1, {}));
  Given seen;
  world.manager->ask<&Manager::view>({}, api::ViewRequest{.what = api::View::groups}, seen.reply());
  EXPECT_TRUE(seen.there());
  Given again;
  world.manager->ask<&Manager::create_job>(administrator, {"everybody", std::nullopt},
                                           again.reply());
  world.reconcile();
  EXPECT_EQ(again->status, 201U) << "nothing is left of it, so it can be had again";
  EXPECT_FALSE(world.join("demo", 2, 0, 1, {}).there());
}

TEST(tenants, see_only_their_own_groups_trees_and_events) {
  World world;
  const api::Caller mine{.token = world.create_job("mine"), .administrator = false};
  const api::Caller yours{.token = world.create_job("yours"), .administrator = false};
  world.connect_star("leaf", 4);
  static_cast<void>(world.join("a", 2, 0, 1, mine));
  static_cast<void>(world.join("a", 2, 1, 2, mine));
  static_cast<void>(world.join("b", 2, 0, 3, yours));
  static_cast<void>(world.join("b", 2, 1, 4, yours));
  world.reconcile();
  const auto seen = [&](const api::Caller& caller, api::View view) {
    Given given;
    world.manager->ask<&Manager::view>(caller, api::ViewRequest{.what = view}, given.reply());
    return boost::json::serialize(given->body);
  };
  for (const api::View view : {api::View::groups, api::View::trees}) {
    EXPECT_THAT(seen(mine, view), HasSubstr("\"job\":\"mine\""));
    EXPECT_THAT(seen(mine, view), Not(HasSubstr("yours")));
    EXPECT_THAT(seen(administrator, view), AllOf(HasSubstr("mine"), HasSubstr("yours")));
  }
  for (const api::View view : {api::View::hosts, api::View::topology}) {
    EXPECT_THAT(seen(yours, view), AllOf(HasSubstr("yours/b"), Not(HasSubstr("mine"))));
    EXPECT_THAT(seen(yours, view), HasSubstr("nid-1")) << "the fabric is visible to all";
  }
  const std::string my_tree =
      std::to_string(world.manager->groups().find("mine", "a")->routes[0].number.value);
  Given other;
  world.manager->ask<&Manager::view>(
      yours, api::ViewRequest{.what = api::View::trees, .id = my_tree}, other.reply());
  EXPECT_EQ(other->status, 404U);
  Given own;
  world.manager->ask<&Manager::view>(
      mine, api::ViewRequest{.what = api::View::trees, .id = my_tree}, own.reply());
  EXPECT_EQ(own->status, 200U);

  std::set<std::string> kinds;
  for (const api::Event& event : world.events_of(mine)) {
    kinds.insert(event.kind);
    EXPECT_THAT(boost::json::serialize(event.body), Not(HasSubstr("yours")));
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({"group", "job", "switch", "transaction"}));
  std::size_t transactions = 0;
  for (const api::Event& event : world.events_of(mine)) {
    transactions += event.kind == "transaction" ? 1 : 0;
  }
  EXPECT_EQ(transactions, 1U) << "the other one is of the other's tree";
}

} // namespace
} // namespace tributary::manager
