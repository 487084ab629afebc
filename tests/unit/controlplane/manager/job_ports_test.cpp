// The switches' ports of allocations' nodes: set up before a launcher is answered, released with
// the job, and restored after failures of switches and manager.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::manager {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class JobPorts : public TwoLeaves {
protected:
  static api::AllocationRequest::Node node(const std::string& name, std::uint32_t nid,
                                           std::uint32_t rank) {
    api::AllocationRequest::Node made;
    made.name = name;
    made.ranks = {rank};
    made.inventory.interfaces = {
        {.name = "eth0", .address = fmt::format("02:00:00:00:00:{:02x}", nid), .up = true}};
    return made;
  }
  /// Host 1 is at port 0 of leaf0, and host 10 at port 1 of leaf1.
  static api::AllocationRequest request(const std::string& job = "run") {
    api::AllocationRequest made;
    made.job = job;
    made.multicast_limit = 4;
    made.nodes = {node("n0", 1, 0), node("n1", 10, 1)};
    return made;
  }
  Given allocate(const api::AllocationRequest& request, const api::Caller& caller = administrator) {
    Given given;
    world.manager->ask<&Manager::allocate>(caller, request, given.reply());
    world.reconcile();
    return given;
  }
  Given renew(const std::string& job, const api::Caller& caller) {
    Given given;
    world.manager->ask<&Manager::renew_allocation>(caller, {job}, given.reply());
    return given;
  }
  void end(const std::string& job) {
    Given deleted;
    world.manager->ask<&Manager::delete_job>(administrator, {job}, deleted.reply());
    world.reconcile();
    ASSERT_EQ(deleted->status, 200U);
  }
  /// "leaf0:0 VNI 1024 of 1, closed" of switches that are connected.
  std::vector<std::string> permissions() {
    std::vector<std::string> all;
    for (const auto& [place, given] : world.permissions) {
      const auto& [session, port, vni] = place;
      const auto at =
          std::ranges::find(world.sessions, session, [](const auto& s) { return s.second; });
      if (at != world.sessions.end()) {
        all.push_back(fmt::format("{}:{} VNI {} of {}{}", at->first, port, vni, given.nid(),
                                  given.closes() ? ", closed" : ""));
      }
    }
    return all;
  }
  std::uint32_t vni_of(const std::string& job) {
    return world.manager->groups().find_job(job)->vni->value;
  }
  void lose(const std::string& at) {
    world.manager->switches().lost(world.sessions.at(at), "cut off");
    world.sessions.erase(at);
    world.reconcile();
  }
  auto both_closed(std::uint32_t vni) {
    return UnorderedElementsAre(fmt::format("leaf0:0 VNI {} of 1, closed", vni),
                                fmt::format("leaf1:1 VNI {} of 10, closed", vni));
  }
};

TEST_F(JobPorts, are_set_up_before_the_launcher_is_answered) {
  fabric(1);
  world.switches_commit = false;
  const Given given = allocate(request());
  EXPECT_FALSE(given.there()) << "switches have not committed";
  world.switches_commit = true;
  world.wake();
  ASSERT_TRUE(given.there());
  EXPECT_EQ(given->status, 201U);
  EXPECT_THAT(permissions(), both_closed(vni_of("run")));
  EXPECT_EQ(allocate(request())->status, 200U) << "who asks again is answered at once";
  end("run");
  EXPECT_THAT(permissions(), IsEmpty());
}

TEST_F(JobPorts, of_a_switch_that_is_away_keep_a_job_from_being_made) {
  fabric(1);
  lose("leaf1");
  const Given given = allocate(request());
  ASSERT_TRUE(given.there());
  EXPECT_EQ(given->status, 409U);
  EXPECT_THAT(given.message(), HasSubstr("job run cannot be launched: access of job run to its "
                                         "ports is not installed: leaf1: it is not connected"));
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
  EXPECT_THAT(permissions(), IsEmpty());
  world.connect_star("leaf1", per_leaf, 1 + per_leaf, 16);
  EXPECT_EQ(allocate(request())->status, 201U);
}

TEST_F(JobPorts, that_a_switch_refuses_are_named) {
  fabric(1);
  world.refuses_permissions = "the switch's own file says that the port is for NID 5";
  const Given given = allocate(request());
  EXPECT_EQ(given->status, 409U);
  EXPECT_THAT(given.message(), HasSubstr("the switch's own file says that the port is for NID 5"));
}

TEST_F(JobPorts, are_no_reason_to_answer_well_when_a_switch_is_lost_meanwhile) {
  fabric(1);
  world.switches_commit = false;
  const Given given = allocate(request());
  lose("leaf1");
  world.switches_commit = true;
  world.wake();
  ASSERT_TRUE(given.there());
  EXPECT_EQ(given->status, 409U) << "or ranks would start while their port is not set up";
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
}

TEST_F(JobPorts, are_as_the_policy_says_and_follow_it) {
  fabric(1);
  world.manager->reconfigure(job::PortPolicy::open);
  ASSERT_EQ(allocate(request())->status, 201U);
  EXPECT_THAT(permissions(), IsEmpty());
  const std::uint32_t vni = vni_of("run");
  world.manager->reconfigure(job::PortPolicy::guarded);
  world.wake();
  EXPECT_THAT(permissions(), UnorderedElementsAre(fmt::format("leaf0:0 VNI {} of 1", vni),
                                                  fmt::format("leaf1:1 VNI {} of 10", vni)));
  world.manager->reconfigure(job::PortPolicy::closed);
  world.wake();
  EXPECT_THAT(permissions(), both_closed(vni));
  // Revoked, they would keep the VNI out while its job runs.
  world.manager->reconfigure(job::PortPolicy::open);
  world.wake();
  EXPECT_THAT(permissions(), UnorderedElementsAre(fmt::format("leaf0:0 VNI {} of 0", vni),
                                                  fmt::format("leaf1:1 VNI {} of 0", vni)));
  end("run");
  EXPECT_THAT(permissions(), IsEmpty());
}

TEST_F(JobPorts, that_two_jobs_share_take_in_both_and_stay_closed_until_the_last) {
  fabric(1);
  ASSERT_EQ(allocate(request("a"))->status, 201U);
  ASSERT_EQ(allocate(request("b"))->status, 201U);
  EXPECT_EQ(permissions().size(), 4U);
  const std::uint32_t vni = vni_of("b");
  end("a");
  EXPECT_THAT(permissions(), both_closed(vni));
  end("b");
  EXPECT_THAT(permissions(), IsEmpty());
}

TEST_F(JobPorts, come_back_with_their_switch_and_with_the_manager) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric(1);
  ASSERT_EQ(allocate(request())->status, 201U);
  const std::uint32_t vni = vni_of("run");
  lose("leaf0");
  EXPECT_EQ(permissions().size(), 1U);
  world.connect_star("leaf0", per_leaf, 1, 16);
  EXPECT_THAT(permissions(), both_closed(vni)) << "the switch had lost it";

  world.disk.reset();
  world.disk.emplace(scratch.file("fabric.db"));
  world.permissions.clear();
  world.restart(world.disk->load_sound());
  fabric(1);
  EXPECT_THAT(permissions(), both_closed(vni));
  const Given again = allocate(request());
  EXPECT_EQ(again->status, 200U);
  end("run");
  EXPECT_THAT(permissions(), IsEmpty());
}

TEST_F(JobPorts, of_hosts_that_are_heard_of_later_or_elsewhere_follow) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.nodes[1] = node("n1", 40, 1);
  const Given given = allocate(wanted);
  EXPECT_FALSE(given.there()) << "its hello may be on its way";
  world.pass(2 * second);
  ASSERT_TRUE(given.there());
  ASSERT_EQ(given->status, 201U);
  ASSERT_EQ(given.body().at("notes").as_array().size(), 1U);
  EXPECT_THAT(std::string(given.body().at("notes").at(0).as_string()),
              HasSubstr("n1: no switch has learned of host 40 yet"));
  const std::uint32_t vni = vni_of("run");
  EXPECT_EQ(permissions().size(), 1U);
  world.report_host("leaf1", 12, 40);
  world.reconcile();
  world.pass(second);
  EXPECT_THAT(permissions(),
              UnorderedElementsAre(fmt::format("leaf0:0 VNI {} of 1, closed", vni),
                                   fmt::format("leaf1:12 VNI {} of 40, closed", vni)));
}

TEST_F(JobPorts, of_a_host_whose_hello_comes_with_the_job_are_set_up_before_the_answer) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.nodes[1] = node("n1", 40, 1);
  const Given given = allocate(wanted);
  EXPECT_FALSE(given.there());
  world.report_host("leaf1", 12, 40);
  world.reconcile();
  ASSERT_TRUE(given.there());
  EXPECT_EQ(given->status, 201U);
  EXPECT_TRUE(given.body().at("notes").as_array().empty());
  EXPECT_EQ(permissions().size(), 2U);
}

TEST_F(JobPorts, are_those_of_the_jobs_list_for_who_has_but_its_token) {
  fabric(1);
  Given made;
  world.manager->ask<&Manager::create_job>(administrator,
                                           {.job = "mine",
                                            .multicast_limit = std::nullopt,
                                            .hosts = std::vector{Nid{1}},
                                            .vnis = std::vector{Vni{77}}},
                                           made.reply());
  world.reconcile();
  api::AllocationRequest wanted = request("mine");
  wanted.exists = true;
  const std::string token(made.body().at("sessionToken").as_string());
  ASSERT_EQ(allocate(wanted, {.token = token})->status, 200U);
  EXPECT_THAT(permissions(), UnorderedElementsAre("leaf0:0 VNI 77 of 1, closed"))
      << "host 10 is not one that he may speak for";
}

TEST_F(JobPorts, are_given_up_with_the_lease_of_a_launcher_that_is_gone) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.lease_seconds = 60;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  const std::string token = world.manager->groups().find_job("run")->token;
  world.pass(59 * second);
  EXPECT_EQ(permissions().size(), 2U);
  // Its events are read, which is no sign of a launcher that is alive.
  const auto reader =
      world.manager->read_events({.token = token}, {.job = api::JobEvents{"run"}}, [] {});
  world.pass(2 * second);
  EXPECT_THAT(permissions(), IsEmpty());
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
}

TEST_F(JobPorts, of_a_job_that_was_there_are_given_up_with_the_lease_and_the_job_stays) {
  fabric(1);
  Given made;
  world.manager->ask<&Manager::create_job>(administrator,
                                           {.job = "mine",
                                            .multicast_limit = std::nullopt,
                                            .hosts = std::vector{Nid{1}},
                                            .vnis = std::vector{Vni{77}}},
                                           made.reply());
  world.reconcile();
  api::AllocationRequest wanted = request("mine");
  wanted.exists = true;
  wanted.lease_seconds = 5;
  ASSERT_EQ(allocate(wanted)->status, 200U);
  EXPECT_EQ(permissions().size(), 2U) << "the administrator names whom he likes";
  world.pass(6 * second);
  EXPECT_THAT(permissions(), IsEmpty());
  ASSERT_NE(world.manager->groups().find_job("mine"), nullptr);
  EXPECT_FALSE(world.manager->groups().find_job("mine")->allocation);
}

TEST_F(JobPorts, of_a_lease_stay_over_a_restart_for_as_long_again) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.lease_seconds = 60;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  world.pass(50 * second);
  world.disk.reset();
  world.disk.emplace(scratch.file("fabric.db"));
  world.permissions.clear();
  world.restart(world.disk->load_sound());
  fabric(1);
  world.pass(40 * second);
  EXPECT_EQ(permissions().size(), 2U);
  world.pass(20 * second);
  EXPECT_THAT(permissions(), IsEmpty());
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
}

TEST_F(JobPorts, end_with_the_lease_of_a_dead_node_whose_connection_stays_open) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.lease_seconds = 60;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  const api::Caller launcher{.token = world.manager->groups().find_job("run")->token};
  auto stream =
      world.manager->read_events(launcher, {.follow = true, .job = api::JobEvents{"run"}}, [] {});
  for (int times = 0; times < 10; ++times) {
    EXPECT_EQ(renew("run", launcher)->status, 200U);
    world.pass(59 * second);
    EXPECT_EQ(permissions().size(), 2U) << "its launcher renews";
  }
  world.pass(2 * second);
  EXPECT_THAT(permissions(), IsEmpty()) << "an open stream says nothing";
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
  EXPECT_EQ(renew("run", launcher)->status, 401U);
  stream.reset();
  world.pass(120 * second);
}

TEST_F(JobPorts, have_leases_that_only_the_job_or_the_administrator_renews) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.lease_seconds = 60;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  world.create_job("other");
  EXPECT_EQ(renew("run", {.token = world.manager->groups().find_job("other")->token})->status,
            403U);
  EXPECT_EQ(renew("other", administrator)->status, 404U) << "it has no allocation";
  const Given renewed = renew("run", administrator);
  ASSERT_EQ(renewed->status, 200U);
  EXPECT_EQ(renewed.body().at("lease_seconds").to_number<int>(), 60);
}

/// A manager that restarts repeatedly, each time after `after`, and calls `each` before.
template <typename Each>
void restart_often(World& world, const std::string& file, std::uint64_t after, Each each) {
  for (int times = 0; times < 8; ++times) {
    world.pass(after);
    each();
    world.disk.reset();
    world.disk.emplace(file);
    world.permissions.clear();
    world.restart(world.disk->load_sound());
  }
}

TEST_F(JobPorts, of_a_dead_launcher_are_given_up_however_often_the_manager_restarts) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.lease_seconds = 60;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  restart_often(world, scratch.file("fabric.db"), 50 * second, [] {});
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
}

TEST_F(JobPorts, of_a_launcher_that_renews_stay_however_often_the_manager_restarts) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.lease_seconds = 60;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  const api::Caller launcher{.token = world.manager->groups().find_job("run")->token};
  restart_often(world, scratch.file("fabric.db"), 50 * second, [&] {
    ASSERT_EQ(renew("run", launcher)->status, 200U);
    world.pass(second);
  });
  ASSERT_NE(world.manager->groups().find_job("run"), nullptr);
  world.pass(59 * second);
  EXPECT_NE(world.manager->groups().find_job("run"), nullptr) << "the whole lease once more";
}

TEST_F(JobPorts, are_left_alone_when_the_request_cannot_be_stored) {
  fabric(1);
  world.store_is_full = true;
  const Given given = allocate(request());
  ASSERT_TRUE(given.there());
  EXPECT_EQ(given->status, 503U);
  EXPECT_THAT(permissions(), IsEmpty());
  EXPECT_EQ(world.manager->groups().find_job("run"), nullptr);
}

} // namespace
} // namespace tributary::manager
