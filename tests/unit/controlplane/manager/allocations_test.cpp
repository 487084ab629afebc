// Requests of launchers: a job's allocation in one request, and the resources of its nodes.
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/controlplane/manager/two_leaves.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Allocations : public TwoLeaves {
protected:
  static api::AllocationRequest::Node node(const std::string& name, std::uint32_t nid,
                                           std::vector<std::uint32_t> ranks) {
    api::AllocationRequest::Node made;
    made.name = name;
    made.ranks = std::move(ranks);
    made.inventory.interfaces = {
        {.name = "eth0", .address = fmt::format("02:00:00:00:00:{:02x}", nid), .up = true}};
    return made;
  }
  static api::AllocationRequest request(const std::string& job = "run") {
    api::AllocationRequest made;
    made.job = job;
    made.multicast_limit = 4;
    made.nodes = {node("n0", 1, {0, 1}), node("n1", 9, {2})};
    return made;
  }
  Given allocate(const api::AllocationRequest& request, const api::Caller& caller = administrator) {
    Given given;
    world.manager->ask<&Manager::allocate>(caller, request, given.reply());
    world.reconcile();
    return given;
  }
  /// "job text run", by name.
  static std::map<std::string, std::string> values(const boost::json::value& list) {
    std::map<std::string, std::string> all;
    for (const auto& each : list.as_array()) {
      const auto& one = each.as_object();
      std::string text(one.at("use").as_string());
      for (const auto& member : one) {
        if (member.key() != "name" && member.key() != "use") {
          text += fmt::format(" {} {}", std::string_view(member.key()),
                              boost::json::serialize(member.value()));
        }
      }
      all[std::string(one.at("name").as_string())] = text;
    }
    return all;
  }
  std::vector<std::string> heard(const std::string& job) {
    std::vector<std::string> all;
    for (const api::Event& event : world.events_of(administrator, {.job = api::JobEvents{job}})) {
      all.push_back(std::string(event.body.at("text").as_string()));
    }
    return all;
  }
};

TEST_F(Allocations, one_request_gives_all_that_ranks_have_to_know) {
  fabric(1);
  const Given given = allocate(request());
  ASSERT_EQ(given->status, 201U) << given.message();
  const auto all = values(given.body().at("values"));
  EXPECT_EQ(all.at("fm.job"), "job text \"run\"");
  EXPECT_EQ(all.at("fm.mcast"), "job number 4");
  EXPECT_EQ(all.at("fm.vni"),
            fmt::format("job number {}", world.manager->groups().find_job("run")->vni->value));
  EXPECT_EQ(all.at("fm.cookie").size(), std::string("job hex ").size() + 34);
  EXPECT_EQ(all.at("fm.routetime"), "job reals [0E0,1E0,1E0,0E0]");
  const std::string policy = all.at("fm.rdma.policy");
  EXPECT_EQ(policy.find("local_resource text \"window=1024 "), 0U) << policy;
  EXPECT_NE(policy.find(" dscp_control=8\""), std::string::npos) << policy;
  EXPECT_EQ(all.at("TRIBUTARY_JOB_ID"), "environment text \"run\"");
  EXPECT_EQ(all.at("TRIBUTARY_FABRIC_MANAGER_TOKEN"),
            fmt::format("environment text \"{}\"", world.manager->groups().find_job("run")->token));
  const auto& node = given.body().at("nodes").at(0);
  EXPECT_EQ(node.at("nid"), 1);
  EXPECT_EQ(node.at("ranks").at(1).at("rank"), 1);
  EXPECT_EQ(node.at("ranks").at(1).at("end_point"), "02:00:00:00:00:01:1");
  const auto own = values(node.at("values"));
  EXPECT_EQ(own.at("fm.interface"), "local_resource text \"eth0\"");
  EXPECT_EQ(own.at("fm.address"), "local_resource text \"02:00:00:00:00:01\"");
  EXPECT_EQ(own.at("TRIBUTARY_MPI_INTERFACE"), "environment text \"eth0\"");
  EXPECT_TRUE(given.body().at("notes").as_array().empty());
  EXPECT_THAT(*world.manager->groups().find_job("run")->hosts, ElementsAre(Nid{1}, Nid{9}));
  // Earlier events do not belong to the job.
  EXPECT_TRUE(world
                  .events_of({.token = world.manager->groups().find_job("run")->token},
                             given.body().at("events_after").to_number<std::uint64_t>())
                  .size() <= 1);
}

TEST_F(Allocations, who_lost_the_answer_asks_again_and_gets_the_same) {
  fabric(1);
  const Given first = allocate(request());
  const Given again = allocate(request());
  EXPECT_EQ(again->status, 200U);
  EXPECT_EQ(again.body().at("values"), first.body().at("values"));
  api::AllocationRequest other = request();
  other.nodes.pop_back();
  EXPECT_EQ(allocate(other)->status, 409U) << "another job of that name";
}

TEST_F(Allocations, of_a_job_that_is_there_is_for_who_has_its_token) {
  fabric(1);
  const std::string token = world.create_job("mine");
  api::AllocationRequest wanted = request("mine");
  EXPECT_EQ(allocate(wanted, {.token = token})->status, 403U) << "a new one is the administrator's";
  wanted.exists = true;
  const Given given = allocate(wanted, {.token = token});
  ASSERT_EQ(given->status, 200U);
  EXPECT_EQ(values(given.body().at("values")).at("fm.job"), "job text \"mine\"");
  EXPECT_EQ(allocate(wanted, {.token = "wrong"})->status, 401U);
  wanted.job = "nobody's";
  EXPECT_EQ(allocate(wanted)->status, 404U);
}

TEST_F(Allocations, a_node_speaks_by_its_certificate_for_itself_in_jobs_that_it_was_given) {
  fabric(1);
  const api::Caller n1{.nodes = {"n1", "n1.example"}};
  api::AllocationRequest own = request();
  own.exists = true;
  own.nodes.erase(own.nodes.begin());
  EXPECT_EQ(allocate(own, n1)->status, 404U) << "no job has it yet";
  api::AllocationRequest made = request();
  for (auto& each : made.nodes) {
    each.inventory.interfaces.clear(); // a workload manager does not know them
  }
  ASSERT_EQ(allocate(made)->status, 201U);
  const Given given = allocate(own, n1);
  ASSERT_EQ(given->status, 200U) << given.message();
  EXPECT_EQ(given.body().at("token").as_string(),
            world.manager->groups().find_job("run")->token.c_str());
  EXPECT_EQ(given.body().at("nodes").at(0).at("nid"), 9);
  // One that is not its own; one of another job; a job of its own; anything else.
  api::AllocationRequest wrong = request();
  wrong.exists = true;
  const Given both = allocate(wrong, n1);
  EXPECT_EQ(both->status, 403U);
  EXPECT_THAT(both.message(), HasSubstr("cannot speak for node \"n0\""));
  api::AllocationRequest elsewhere = request("elsewhere");
  elsewhere.nodes.pop_back();
  ASSERT_EQ(allocate(elsewhere)->status, 201U);
  own.job = "elsewhere";
  EXPECT_EQ(allocate(own, n1)->status, 404U);
  own.job = "nobody's";
  EXPECT_EQ(allocate(own, n1)->status, 404U);
  own.exists = false;
  EXPECT_EQ(allocate(own, n1)->status, 403U);
  Given reply;
  world.manager->ask<&Manager::delete_job>(n1, {"run"}, reply.reply());
  EXPECT_EQ(reply->status, 403U);
  world.manager->ask<&Manager::get_job>(n1, {"run"}, reply.reply());
  EXPECT_EQ(reply->status, 401U);
}

TEST_F(Allocations, a_node_that_says_nothing_of_itself_is_the_host_of_its_name) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.nodes[0].name = "nid-1";
  wanted.nodes[1].name = "nid-9";
  for (auto& each : wanted.nodes) {
    each.inventory.interfaces.clear();
  }
  const Given given = allocate(wanted);
  ASSERT_EQ(given->status, 201U) << given.message();
  EXPECT_EQ(given.body().at("nodes").at(1).at("nid"), 9);
  EXPECT_FALSE(given.body().at("nodes").at(1).at("ranks").at(0).as_object().contains("end_point"));
  EXPECT_THAT(values(given.body().at("nodes").at(1).at("values")), testing::IsEmpty());
  EXPECT_THAT(*world.manager->groups().find_job("run")->hosts, ElementsAre(Nid{1}, Nid{9}));
}

TEST_F(Allocations, a_node_without_a_fabric_address_is_named_and_limits_nothing) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.nodes[1].inventory.interfaces.clear();
  const Given given = allocate(wanted);
  ASSERT_EQ(given->status, 201U);
  ASSERT_EQ(given.body().at("notes").as_array().size(), 1U);
  EXPECT_THAT(std::string(given.body().at("notes").at(0).as_string()),
              HasSubstr("n1 has no interface with a fabric address"));
  EXPECT_FALSE(world.manager->groups().find_job("run")->hosts);
  EXPECT_FALSE(values(given.body().at("values")).contains("fm.routetime"));
}

TEST_F(Allocations, groups_are_set_aside_as_long_as_the_job_is_there) {
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.multicast_limit = max_trees - 100;
  ASSERT_EQ(allocate(wanted)->status, 201U);
  api::AllocationRequest next = request("next");
  next.multicast_limit = 200;
  const Given refused = allocate(next);
  EXPECT_EQ(refused->status, 507U);
  EXPECT_THAT(refused.message(), HasSubstr("8092 reserved"));
  Given deleted;
  world.manager->ask<&Manager::delete_job>(administrator, {"run"}, deleted.reply());
  world.reconcile();
  EXPECT_EQ(allocate(next)->status, 201U);
}

TEST_F(Allocations, survive_a_restart_of_the_manager) {
  const test::ScratchDirectory scratch;
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric(1);
  api::AllocationRequest wanted = request();
  wanted.multicast_limit = max_trees - 100;
  const Given first = allocate(wanted);
  ASSERT_EQ(first->status, 201U);
  const std::string token = world.manager->groups().find_job("run")->token;

  world.disk.reset();
  world.disk.emplace(scratch.file("fabric.db"));
  world.restart(world.disk->load_sound());
  fabric(1);
  ASSERT_NE(world.manager->groups().find_job("run"), nullptr);
  EXPECT_EQ(world.manager->groups().find_job("run")->token, token);
  const Given again = allocate(wanted);
  EXPECT_EQ(again->status, 200U);
  EXPECT_EQ(again.body().at("values"), first.body().at("values")) << "cookie, VNI and all";
  api::AllocationRequest next = request("next");
  next.multicast_limit = 200;
  EXPECT_EQ(allocate(next)->status, 507U) << "groups are still set aside";
  Given reply;
  api::NodeReport report{.name = "n0", .job = "", .inventory = node("n0", 1, {}).inventory};
  world.manager->ask<&Manager::report_node>({.token = token}, report, reply.reply());
  EXPECT_EQ(reply->status, 200U) << "its nodes are its own";
  const std::string other = world.create_job("other");
  world.manager->ask<&Manager::report_node>({.token = other}, report, reply.reply());
  EXPECT_EQ(reply->status, 403U);
}

TEST_F(Allocations, a_node_that_changes_is_an_event_of_its_jobs) {
  fabric(1);
  const Given given = allocate(request());
  const std::string token = world.manager->groups().find_job("run")->token;
  EXPECT_TRUE(heard("run").empty());
  Given reply;
  api::NodeReport report{.name = "n0", .job = "", .inventory = node("n0", 1, {}).inventory};
  report.inventory.interfaces.push_back({.name = "tap0"});
  world.manager->ask<&Manager::report_node>({.token = token}, report, reply.reply());
  ASSERT_EQ(reply->status, 200U);
  EXPECT_THAT(heard("run"), ElementsAre("node n0: tap0 is new"));

  world.manager->ask<&Manager::nodes>({.token = token}, {.id = "n0"}, reply.reply());
  EXPECT_EQ(reply->status, 200U);
  EXPECT_EQ(reply.body().at("interfaces").as_array().size(), 2U);
  const std::string other = world.create_job("other");
  world.manager->ask<&Manager::nodes>({.token = other}, {.id = "n0"}, reply.reply());
  EXPECT_EQ(reply->status, 404U);
  world.manager->ask<&Manager::report_node>({.token = other}, report, reply.reply());
  EXPECT_EQ(reply->status, 403U);
  world.manager->ask<&Manager::nodes>(administrator, {.limit = 1}, reply.reply());
  EXPECT_EQ(reply.body().at("nodes").as_array().size(), 1U);
  EXPECT_EQ(reply.body().at("next"), "n0");
  world.manager->ask<&Manager::nodes>(administrator, {.limit = 1, .after = "n0"}, reply.reply());
  EXPECT_EQ(reply.body().at("nodes").at(0).at("node"), "n1");
  EXPECT_FALSE(reply.body().contains("next"));
}

} // namespace
} // namespace tributary::manager
