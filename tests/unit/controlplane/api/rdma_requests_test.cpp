#include "controlplane/api/rdma_requests.hpp"

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"
#include "tests/support/error_of.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::api {
namespace {

using tributary::test::message_of;

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of_report(const char* body) {
  return message_of<RequestError>([&] { return rdma_report(parse_body(body)); });
}

TEST(rdma_report, takes_what_a_host_says_of_its_transfers) {
  const RdmaReport report = rdma_report(parse_body(R"({
    "nid": 5, "vnis": [7, 1024], "policy_version": 3, "in_progress": 9,
    "exceptions": [{"nid": 6, "vni": 7, "cause": "busy_storm", "times": 2}],
    "probes": [{"nid": 8, "vni": 7, "answered": true}]})"));
  EXPECT_EQ(report.nid, Nid{5});
  EXPECT_THAT(report.vnis, ElementsAre(Vni{7}, Vni{1024}));
  EXPECT_EQ(report.policy_version, 3U);
  EXPECT_EQ(report.quarantined_version, 0U);
  EXPECT_EQ(report.in_progress, 9U);
  ASSERT_EQ(report.exceptions.size(), 1U);
  EXPECT_EQ(report.exceptions[0].peer.nid, Nid{6});
  EXPECT_EQ(report.exceptions[0].times, 2U);
  ASSERT_EQ(report.probes.size(), 1U);
  EXPECT_TRUE(report.probes[0].answered);
}

TEST(rdma_report, says_what_is_wrong) {
  EXPECT_THAT(error_of_report("{}"), HasSubstr("\"nid\" is missing"));
  EXPECT_THAT(error_of_report(R"({"nid": 1048576})"), HasSubstr("\"nid\""));
  EXPECT_THAT(error_of_report(R"({"nid": 5, "vnis": [65536]})"), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(error_of_report(R"({"nid": 5, "probes": [3]})"), HasSubstr("must have objects"));
  EXPECT_THAT(error_of_report(R"({"nid": 5, "exceptions":
                                  [{"nid": 6, "vni": 7, "cause": "rain", "times": 1}]})"),
              HasSubstr("must be one of"));
}

TEST(rdma_report, names_hosts_and_no_multicast_address) {
  EXPECT_THAT(error_of_report(R"({"nid": 1046528})"), HasSubstr("1046528 is a multicast address"));
  EXPECT_THAT(error_of_report(R"({"nid": 5, "probes":
                                  [{"nid": 1048575, "vni": 7, "answered": true}]})"),
              HasSubstr("1048575 is a multicast address"));
}

TEST(rdma_policy_patch, changes_something) {
  EXPECT_THAT(message_of<RequestError>([] { return rdma_policy_patch(parse_body("{}")); }),
              HasSubstr("nothing is to be changed"));
}

} // namespace
} // namespace tributary::api
