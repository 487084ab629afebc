// The fabric's events that a job receives.
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include "controlplane/fabric_controller/congestion.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace tributary::manager {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class JobEvents : public TwoLeaves {
protected:
  std::vector<api::Event> heard(const std::string& job,
                                const std::vector<std::string>& environment = {},
                                std::uint64_t after = 0) {
    return world.events_of(administrator,
                           {.after = after, .job = api::JobEvents{job, environment}});
  }
  static std::vector<std::string> codes(const std::vector<api::Event>& events) {
    std::vector<std::string> all;
    for (const api::Event& event : events) {
      all.push_back(std::string(event.body.at("scope").as_string()) + " " +
                    std::string(event.body.at("code").as_string()));
    }
    return all;
  }
  void create(const std::string& job, std::vector<Nid> hosts) {
    Given given;
    api::JobRequest request;
    request.job = job;
    request.hosts = std::move(hosts);
    world.manager->ask<&Manager::create_job>(administrator, request, given.reply());
    world.reconcile();
    ASSERT_EQ(given->status, 201U);
  }
};

TEST_F(JobEvents, a_link_under_its_tree_goes_down_and_the_tree_is_repaired) {
  fabric(2);
  group("g", 0);
  world.create_job("other");
  const std::uint32_t spine = number(spines_of("g").front());
  cut(0, spine);
  EXPECT_THAT(codes(heard("job")), ElementsAre("job link_down", "job tree_repaired"));
  EXPECT_THAT(heard("other"), IsEmpty()) << "nothing of that is its affair";
  EXPECT_THAT(codes(heard("other", {"link_down"})), ElementsAre("environment link_down"));

  link(0, spine);
  world.pass(5 * second);
  EXPECT_THAT(codes(heard("job")), Contains("job link_up"))
      << "who heard of the one, hears of both";
}

TEST_F(JobEvents, of_a_job_s_own_host_whether_it_has_groups_or_not) {
  fabric(1);
  create("mine", {Nid{1}, Nid{9}});
  world.report_down("leaf0", 0);
  world.report_down("leaf0", 1);
  world.reconcile();
  const std::vector<api::Event> events = heard("mine");
  ASSERT_THAT(codes(events), ElementsAre("job link_down"));
  EXPECT_EQ(events[0].body.at("nid"), 1);
  EXPECT_EQ(events[0].body.at("epoch").to_number<std::uint64_t>(), events[0].number >> 32U);
  EXPECT_EQ(events[0].body.at("sequence").to_number<std::uint64_t>(),
            events[0].number & 0xFFFF'FFFFU);
  EXPECT_THAT(codes(heard("mine", {"link_down"})),
              ElementsAre("job link_down", "environment link_down"));
}

TEST_F(JobEvents, of_groups_are_the_job_s_alone) {
  fabric(1);
  group("g", 0);
  Given deleted;
  world.manager->ask<&Manager::delete_group>(administrator, {"job", "g"}, deleted.reply());
  world.reconcile();
  EXPECT_THAT(codes(heard("job")), ElementsAre("job group_destroyed"));
  world.create_job("other");
  EXPECT_THAT(heard("other", {"link_down", "congestion"}), IsEmpty());
}

TEST_F(JobEvents, a_quarantined_peer_concerns_those_who_share_its_vni) {
  fabric(1);
  group("g", 0);
  create("elsewhere", {Nid{5}});
  const auto* const group = world.manager->groups().find("job", "g");
  Given quarantined;
  world.manager->ask<&Manager::rdma_quarantine>(administrator, {true, "1", group->vni},
                                                quarantined.reply());
  world.reconcile();
  ASSERT_EQ(quarantined->status, 200U);
  EXPECT_THAT(codes(heard("job")), ElementsAre("job peer_quarantined"));
  EXPECT_THAT(heard("elsewhere"), IsEmpty());
  world.manager->ask<&Manager::rdma_quarantine>(administrator, {false, "1", group->vni},
                                                quarantined.reply());
  world.reconcile();
  EXPECT_THAT(codes(heard("job")), ElementsAre("job peer_quarantined", "job peer_released"));
}

TEST_F(JobEvents, a_full_queue_is_reported_when_it_begins_and_when_it_is_over) {
  fabric(1);
  group("g", 0);
  control::SwitchMessage message;
  control::PortStatistics& port = *message.mutable_statistics()->add_ports();
  port.set_port(per_leaf); // to the spine, under the group's tree
  const auto report = [&](std::uint64_t drops) {
    (*port.mutable_drops())["queue_full"] = drops;
    world.manager->switches().message(world.sessions.at("leaf0"), message);
    world.reconcile();
  };
  report(100); // before any reader connected
  EXPECT_THAT(heard("job"), IsEmpty());
  report(150);
  report(190);
  EXPECT_THAT(codes(heard("job")), ElementsAre("job congestion"));
  for (std::uint32_t i = 0; i < fabric_controller::Congestion::quiet_reports; ++i) {
    report(190);
  }
  const std::vector<api::Event> events = heard("job");
  ASSERT_THAT(codes(events), ElementsAre("job congestion", "job congestion_over"));
  EXPECT_THAT(std::string(events[1].body.at("text").as_string()), HasSubstr("after 90 frames"));
}

TEST_F(JobEvents, a_reader_that_may_have_missed_some_is_notified) {
  fabric(1);
  const std::vector<api::Event> events = heard("job", {}, 5);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0].body.at("code"), "events_lost");
  EXPECT_EQ(events[0].body.at("scope"), "job");
}

TEST_F(JobEvents, are_for_the_job_and_the_administrator) {
  fabric(1);
  const std::string mine = world.create_job("mine");
  const std::string yours = world.create_job("yours");
  EXPECT_FALSE(world.manager->refuse_job_events({.token = mine}, "mine"));
  EXPECT_FALSE(world.manager->refuse_job_events(administrator, "mine"));
  EXPECT_EQ(world.manager->refuse_job_events({.token = yours}, "mine")->status, 403U);
  EXPECT_EQ(world.manager->refuse_job_events({.token = "wrong"}, "mine")->status, 401U);
  EXPECT_EQ(world.manager->refuse_job_events(administrator, "nobody")->status, 404U);
}

} // namespace
} // namespace tributary::manager
