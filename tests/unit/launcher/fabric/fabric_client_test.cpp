#include "launcher/fabric/fabric_client.hpp"

#include "endpoint/manager/manager_error.hpp"
#include "fake_manager.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::launch::fabric {
namespace {

using manager_client::ManagerError;
using manager_client::test::FakeManager;
using manager_client::test::FakeRequest;
using manager_client::test::FakeResponse;

/// A manager with two hosts at one switch, and what it says of jobs.
FakeResponse fabric_of_two(const FakeRequest& request) {
  const auto is = [&](std::string_view method, std::string_view target) {
    return request.method == method && request.target == target;
  };
  if (is("GET", "/api/v1/hosts")) {
    return {.body = R"({"hosts": [{"name": "a", "nid": 1, "switch": "leaf0"}], "next": 1})"};
  }
  if (is("GET", "/api/v1/hosts?after=1")) {
    return {.body = R"({"hosts": [{"name": "b", "nid": 2, "switch": "leaf0"}]})"};
  }
  if (is("GET", "/api/v1/links")) {
    return {.body = R"({"links": []})"};
  }
  if (is("POST", "/fabric/collectives/jobs")) {
    return {.status = 201, .body = R"({"jobID": "new", "sessionToken": "secret", "vni": 1030})"};
  }
  if (is("GET", "/fabric/collectives/jobs/new") || is("GET", "/fabric/collectives/jobs/old")) {
    return {.body = R"({"mcastLimit": 4, "vni": 1030, "sessionToken": "secret"})"};
  }
  if (is("GET", "/api/v1/groups")) {
    return {.body = R"({"groups": []})"};
  }
  if (request.method == "DELETE") {
    return {};
  }
  return {.status = 404, .body = R"({"message": "there is none"})"};
}

std::vector<NodeFacts> two_nodes() {
  std::vector<NodeFacts> nodes;
  for (const char* const address : {"02:00:00:00:00:01", "02:00:00:00:00:02"}) {
    NodeFacts node{address, {}};
    messages::Interface& interface = node.interfaces.emplace_back();
    interface.set_name("eth0");
    interface.set_address(address);
    nodes.push_back(node);
  }
  return nodes;
}

const messages::Value* find(const Allocation& allocation, std::string_view name) {
  const auto found =
      std::find_if(allocation.values.begin(), allocation.values.end(),
                   [&](const messages::Value& value) { return value.name() == name; });
  return found == allocation.values.end() ? nullptr : &*found;
}

TEST(FabricClient, MakesAJobOfTheNodesHostsAndGivesItBack) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  const Allocation allocation = client.allocate(two_nodes());
  EXPECT_EQ(find(allocation, "fm.vni")->number(), 1030U);
  EXPECT_EQ(find(allocation, "fm.mcast")->number(), 4U);
  EXPECT_EQ(find(allocation, "fm.cookie")->data().size(), 16U);
  ASSERT_NE(find(allocation, "fm.routetime"), nullptr);
  EXPECT_EQ(find(allocation, "fm.routetime")->reals().values_size(), 4);
  EXPECT_EQ(find(allocation, "TRIBUTARY_JOB_ID")->text(), "new");
  EXPECT_EQ(find(allocation, "TRIBUTARY_FABRIC_MANAGER_TOKEN")->text(), "secret");
  EXPECT_EQ(find(allocation, "TRIBUTARY_FABRIC_MANAGER_TOKEN")->use(),
            messages::Value::ENVIRONMENT);
  EXPECT_EQ(find(allocation, "TRIBUTARY_FABRIC_MANAGER_URL")->text(), manager.url());
  ASSERT_EQ(allocation.nodes.size(), 2U);
  EXPECT_EQ(allocation.nodes[1].interface(), "eth0");
  EXPECT_EQ(allocation.nodes[1].fabric_address(), "02:00:00:00:00:02");
  EXPECT_TRUE(allocation.notes.empty());

  const auto requests = manager.requests();
  const auto made = std::find_if(requests.begin(), requests.end(),
                                 [](const FakeRequest& each) { return each.method == "POST"; });
  ASSERT_NE(made, requests.end());
  const boost::json::value body = boost::json::parse(made->body);
  EXPECT_EQ(body.at("hosts").as_array().size(), 2U);
  EXPECT_EQ(body.at("hosts").at(1).as_string(), "0:00:02");
  EXPECT_TRUE(body.at("assignVni").as_bool());
  client.release();
  client.release();
  EXPECT_EQ(manager.requests().back().method, "DELETE");
  EXPECT_EQ(manager.requests().size(), requests.size() + 1) << "it is deleted once";
}

TEST(FabricClient, LeavesAJobThatWasThereAlone) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .job = "old", .new_job = "new"});
  const Allocation allocation = client.allocate(two_nodes());
  EXPECT_EQ(find(allocation, "fm.job")->text(), "old");
  client.release();
  for (const FakeRequest& request : manager.requests()) {
    EXPECT_EQ(request.method, "GET");
  }
}

TEST(FabricClient, SaysWhichNodeHasNoFabricInterface) {
  FakeManager manager(fabric_of_two);
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  std::vector<NodeFacts> nodes = two_nodes();
  nodes[1].interfaces.clear();
  const Allocation allocation = client.allocate(nodes);
  ASSERT_EQ(allocation.notes.size(), 1U);
  EXPECT_NE(allocation.notes[0].find("--interface"), std::string::npos);
  EXPECT_EQ(find(allocation, "fm.routetime"), nullptr);
}

TEST(FabricClient, PassesTheManagersRefusalOn) {
  FakeManager manager([](const FakeRequest&) {
    return FakeResponse{.status = 401, .body = R"({"message": "the token is no job's"})"};
  });
  FabricClient client({.manager = manager.settings(), .new_job = "new"});
  try {
    (void)client.allocate(two_nodes());
    FAIL() << "a wrong token was taken";
  } catch (const ManagerError& error) {
    EXPECT_NE(std::string(error.what()).find("the token is no job's"), std::string::npos);
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
