#include "controlplane/api/job_requests.hpp"

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"

#include <gmock/gmock.h>

#include <string>

namespace tributary::api {
namespace {

using testing::HasSubstr;

std::string refused(const std::string& body) {
  try {
    static_cast<void>(allocation_request(parse_body(body)));
  } catch (const RequestError& error) {
    return error.what();
  }
  return "it was taken";
}

TEST(allocation_request, has_nodes_with_ranks_and_what_they_have) {
  const AllocationRequest request = allocation_request(parse_body(R"({
      "job": "run", "mcast_limit": 3, "interface": "",
      "nodes": [{"name": "n0", "ranks": [1, 0], "inventory": {
        "host": "n0.example", "processors": 8, "memory_bytes": 8589934592, "devices": ["gpu card0"],
        "interfaces": [{"name": "eth0", "address": "02:00:00:00:00:01", "mtu": 1500, "up": true,
                        "driver": ""}]}}]})"));
  EXPECT_EQ(request.job, "run");
  EXPECT_FALSE(request.exists);
  EXPECT_EQ(request.multicast_limit, 3U);
  ASSERT_EQ(request.nodes.size(), 1U);
  EXPECT_EQ(request.nodes[0].ranks, (std::vector<std::uint32_t>{1, 0}));
  const job::NodeInventory& node = request.nodes[0].inventory;
  EXPECT_EQ(node.memory_bytes, 8'589'934'592U);
  EXPECT_EQ(node.devices, std::vector<std::string>{"gpu card0"});
  ASSERT_EQ(node.interfaces.size(), 1U);
  EXPECT_TRUE(node.interfaces[0].up);
  // As it is serialised.
  EXPECT_EQ(node_report("n0", json_of(node)).inventory, node);
}

TEST(allocation_request, says_what_is_wrong_and_where) {
  EXPECT_THAT(refused(R"({"job": "run"})"), HasSubstr("nodes"));
  EXPECT_THAT(refused(R"({"job": "run", "nodes": []})"), HasSubstr("at least one"));
  EXPECT_THAT(refused(R"({"job": "run", "nodes": [7]})"), HasSubstr("must have objects, not 7"));
  const auto with = [](const std::string& nodes) {
    return refused(R"({"job": "run", "nodes": [)" + nodes + "]}");
  };
  EXPECT_THAT(with(R"({"name": "a", "ranks": [0, 0], "inventory": {}})"),
              HasSubstr("\"ranks\" of node \"a\""));
  EXPECT_THAT(with(R"({"name": "a", "ranks": [0], "inventory": {}},
                      {"name": "b", "ranks": [0], "inventory": {}})"),
              HasSubstr("of node \"b\""));
  EXPECT_THAT(with(R"({"name": "a", "ranks": [0], "inventory": {}},
                      {"name": "a", "ranks": [1], "inventory": {}})"),
              HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(with(R"({"name": "a", "ranks": [-1], "inventory": {}})"), HasSubstr("-1"));
  EXPECT_THAT(with(R"({"name": "a", "ranks": [0]})"), HasSubstr("inventory"));
  EXPECT_THAT(with(R"({"name": "a", "ranks": [0], "inventory": {"interfaces": [{"up": 1}]}})"),
              HasSubstr("name"));
  EXPECT_THAT(with(R"({"name": "a", "ranks": [0], "inventory": {
                        "interfaces": [{"name": "e", "up": 1}]}})"),
              HasSubstr("\"up\" must be true or false"));
}

} // namespace
} // namespace tributary::api
