// The lines on the host agent's socket, and its record.

#include "endpoint/agent/messages.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::host_agent {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const std::string& line) {
  try {
    static_cast<void>(parse_request(line));
  } catch (const AgentError& error) {
    EXPECT_EQ(error.reason(), Reason::bad_request);
    return error.what();
  }
  ADD_FAILURE() << line << " was accepted";
  return {};
}

TEST(HostAgentMessages, RequestsAreReadAsTheyWereWritten) {
  const OpenRequest open{.job = "j1",
                         .vni = Vni{1024},
                         .interface = "eth1",
                         .ethertype = 0x88B5,
                         .receive_buffer_bytes = 4096};
  const auto read = std::get<OpenRequest>(parse_request(line_of(open)));
  EXPECT_EQ(read.job, open.job);
  EXPECT_EQ(read.vni, open.vni);
  EXPECT_EQ(read.interface, open.interface);
  EXPECT_EQ(read.ethertype, open.ethertype);
  EXPECT_EQ(read.receive_buffer_bytes, open.receive_buffer_bytes);
  const auto of_buffer = [](std::optional<std::uint32_t> bytes) {
    const OpenRequest asked{.receive_buffer_bytes = bytes};
    return std::get<OpenRequest>(parse_request(line_of(asked))).receive_buffer_bytes;
  };
  EXPECT_EQ(of_buffer(0), 0U) << "which is not the same as";
  EXPECT_EQ(of_buffer(std::nullopt), std::nullopt);

  const AddJobRequest add{.job = "j1",
                          .vni = Vni{65'535},
                          .uid = 4'000'000'000U,
                          .cgroup = "/a/b",
                          .lifetime_ns = 60 * ns_per_second,
                          .is_attached = true,
                          .manager = {.url = "https://fm:8000",
                                      .token = "t \"quoted\"",
                                      .certificate_authority = "/etc/ca.pem"}};
  const auto added = std::get<AddJobRequest>(parse_request(line_of(add)));
  EXPECT_EQ(added.job, add.job);
  EXPECT_EQ(added.vni, add.vni);
  EXPECT_EQ(added.uid, add.uid);
  EXPECT_EQ(added.cgroup, add.cgroup);
  EXPECT_EQ(added.lifetime_ns, add.lifetime_ns);
  EXPECT_TRUE(added.is_attached);
  EXPECT_EQ(added.manager, add.manager);

  EXPECT_EQ(std::get<EndJobRequest>(parse_request(line_of(EndJobRequest{.job = "x"}))).job, "x");
  EXPECT_TRUE(std::holds_alternative<ShowRequest>(parse_request(line_of(ShowRequest{}))));
  EXPECT_TRUE(std::holds_alternative<NodeRequest>(parse_request(line_of(NodeRequest{}))));
}

TEST(HostAgentMessages, AnEmptyOpenRequestLeavesAllOpen) {
  const auto open = std::get<OpenRequest>(parse_request(R"({"request": "open", "newer": [1]})"));
  EXPECT_FALSE(open.job);
  EXPECT_FALSE(open.vni);
  EXPECT_TRUE(open.interface.empty());
  EXPECT_FALSE(open.ethertype);
}

TEST(HostAgentMessages, BadRequestsNameTheField) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not JSON"},
      {"[]", "not a JSON object"},
      {R"({"job": "x"})", "\"request\" is missing"},
      {R"({"request": "steal"})", "unknown request \"steal\""},
      {R"({"request": "open", "vni": 0})", "\"vni\""},
      {R"({"request": "open", "vni": 65536})", "\"vni\""},
      {R"({"request": "open", "vni": 1.5})", "\"vni\""},
      {R"({"request": "open", "vni": "1"})", "\"vni\""},
      {R"({"request": "open", "ethertype": 4})", "\"ethertype\""},
      {R"({"request": "open", "job": ""})", "\"job\""},
      {R"({"request": "open", "job": ".."})", "\"job\""},
      {R"({"request": "open", "job": "a\nb"})", "\"job\""},
      {R"({"request": "open", "receive_buffer_bytes": -1})", "\"receive_buffer_bytes\""},
      {R"({"request": "add_job", "vni": 5})", "\"job\" is missing"},
      {R"({"request": "add_job", "job": "a"})", "\"vni\" is missing"},
      {R"({"request": "add_job", "job": "a", "vni": 5, "uid": 4294967295})", "\"uid\""},
      {R"({"request": "add_job", "job": "a", "vni": 5, "lifetime_s": 0})", "\"lifetime_s\""},
      {R"({"request": "add_job", "job": "a", "vni": 5, "attached": 1})", "\"attached\""},
      {R"({"request": "add_job", "job": "a", "vni": 5, "manager": "x"})", "\"manager\""},
      {R"({"request": "add_job", "job": "a", "vni": 5, "cgroup": "a"})", "\"cgroup\""},
      {R"({"request": "add_job", "job": "a", "vni": 5, "cgroup": "/a/../b"})", "\"cgroup\""},
      {R"({"request": "add_job", "job": "a", "vni": 5, "cgroup": "/a/"})", "\"cgroup\""},
      {R"({"request": "end_job"})", "\"job\" is missing"},
  };
  for (const auto& [line, expected] : cases) {
    EXPECT_THAT(refusal_of(line), HasSubstr(expected)) << line;
  }
  EXPECT_THAT(refusal_of(std::string(100, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of(R"({"request": "open", "job": ")" + std::string(129, 'x') + "\"}"),
              HasSubstr("at most 128 bytes"));
}

TEST(HostAgentMessages, AnswersAreReadAsTheyWereWritten) {
  const Opened opened{.job = "j1",
                      .vni = Vni{1024},
                      .mark = Mark{0x54000007},
                      .nid = Nid{18},
                      .end_point = 4095,
                      .host = "node18",
                      .interface = "eth1",
                      .ethertype = 0x88B5,
                      .address = {0x02, 0xAB, 0x00, 0x00, 0x00, 0x12},
                      .mtu = 9000,
                      .manager = {.url = "unix:/x", .token = "t"}};
  EXPECT_EQ(opened_of(result_of(acceptance(json_of(opened)))), opened);
  try {
    static_cast<void>(result_of(refusal(AgentError(Reason::limit, "too many"))));
    FAIL();
  } catch (const AgentError& error) {
    EXPECT_EQ(error.reason(), Reason::limit);
    EXPECT_STREQ(error.what(), "too many");
  }
}

TEST(HostAgentMessages, AnAnswerThatIsNoneIsAnError) {
  for (const char* line : {"", "{}", "[]", R"({"ok": true})", R"({"ok": 1})", R"({"ok": false})",
                           R"({"ok": false, "error": 5})"}) {
    EXPECT_THROW(static_cast<void>(result_of(line)), AgentError) << line;
  }
  boost::json::object result = json_of(Opened{.job = "j",
                                              .vni = Vni{1},
                                              .nid = Nid{1},
                                              .host = "h",
                                              .interface = "e",
                                              .ethertype = 0x88B5,
                                              .mtu = 1500});
  EXPECT_NO_THROW(static_cast<void>(opened_of(result)));
  const std::pair<const char*, boost::json::value> wrong[] = {{"address", "02:00:00:00:00"},
                                                              {"address", "02:00:00:00:00:0g"},
                                                              {"address", "020000000001"},
                                                              {"nid", 1 << 20},
                                                              {"nid", 0xFF801},
                                                              {"end_point", 4096},
                                                              {"ethertype", 5},
                                                              {"host", nullptr},
                                                              {"interface", ""}};
  for (const auto& [field, value] : wrong) {
    boost::json::object broken = result;
    broken[field] = value;
    EXPECT_THROW(static_cast<void>(opened_of(broken)), AgentError) << field;
  }
}

TEST(HostAgentMessages, TheListOfJobsHasNoTokens) {
  const Job job{.id = "j",
                .vni = Vni{5},
                .until = TimeNs{90 * ns_per_second},
                .mark = Mark{0x54000001},
                .manager = {.token = "secret"}};
  const std::string text = boost::json::serialize(json_of(job, 3, TimeNs{30 * ns_per_second}));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(text, HasSubstr("\"ends_in_s\":60"));
  EXPECT_THAT(text, HasSubstr("\"mark\":\"0x54000001\""));
}

TEST(HostAgentMessages, TheRecordIsReadAsItWasWritten) {
  Record record{.highest_mark = 0x54000009, .last_end_point = 300};
  record.jobs.push_back({.id = "j1",
                         .vni = Vni{7},
                         .uid = 1000,
                         .cgroup = "/a",
                         .told_by = 0,
                         .is_own = true,
                         .is_attached = true,
                         .until = TimeNs{12},
                         .mark = Mark{0x54000009},
                         .manager = {.url = "u", .token = "t", .certificate_authority = "c"}});
  record.jobs.push_back({.id = "j2", .vni = Vni{8}, .uid = 0, .mark = Mark{3}});
  record.sockets.push_back({.inode = 1ULL << 40U,
                            .uid = 1000,
                            .mark = Mark{0x54000009},
                            .vni = Vni{7},
                            .end_point = 300});
  EXPECT_EQ(record_of(text_of(record)), record);
  for (const char* text : {"", "{}", R"({"highest_mark": 1, "jobs": {}, "sockets": []})",
                           R"({"highest_mark": 1, "jobs": [5], "sockets": []})"}) {
    EXPECT_THROW(static_cast<void>(record_of(text)), AgentError) << text;
  }
}

} // namespace
} // namespace tributary::host_agent
