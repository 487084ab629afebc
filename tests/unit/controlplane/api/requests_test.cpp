#include "controlplane/api/requests.hpp"

#include "controlplane/api/json_body.hpp"
#include "controlplane/api/request_error.hpp"
#include "tests/support/error_of.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::api {
namespace {

using tributary::test::message_of;

using testing::HasSubstr;

TEST(job_request, limit_is_optional) {
  EXPECT_EQ(job_request(parse_body(R"({"jobID":"c-1"})")).multicast_limit, std::nullopt);
  const JobRequest request = job_request(parse_body(R"({"JOBID":"c-1","MCASTLIMIT":0})"));
  EXPECT_EQ(request.job, "c-1");
  EXPECT_EQ(request.multicast_limit, 0U);
}

TEST(job_request, may_ask_for_a_vni_at_once) {
  EXPECT_FALSE(job_request(parse_body(R"({"jobID":"c-1"})")).assign_vni);
  EXPECT_TRUE(job_request(parse_body(R"({"jobID":"c-1","assignVni":true})")).assign_vni);
  EXPECT_FALSE(job_request(parse_body(R"({"jobID":"c-1","assignVni":null})")).assign_vni);
  EXPECT_EQ(message_of<RequestError>(
                [] { return job_request(parse_body(R"({"jobID":"c-1","assignVni":1})")); }),
            "\"assignVni\" must be true or false, not 1");
}

TEST(job_request, says_what_is_wrong) {
  EXPECT_EQ(message_of<RequestError>([] { return job_request({}); }), "\"jobID\" is missing");
  EXPECT_THAT(message_of<RequestError>([] { return job_request(parse_body(R"({"jobID":17})")); }),
              HasSubstr("must be a string, not 17"));
  EXPECT_THAT(message_of<RequestError>(
                  [] { return job_request(parse_body(R"({"jobID":"a","mcastLimit":8193})")); }),
              HasSubstr("from 0 to 8192"));
}

TEST(job_request, may_limit_the_job_to_hosts_and_vnis) {
  const JobRequest any = job_request(parse_body(R"({"jobID":"c","hosts":null})"));
  EXPECT_EQ(any.hosts, std::nullopt);
  EXPECT_EQ(any.vnis, std::nullopt);
  const JobRequest request = job_request(
      parse_body(R"({"jobID":"c","hosts":["0:00:01","02:00:00:00:12:34"],"vnis":[0,65535]})"));
  EXPECT_THAT(*request.hosts, testing::ElementsAre(Nid{1}, Nid{0x1234}));
  EXPECT_THAT(*request.vnis, testing::ElementsAre(Vni{0}, Vni{65535}));
  const auto error = [](const char* body) {
    return message_of<RequestError>([&] { return job_request(parse_body(body)); });
  };
  EXPECT_THAT(error(R"({"jobID":"c","hosts":[]})"), HasSubstr("\"hosts\" must have 1 to"));
  EXPECT_THAT(error(R"({"jobID":"c","hosts":"0:0:1"})"), HasSubstr("must be a list"));
  EXPECT_THAT(error(R"({"jobID":"c","hosts":["0:0:1","h0"]})"), HasSubstr("\"hosts\"[1]"));
  EXPECT_THAT(error(R"({"jobID":"c","vnis":[1,65536]})"), HasSubstr("\"vnis\"[1] must be"));
  EXPECT_THAT(error(R"({"jobID":"c","vnis":["1"]})"), HasSubstr("must be an integer"));
}

TEST(job_patch, may_set_the_limit_with_steps_or_without) {
  const JobPatch alone = job_patch("c-1", parse_body(R"({"mcastLimit":7})"));
  EXPECT_EQ(alone.multicast_limit, 7U);
  EXPECT_TRUE(alone.ended_steps.empty());
  const JobPatch both = job_patch("c-1", parse_body(R"({"mcastLimit":0,"jobSteps":{"0":null}})"));
  EXPECT_EQ(both.multicast_limit, 0U);
  EXPECT_THAT(both.ended_steps, testing::ElementsAre("0"));
  EXPECT_THAT(
      message_of<RequestError>([] { return job_patch("j", parse_body(R"({"mcastLimit":-1})")); }),
      HasSubstr("from 0 to 8192"));
}

TEST(job_patch, ends_steps) {
  const JobPatch patch = job_patch(
      "c-1", parse_body(R"({"sessionToken":{"any":"thing"},"jobSteps":{"0":null,"1":null}})"));
  EXPECT_EQ(patch.job, "c-1");
  EXPECT_THAT(patch.ended_steps, testing::ElementsAre("0", "1"));
  EXPECT_TRUE(job_patch("c-1", parse_body(R"({"jobSteps":{}})")).ended_steps.empty());
}

TEST(job_patch, says_what_is_wrong) {
  const auto error = [](const char* body) {
    return message_of<RequestError>([&] { return job_patch("j", parse_body(body)); });
  };
  EXPECT_EQ(error("{}"), "\"jobSteps\" is missing");
  EXPECT_THAT(error(R"({"jobSteps":["0"]})"), HasSubstr("must be an object, not a list"));
  EXPECT_THAT(error(R"({"jobSteps":{"0":{"mcasts":[]}}})"), HasSubstr("step \"0\""));
  EXPECT_THAT(error(R"({"jobSteps":{"":null}})"), HasSubstr("1 to 128 bytes"));
}

TEST(multicast_request, takes_what_libfabric_sends) {
  const MulticastRequest request = multicast_request(parse_body(
      R"({"macs":["0:00:01","F:e7:ff","00:00:00:01:23:45"],"vni":65535,"timeout":20000000,)"
      R"("jobID":"c-1","jobStepID":"0"})"));
  EXPECT_THAT(request.macs, testing::ElementsAre(Nid{1}, Nid{0xFE7FF}, Nid{0x12345}));
  EXPECT_EQ(request.vni, Vni{65535});
  EXPECT_EQ(request.timeout, std::chrono::seconds(20));
  EXPECT_EQ(request.step, "0");
}

TEST(multicast_request, says_what_is_wrong) {
  const auto error = [](const char* body) {
    return message_of<RequestError>([&] { return multicast_request(parse_body(body)); });
  };
  EXPECT_EQ(error(R"({"vni":1,"jobID":"j","jobStepID":"0"})"), "\"macs\" is missing");
  EXPECT_THAT(error(R"({"macs":[],"vni":1,"jobID":"j","jobStepID":"0"})"), HasSubstr("1 to "));
  EXPECT_THAT(error(R"({"macs":["0:0:1","f:f8:00"],"vni":1,"jobID":"j","jobStepID":"0"})"),
              HasSubstr("\"macs\"[1]"));
  EXPECT_THAT(error(R"({"macs":["0:0:1"],"jobID":"j","jobStepID":"0"})"),
              HasSubstr("\"vni\" is missing"));
  EXPECT_THAT(error(R"({"macs":["0:0:1"],"vni":65536,"jobID":"j","jobStepID":"0"})"),
              HasSubstr("from 0 to 65535"));
  EXPECT_THAT(error(R"({"macs":["0:0:1"],"vni":1,"timeout":-1,"jobID":"j","jobStepID":"0"})"),
              HasSubstr("\"timeout\""));
  EXPECT_THAT(error(R"({"macs":["0:0:1"],"vni":1,"jobID":"j"})"),
              HasSubstr("\"jobStepID\" is missing"));
}

TEST(group_request, root_must_be_a_member) {
  EXPECT_EQ(group_request(parse_body(R"({"name":"g","size":4,"root_rank":3})")).root_rank, 3U);
  EXPECT_THAT(message_of<RequestError>([] {
                return group_request(parse_body(R"({"name":"g","size":4,"root_rank":4})"));
              }),
              HasSubstr("from 0 to 3"));
}

TEST(group_request, sizes_and_trees_have_limits) {
  const auto error = [](const char* body) {
    return message_of<RequestError>([&] { return group_request(parse_body(body)); });
  };
  EXPECT_EQ(error(R"({"name":"g","size":1048575})"), "");
  EXPECT_THAT(error(R"({"name":"g","size":1048576})"), HasSubstr("from 1 to 1048575"));
  EXPECT_THAT(error(R"({"name":"g","size":0})"), HasSubstr("from 1 to 1048575"));
  EXPECT_THAT(error(R"({"name":"g","size":2,"trees":3})"), HasSubstr("from 1 to 2"));
}

TEST(join_request, has_its_group_from_the_path) {
  const Target target = parse_target("/api/v1/groups/g/members?wait=5");
  const JoinRequest request = join_request(
      "g", target,
      parse_body(R"({"name":"other","rank":1,"size":2,"mac":"2:0:0:0:0:1","job":"j","trees":2,
                     "jobStepID":"3"})"));
  EXPECT_EQ(request.group.name, "g");
  EXPECT_EQ(request.group.job, "j");
  EXPECT_EQ(request.group.step, "3");
  EXPECT_EQ(request.group.trees, 2U);
  EXPECT_EQ(request.rank, 1U);
  EXPECT_EQ(request.nid, Nid{1});
  EXPECT_EQ(request.host, "");
  EXPECT_EQ(request.wait, std::chrono::milliseconds(5));
}

TEST(join_request, says_what_the_host_takes_of_wide_frames) {
  const auto taken = [](const std::string& more) {
    return join_request("g", parse_target("/"),
                        parse_body(R"({"rank":0,"size":2,"mac":"0:0:1")" + more + "}"))
        .takes;
  };
  EXPECT_EQ(taken(""), group::WideFrames{}) << "no wide frames";
  EXPECT_EQ(taken(R"(,"slots":64,"payload":1452)"),
            (group::WideFrames{.slots = 64, .payload = 1408, .half_floats = false}));
  EXPECT_EQ(taken(R"(,"payload":40)").payload, 32U);
  EXPECT_EQ(taken(R"(,"payload":70000)").payload, 65472U);
}

TEST(group_request, may_ask_for_less_of_wide_frames) {
  const auto asked = [](const std::string& more) {
    return group_request(parse_body(R"({"name":"g","size":2)" + more + "}")).frames;
  };
  EXPECT_EQ(asked(""), group::any_frames);
  EXPECT_EQ(asked(R"(,"slots":16)").slots, 16U);
  EXPECT_EQ(asked(R"(,"slots":16)").payload, 65472U);
  EXPECT_EQ(asked(R"(,"payload":32)").payload, 32U);
  const auto error = [&](const char* more) {
    return message_of<RequestError>([&] { return asked(more); });
  };
  EXPECT_THAT(error(R"(,"slots":12)"), HasSubstr("must be 8, 16, 32, 64 or 128, not 12"));
  EXPECT_THAT(error(R"(,"slots":256)"), HasSubstr("from 8 to 128"));
  EXPECT_THAT(error(R"(,"payload":31)"), HasSubstr("\"payload\""));
}

TEST(join_request, says_what_is_wrong) {
  const auto error = [](const char* body, const char* target = "/") {
    return message_of<RequestError>(
        [&] { return join_request("g", parse_target(target), parse_body(body)); });
  };
  EXPECT_THAT(error(R"({"rank":2,"size":2,"mac":"0:0:1"})"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(error(R"({"rank":0,"size":2})"), HasSubstr("\"mac\" is missing"));
  EXPECT_THAT(error(R"({"rank":0,"size":2,"mac":1})"), HasSubstr("not 1"));
  EXPECT_THAT(error(R"({"rank":0,"size":2,"mac":"02:fe:00:00:00:01"})"), HasSubstr("02:fe"));
  const char* right = R"({"rank":0,"size":2,"mac":"0:0:1"})";
  EXPECT_EQ(error(right, "/?wait=60000"), "");
  EXPECT_THAT(error(right, "/?wait=60001"), HasSubstr("from 0 to 60000"));
  EXPECT_THAT(error(right, "/?wait="), HasSubstr("from 0 to 60000"));
  EXPECT_THAT(error(right, "/?wait=1s"), HasSubstr("not \"1s\""));
}

TEST(member_request, rank_is_a_number) {
  EXPECT_EQ(member_request("j", "g", "7").rank, 7U);
  for (const char* rank : {"x", "", "-1", "1.0", "1048575", "99999999999999999999", " 1"}) {
    EXPECT_THAT(message_of<RequestError>([&] { return member_request("j", "g", rank); }),
                HasSubstr("rank"))
        << rank;
  }
  EXPECT_THAT(
      message_of<RequestError>([] { return member_request(std::string(200, 'x'), "g", "1"); }),
      HasSubstr("job's name"));
}

TEST(tree_number, is_below_8192) {
  EXPECT_EQ(tree_number("8191"), TreeNumber{8191});
  EXPECT_THAT(message_of<RequestError>([] { return tree_number("8192"); }),
              HasSubstr("from 0 to 8191"));
}

} // namespace
} // namespace tributary::api
