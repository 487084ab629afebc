// Leases and time limits: over pauses of the manager, when they end, and when the configuration
// changes.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <optional>
#include <string>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

/// Two members whose leases run for four seconds and that renew them every second.
class Pause : public testing::Test {
protected:
  Pause() {
    world.create_job("job");
    world.connect_star("leaf", 3);
    world.join("demo", 2, 0, 1);
    world.join("demo", 2, 1, 2);
    world.reconcile();
  }
  static Settings short_leases() {
    Settings settings;
    settings.groups.lease_ns = 4 * World::second;
    settings.groups.join_limit_ns = 4 * World::second;
    return settings;
  }
  void renew() {
    for (const std::uint32_t rank : {0U, 1U}) {
      Given given;
      world.manager->ask<&Manager::renew_lease>(
          administrator, {.job = "job", .group = "demo", .rank = rank}, given.reply());
      ASSERT_TRUE(given.there());
      EXPECT_EQ(given->status, 200U) << boost::json::serialize(given->body);
    }
  }
  [[nodiscard]] const group::Group* group() const {
    return world.manager->groups().find("job", "demo");
  }
  void expect_none_expired() const {
    ASSERT_NE(group(), nullptr);
    EXPECT_EQ(group()->state, group::GroupState::ready);
    EXPECT_EQ(group()->present, 2U);
  }

  World world{short_leases()};
};

TEST_F(Pause, of_the_manager_ends_no_lease_and_no_time_limit) {
  world.join("waiting", 2, 0, 3, administrator, 100);
  world.pass(World::second);
  renew();
  for (int again = 0; again < 3; ++again) {
    world.pause(5 * World::second);
    world.wake(); // its own timer runs before messages to it are read
    expect_none_expired();
    EXPECT_NE(world.manager->groups().find("job", "waiting"), nullptr);
    renew();
  }
  world.pass(5 * World::second); // it runs, and they do not renew
  EXPECT_EQ(group(), nullptr);
  EXPECT_EQ(world.manager->groups().find("job", "waiting"), nullptr);
}

TEST_F(Pause, in_a_write_that_hangs_counts_for_no_member_either) {
  renew();
  world.store_takes_ns = 5 * World::second;
  EXPECT_NE(world.create_job("another"), "");
  world.store_takes_ns = 0;
  world.wake();
  expect_none_expired();
  renew();
}

TEST_F(Pause, does_not_end_a_change_that_is_under_way) {
  world.switches_commit = false;
  world.join("slow", 1, 0, 3);
  const Given one = world.join("late", 2, 0, 2);
  const Given two = world.join("late", 2, 1, 3);
  world.reconcile();
  world.pause(10 * World::second);
  world.wake();
  world.switches_commit = true;
  world.wake();
  ASSERT_TRUE(two.there());
  EXPECT_EQ(two->status, 200U) << boost::json::serialize(two->body);
}

class Renewals : public testing::Test {
protected:
  void SetUp() override {
    world.connect_star("leaf", 3);
    Given made;
    world.manager->ask<&Manager::create_job>(administrator, {"job", std::nullopt}, made.reply());
    world.reconcile();
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      static_cast<void>(world.join("demo", 3, rank, rank + 1));
      world.reconcile();
    }
  }
  Given renew(std::uint32_t rank, const api::Caller& caller = administrator) {
    Given given;
    world.manager->ask<&Manager::renew_lease>(caller, {"job", "demo", rank}, given.reply());
    world.reconcile();
    return given;
  }
  World world;
};

TEST_F(Renewals, name_the_member_whose_lease_ended_and_its_host) {
  const Given well = renew(0);
  ASSERT_EQ(well->status, 200U);
  EXPECT_EQ(well.body().at("state").as_string(), "ready");
  EXPECT_TRUE(well.body().at("absent").as_array().empty());
  EXPECT_GT(well.body().at("cookie").to_number<std::uint64_t>(), 0U);
  world.pass(29'000'000'000);
  EXPECT_EQ(renew(0)->status, 200U);
  EXPECT_EQ(renew(2)->status, 200U);
  world.pass(2'000'000'000);
  const Given renewal = renew(0);
  ASSERT_EQ(renewal->status, 200U);
  const auto& absent = renewal.body().at("absent").as_array();
  ASSERT_EQ(absent.size(), 1U);
  EXPECT_EQ(absent[0].at("rank").to_number<unsigned>(), 1U);
  EXPECT_EQ(absent[0].at("nid").to_number<unsigned>(), 2U);
  EXPECT_EQ(absent[0].at("why").as_string(), "its lease ended");
  EXPECT_TRUE(absent[0].at("gone").as_bool());
  const Given own = renew(1);
  EXPECT_EQ(own->status, 409U);
  EXPECT_TRUE(own.body().at("lease_ended").as_bool());
}

TEST_F(Renewals, of_a_group_that_ended_are_answered_410_with_the_reason) {
  world.switches_answer = false;
  Given destroyed;
  world.manager->ask<&Manager::delete_group>(administrator, {"job", "demo"}, destroyed.reply());
  world.reconcile();
  const Given while_it_goes = renew(0);
  EXPECT_EQ(while_it_goes->status, 409U);
  EXPECT_THAT(while_it_goes.message(), HasSubstr("destroyed on request"));
  world.switches_answer = true;
  world.pass(1'000'000);
  const Given gone = renew(0);
  EXPECT_EQ(gone->status, 410U);
  EXPECT_THAT(gone.message(), HasSubstr("destroyed on request"));
  Given unknown;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "never", 0}, unknown.reply());
  EXPECT_EQ(unknown->status, 404U);
}

TEST_F(Renewals, with_the_token_of_a_deleted_job_are_answered_410_as_well) {
  Given job;
  world.manager->ask<&Manager::get_job>(administrator, {"job"}, job.reply());
  const api::Caller member{.token = std::string(job.body().at("sessionToken").as_string())};
  EXPECT_EQ(renew(0, member)->status, 200U);
  Given deleted;
  world.manager->ask<&Manager::delete_job>(administrator, {"job"}, deleted.reply());
  world.reconcile();
  world.pass(1'000'000);
  EXPECT_EQ(renew(0, member)->status, 410U);
  EXPECT_EQ(renew(0, {.token = "made up"})->status, 401U);
}

TEST(reconfigured, limits_and_leases_count_from_then_on) {
  World world;
  world.create_job("job");
  world.connect_star("leaf", 4);
  const Given first = world.join("demo", 2, 0, 1, administrator, 0);
  group::Settings settings;
  settings.default_multicast_limit = 3;
  settings.max_group_size = 2;
  settings.lease_ns = 4 * World::second;
  world.manager->reconfigure(settings);
  world.create_job("later");
  EXPECT_EQ(world.manager->groups().find_job("later")->multicast_limit, 3U);
  const Given large = world.join("large", 3, 0, 3);
  world.reconcile();
  EXPECT_EQ(large->status, 400U);
  const Given second = world.join("demo", 2, 1, 2);
  world.reconcile();
  ASSERT_TRUE(second.there());
  EXPECT_EQ(second.body().at("lease_seconds").to_number<double>(), 4);
  Given kept;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "demo", 0}, kept.reply());
  EXPECT_EQ(kept.body().at("lease_seconds").to_number<double>(), 30)
      << "it renews by what it was told, and would be too late for the shorter one";
  settings.lease_ns = 60 * World::second;
  world.manager->reconfigure(settings);
  Given longer;
  world.manager->ask<&Manager::renew_lease>(administrator, {"job", "demo", 1}, longer.reply());
  EXPECT_EQ(longer.body().at("lease_seconds").to_number<double>(), 60);
}

} // namespace
} // namespace tributary::manager
