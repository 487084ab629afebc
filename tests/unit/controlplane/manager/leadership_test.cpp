// A manager that another one may replace: answers that callers rely on are confirmed, once a turn
// at most, and a suspended manager answers views alone and changes no switch.
#include "tests/unit/controlplane/manager/fake_world.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

class Confirming : public testing::Test {
protected:
  Confirming() {
    world.create_job("job");
    world.connect_star("leaf", 4);
    world.reconcile();
    world.disk_is_slow = true;
  }
  static Settings settings() {
    Settings all;
    all.confirms = true;
    return all;
  }
  Given get_job() {
    Given given;
    world.manager->ask<&Manager::get_job>(administrator, {"job"}, given.reply());
    return given;
  }
  Given get_group(const std::string& name) {
    Given given;
    world.manager->ask<&Manager::get_group>(administrator, {"job", name}, given.reply());
    return given;
  }
  Given view() {
    Given given;
    world.manager->ask<&Manager::view>(administrator, {.what = api::View::groups}, given.reply());
    return given;
  }
  [[nodiscard]] bool confirms() const { return world.writing && world.writing->empty(); }
  /// Until nothing is to be written or confirmed, and switches have answered.
  void pass_all() {
    for (int turn = 0; turn < 20; ++turn) {
      world.wake();
      while (world.writing) {
        world.disk_comes_to_it();
      }
    }
  }
  /// As the process does when a write of another leader's came first: neither outcome nor turns.
  void step_down() { world.writing.reset(); }

  World world{settings()};
};

TEST_F(Confirming, a_read_is_answered_once_it_is_known_who_leads) {
  const Given job = get_job();
  EXPECT_FALSE(job.there());
  world.reconcile();
  ASSERT_TRUE(confirms()) << "nothing changed, so nothing is written";
  EXPECT_FALSE(job.there());
  world.disk_comes_to_it();
  ASSERT_TRUE(job.there());
  EXPECT_EQ(job->status, 200U);
}

TEST_F(Confirming, a_view_is_answered_at_once_and_may_be_old) {
  const Given seen = view();
  ASSERT_TRUE(seen.there());
  EXPECT_EQ(seen->status, 200U);
}

TEST_F(Confirming, one_confirmation_is_for_all_answers_of_a_turn) {
  std::vector<Given> jobs;
  for (int i = 0; i < 50; ++i) {
    jobs.push_back(get_job());
  }
  world.reconcile();
  ASSERT_TRUE(confirms());
  world.disk_comes_to_it();
  EXPECT_TRUE(std::ranges::all_of(jobs, [](const Given& one) { return one.there(); }));
  world.reconcile();
  EXPECT_FALSE(world.writing);
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_store_confirmations_total 1\n"));
}

TEST_F(Confirming, a_write_confirms_what_was_ready_when_it_began) {
  const Given job = get_job();
  Given group;
  world.manager->ask<&Manager::create_group>(
      administrator, {.job = "job", .name = "a", .size = 2, .trees = 1, .root_rank = {}},
      group.reply());
  world.reconcile();
  ASSERT_TRUE(world.writing);
  while (world.writing) {
    EXPECT_FALSE(confirms()) << "a confirmation besides";
    world.disk_comes_to_it();
  }
  EXPECT_TRUE(job.there() && group.there());
}

TEST_F(Confirming, a_read_that_comes_during_a_write_needs_a_confirmation_of_its_own) {
  Given group;
  world.manager->ask<&Manager::create_group>(
      administrator, {.job = "job", .name = "a", .size = 2, .trees = 1, .root_rank = {}},
      group.reply());
  world.reconcile();
  ASSERT_TRUE(world.writing && !confirms());
  const Given job = get_job();
  world.disk_comes_to_it();
  EXPECT_FALSE(job.there()) << "another may lead since the write, and before the read";
  EXPECT_TRUE(world.writing);
  pass_all();
  EXPECT_TRUE(job.there() && group.there());
}

TEST_F(Confirming, a_join_that_is_repeated_at_an_old_leader_is_not_answered) {
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  pass_all();
  ASSERT_TRUE(one.there() && two.there());
  EXPECT_EQ(one->status, 200U);
  // Another manager takes the lead, deletes the group, and this one has not noticed.
  const Given again = world.join("demo", 2, 0, 1);
  const Given gone = get_group("demo");
  world.reconcile();
  EXPECT_FALSE(again.there());
  ASSERT_TRUE(world.writing) << "the repetition waits for a write or a confirmation";
  step_down();
  EXPECT_FALSE(again.there() || gone.there());
}

TEST_F(Confirming, an_unknown_token_is_an_answer_about_jobs_too) {
  Given given;
  const api::Caller caller{.token = "of a job that another leader has made"};
  world.manager->ask<&Manager::get_job>(caller, {"job"}, given.reply());
  EXPECT_FALSE(given.there());
  pass_all();
  ASSERT_TRUE(given.there());
  EXPECT_EQ(given->status, 401U);
}

TEST_F(Confirming, a_store_that_refuses_a_confirmation_is_answered_with_503) {
  const Given job = get_job();
  world.reconcile();
  ASSERT_TRUE(confirms());
  world.store_is_full = true; // or the permission is gone
  world.disk_comes_to_it();
  ASSERT_TRUE(job.there());
  EXPECT_EQ(job->status, 503U);
  world.store_is_full = false;
  world.disk_is_slow = false;
  world.pass(2 * World::second);
  EXPECT_EQ(world.manager->not_ready_because(), "");
}

class Suspended : public Confirming {};

TEST_F(Suspended, refuses_all_but_views_at_once_and_answers_again_afterwards) {
  world.manager->suspend("etcd has not answered for 0.4 s");
  const Given job = get_job();
  const Given joined = world.join("demo", 2, 0, 1);
  for (const Given& one : {job, joined}) {
    ASSERT_TRUE(one.there());
    EXPECT_EQ(one->status, 503U);
    EXPECT_GT(one->retry_after, 0U);
    EXPECT_THAT(one.message(), HasSubstr("etcd has not answered"));
  }
  EXPECT_EQ(view()->status, 200U);
  EXPECT_THAT(world.manager->not_ready_because(), HasSubstr("etcd has not answered"));
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_manager_suspended 1\n"));
  world.reconcile();
  EXPECT_FALSE(world.writing);
  EXPECT_EQ(world.manager->next_deadline(), never);
  world.manager->resume();
  const Given again = get_job();
  pass_all();
  ASSERT_TRUE(again.there());
  EXPECT_EQ(again->status, 200U);
  EXPECT_THAT(world.metrics(), HasSubstr("tributary_manager_suspensions_total 1\n"));
}

TEST_F(Suspended, changes_no_switch_until_it_leads_again) {
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  world.reconcile();
  ASSERT_TRUE(world.writing);
  world.manager->suspend("etcd has not answered for 0.4 s");
  world.log.clear();
  world.disk_comes_to_it(); // its answer comes during the suspension
  world.wake();
  EXPECT_EQ(std::ranges::count(world.log, "sent"), 0);
  EXPECT_FALSE(one.there() || two.there());
  world.manager->resume();
  pass_all();
  EXPECT_GT(std::ranges::count(world.log, "sent"), 0);
  ASSERT_TRUE(one.there() && two.there());
  EXPECT_EQ(two->status, 200U);
}

TEST_F(Suspended, costs_members_no_lease_although_they_could_not_renew) {
  const Given one = world.join("demo", 2, 0, 1);
  const Given two = world.join("demo", 2, 1, 2);
  pass_all();
  ASSERT_TRUE(two.there());
  world.manager->suspend("etcd has not answered for 0.4 s");
  for (int i = 0; i < 300; ++i) { // ten times a lease, with requests meanwhile
    world.pause(World::second);
    EXPECT_EQ(view()->status, 200U);
  }
  world.manager->resume();
  pass_all();
  const group::Group* const group = world.manager->groups().find("job", "demo");
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->state, group::GroupState::ready);
  EXPECT_EQ(group->present, 2U);
}

TEST_F(Suspended, lets_its_switches_go_once_another_may_lead_and_takes_them_back) {
  static_cast<void>(world.join("ready", 2, 0, 1));
  static_cast<void>(world.join("ready", 2, 1, 2));
  const Given waits = world.join("demo", 2, 0, 3, administrator, 30'000);
  pass_all();
  ASSERT_FALSE(waits.there());
  world.manager->suspend("etcd has not answered for 0.4 s");
  EXPECT_FALSE(waits.there()) << "it may lead again in a moment";
  world.log.clear();
  for (int i = 0; i < 3; ++i) {
    world.manager->let_go("its lease has ended by its own clock");
  }
  ASSERT_TRUE(waits.there()) << "its client does not look for the one that leads";
  EXPECT_EQ(waits->status, 503U);
  EXPECT_EQ(std::ranges::count_if(
                world.log, [](const std::string& line) { return line.starts_with("closed"); }),
            1);
  EXPECT_EQ(std::ranges::count(world.log, "sent"), 0);
  world.connect_star("leaf", 4);
  EXPECT_THAT(world.rejected.value_or(""), HasSubstr("another manager may lead"));
  world.pause(60 * World::second);
  world.manager->resume();
  pass_all();
  world.connect_star("leaf", 4);
  EXPECT_FALSE(world.rejected);
  pass_all();
  EXPECT_EQ(world.manager->groups().find("job", "ready")->state, group::GroupState::ready);
}

TEST_F(Suspended, requests_that_wait_behind_a_write_are_refused_and_have_no_effect) {
  const Given first = world.join("demo", 2, 0, 1);
  world.reconcile();
  ASSERT_TRUE(world.writing);
  const Given second = world.join("demo", 2, 1, 2);
  EXPECT_FALSE(second.there());
  world.manager->suspend("its lease has ended by its own clock");
  ASSERT_TRUE(second.there()) << "it waited silently";
  EXPECT_EQ(second->status, 503U);
  EXPECT_FALSE(first.there()) << "its outcome is not known";
  world.disk_comes_to_it();
  world.manager->resume();
  pass_all();
  EXPECT_EQ(world.manager->groups().find("job", "demo")->present, 1U);
}

} // namespace
} // namespace tributary::manager
