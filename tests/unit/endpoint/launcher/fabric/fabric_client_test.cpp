#include "endpoint/launcher/fabric/fabric_client.hpp"

#include "endpoint/manager_client/manager_error.hpp"
#include "fake_manager.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>

namespace tributary::launch::fabric {
namespace {

using manager_client::ManagerError;
using manager_client::test::FakeManager;
using manager_client::test::FakeRequest;
using manager_client::test::FakeResponse;

/// A manager that gives two nodes an allocation.
FakeResponse fabric_of_two(const FakeRequest& request) {
  const auto is = [&](std::string_view method, std::string_view target) {
    return request.method == method && request.target == target;
  };
  if (is("POST", "/api/v1/allocations")) {
    return {.status = 201, .body = R"({
        "job": "new", "token": "secret", "events_after": 8589934599, "notes": ["n1 is far away"],
        "values": [{"name": "fm.job", "use": "job", "text": "new"},
                   {"name": "fm.vni", "use": "job", "number": 1030},
                   {"name": "fm.cookie", "use": "job", "hex": "00ff10"},
                   {"name": "fm.routetime", "use": "job", "reals": [0, 1.5, 1.5, 0]},
                   {"name": "fm.routetime.class", "use": "job", "numbers": [0, 4294967295]},
                   {"name": "fm.later", "use": "of a later manager", "text": "x"},
                   {"name": "TRIBUTARY_FABRIC_MANAGER_TOKEN", "use": "environment",
                    "text": "secret"}],
        "nodes": [{"name": "n0", "ranks": [{"rank": 0, "end_point": "02:00:00:00:00:01:0"},
                                           {"rank": 1, "end_point": "02:00:00:00:00:01:1"}],
                   "values": [{"name": "fm.interface", "use": "local_resource", "text": "eth0"},
                              {"name": "fm.address", "use": "local_resource",
                               "text": "02:00:00:00:00:01"}]},
                  {"name": "n1", "ranks": [{"rank": 2}], "values": []}]})"};
  }
  if (is("GET", "/api/v1/groups")) {
    return {.body = R"({"groups": []})"};
  }
  if (request.method == "DELETE" || request.method == "PUT") {
    return {};
  }
  return {.status = 404, .body = R"({"message": "there is none"})"};
}

std::vector<NodeFacts> two_nodes() {
  std::vector<NodeFacts> nodes{{"n0", {0, 1}, {}}, {"n1", {2}, {}}};
  messages::Interface& interface = *nodes[0].hello.add_interfaces();
  interface.set_name("eth0");
  interface.set_address("02:00:00:00:00:01");
  nodes[0].hello.mutable_machine()->set_processors(8);
  return nodes;
}

const messages::Value* find(const Allocation& allocation, std::string_view name) {
  const auto found =
      std::find_if(allocation.values.begin(), allocation.values.end(),
                   [&](const messages::Value& value) { return value.name() == name; });
  return found == allocation.values.end() ? nullptr : &*found;
}

TEST(FabricClient, GetsAllWithOneRequestAndGivesItBack) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  const Allocation allocation = client.allocate(two_nodes());
  EXPECT_EQ(manager.requests().size(), 1U);
  EXPECT_EQ(find(allocation, "fm.vni")->number(), 1030U);
  EXPECT_EQ(find(allocation, "fm.vni")->use(), messages::Value::JOB);
  EXPECT_EQ(find(allocation, "fm.cookie")->data(), std::string("\0\xff\x10", 3));
  EXPECT_EQ(find(allocation, "fm.routetime")->reals().values(1), 1.5);
  EXPECT_EQ(find(allocation, "fm.routetime.class")->numbers().values(1), 4294967295U);
  EXPECT_EQ(find(allocation, "fm.later"), nullptr);
  EXPECT_EQ(find(allocation, "TRIBUTARY_FABRIC_MANAGER_TOKEN")->use(),
            messages::Value::ENVIRONMENT);
  EXPECT_EQ(find(allocation, "TRIBUTARY_FABRIC_MANAGER_URL")->text(), manager.url());
  EXPECT_EQ(allocation.job, "new");
  EXPECT_EQ(allocation.token, "secret");
  EXPECT_EQ(allocation.events_after, 8589934599U);
  EXPECT_EQ(allocation.notes, std::vector<std::string>{"n1 is far away"});
  ASSERT_EQ(allocation.nodes.size(), 2U);
  EXPECT_EQ(allocation.nodes[0].interface(), "eth0");
  EXPECT_EQ(allocation.nodes[0].fabric_address(), "02:00:00:00:00:01");
  EXPECT_EQ(allocation.nodes[0].end_points(1), "02:00:00:00:00:01:1");
  EXPECT_EQ(allocation.nodes[1].end_points(0), "");

  const boost::json::value body = boost::json::parse(manager.requests().front().body);
  EXPECT_EQ(body.at("job").as_string(), "new");
  EXPECT_FALSE(body.at("exists").as_bool());
  EXPECT_EQ(body.at("nodes").at(0).at("ranks").as_array().size(), 2U);
  EXPECT_EQ(body.at("nodes").at(0).at("inventory").at("processors").as_int64(), 8);
  client.release();
  client.release();
  EXPECT_EQ(manager.requests().back().method, "DELETE");
  EXPECT_EQ(manager.requests().size(), 2U) << "it is deleted once";
}

TEST(FabricClient, AsksAgainForAsLongAsItIsToldWhileTheManagerIsAway) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  manager.stop();
  EXPECT_THROW((void)client.allocate(two_nodes()), ManagerError) << "it asks once";
  auto allocated = std::async(
      std::launch::async, [&] { return client.allocate(two_nodes(), std::chrono::seconds(20)); });
  EXPECT_EQ(allocated.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  manager.start();
  EXPECT_EQ(allocated.get().job, "new");
}

TEST(FabricClient, AnAllocationNamesAllAddressesOfTheManagerToRanks) {
  FakeManager standby([](const FakeRequest&) {
    return FakeResponse{.status = 421, .body = R"({"message": "this manager is a standby"})"};
  });
  FakeManager leader(fabric_of_two);
  manager_client::ClientSettings settings = standby.settings();
  settings.addresses.push_back(leader.settings().addresses.at(0));
  FabricClient client({.manager = settings, .new_job = "new"});
  const Allocation allocation = client.allocate(two_nodes());
  EXPECT_EQ(find(allocation, "TRIBUTARY_FABRIC_MANAGER_URL")->text(),
            standby.url() + "," + leader.url());
}

TEST(FabricClient, AnAnswerThatIsNoAllocationIsNamedAndGivenBack) {
  FakeManager manager([](const FakeRequest& request) {
    FakeResponse answer = fabric_of_two(request);
    if (request.method == "POST") {
      answer.body =
          R"({"job": "new", "token": "secret", "events_after": 1, "notes": [], "nodes": [],
                        "values": [{"name": "fm.job", "use": "job", "text": 5}]})";
    }
    return answer;
  });
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  try {
    (void)client.allocate(two_nodes());
    FAIL() << "the text is a number";
  } catch (const ManagerError& error) {
    EXPECT_EQ(error.kind(), ManagerError::Kind::garbled);
    EXPECT_NE(std::string(error.what()).find("install the same version"), std::string::npos)
        << error.what();
  }
  client.release();
  EXPECT_EQ(manager.requests().back().method, "DELETE");
}

TEST(FabricClient, LeavesAJobThatWasThereAlone) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .job = "old", .new_job = "new"});
  (void)client.allocate(two_nodes());
  const boost::json::value body = boost::json::parse(manager.requests().front().body);
  EXPECT_EQ(body.at("job").as_string(), "old");
  EXPECT_TRUE(body.at("exists").as_bool());
  client.release();
  EXPECT_EQ(manager.requests().size(), 1U);
}

TEST(FabricClient, RenewsTheLeaseOfAnAllocationThatItHasMade) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "n w"});
  EXPECT_FALSE(client.renewed_every());
  (void)client.allocate(two_nodes());
  const boost::json::value body = boost::json::parse(manager.requests().front().body);
  EXPECT_LE(3 * client.renewed_every()->count(), body.at("lease_seconds").as_int64());
  client.renew();
  const FakeRequest last = manager.requests().back();
  EXPECT_EQ(last.method, "PUT");
  EXPECT_EQ(last.target, "/api/v1/allocations/n%20w/lease");
  EXPECT_EQ(last.fields.at("authorization"), "Bearer secret");

  FakeManager other(fabric_of_two);
  FabricClient of_old({.manager = other.settings(), .job = "old", .new_job = "new"});
  (void)of_old.allocate(two_nodes());
  EXPECT_FALSE(of_old.renewed_every()) << "it asked for none";
  of_old.renew();
  EXPECT_EQ(other.requests().size(), 1U);
}

TEST(FabricClient, ReportsWhatANodeHasWithTheJobsToken) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  (void)client.allocate(two_nodes());
  client.report("n 0", two_nodes()[0].hello);
  const FakeRequest last = manager.requests().back();
  EXPECT_EQ(last.method, "PUT");
  EXPECT_EQ(last.target, "/api/v1/nodes/n%200");
  EXPECT_EQ(last.fields.at("authorization"), "Bearer secret");
  EXPECT_EQ(boost::json::parse(last.body).at("interfaces").at(0).at("name").as_string(), "eth0");
}

TEST(FabricClient, PassesTheManagersRefusalOn) {
  FakeManager manager([](const FakeRequest&) {
    return FakeResponse{.status = 401, .body = R"({"message": "the token is not a job's"})"};
  });
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  try {
    (void)client.allocate(two_nodes());
    FAIL() << "a wrong token was taken";
  } catch (const ManagerError& error) {
    EXPECT_NE(std::string(error.what()).find("the token is not a job's"), std::string::npos);
    EXPECT_EQ(error.status(), 401U);
  }
}

TEST(FabricClient, AsksForRanksWithTheJobsToken) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  EXPECT_THROW((void)client.request({"GET", "/api/v1/groups", ""}), std::invalid_argument)
      << "before there is an allocation";
  (void)client.allocate(two_nodes());
  const Reply reply = client.request({"GET", "/api/v1/groups", ""});
  EXPECT_EQ(reply.status, 200U);
  EXPECT_EQ(reply.body, R"({"groups":[]})");
  EXPECT_EQ(manager.requests().back().fields.at("authorization"), "Bearer secret");
  EXPECT_EQ(client.request({"GET", "/nothing", ""}).status, 404U);
  EXPECT_THROW((void)client.request({"TRACE", "/api/v1/groups", ""}), std::invalid_argument);
  EXPECT_THROW((void)client.request({"GET", "http://elsewhere/", ""}), std::invalid_argument);
  EXPECT_THROW((void)client.request({"GET", "/a\r\nX: y", ""}), std::invalid_argument);
}

} // namespace
} // namespace tributary::launch::fabric
