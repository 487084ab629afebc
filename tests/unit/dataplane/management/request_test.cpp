#include "dataplane/management/request.hpp"
#include "fake_inspector.hpp"
#include "tests/support/error_of.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::management {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& line) {
  return tributary::test::message_of<RequestError>([&] { return parse_request(line); });
}

TEST(parse_request, show_of_each_kind) {
  using What = ShowRequest::What;
  const std::pair<const char*, What> kinds[] = {
      {"ports", What::ports},     {"queues", What::queues},     {"trees", What::trees},
      {"engines", What::engines}, {"counters", What::counters}, {"workers", What::workers},
      {"manager", What::manager}};
  for (const auto& [name, what] : kinds) {
    const auto r = std::get<ShowRequest>(
        parse_request(fmt::format(R"({{"command":"show","what":"{}","switch":"leaf0"}})", name)));
    EXPECT_EQ(r.what, what);
    EXPECT_EQ(r.switch_name, "leaf0");
  }
  EXPECT_EQ(
      std::get<ShowRequest>(parse_request(R"({"command":"show","what":"ports"})")).switch_name, "");
}

TEST(parse_request, queues_of_one_port) {
  EXPECT_EQ(
      std::get<ShowRequest>(parse_request(R"({"command":"show","what":"queues","port":"host0"})"))
          .port,
      "host0");
  EXPECT_THAT(error_of(R"({"command":"show","what":"trees","port":"host0"})"),
              HasSubstr("\"port\" does not apply to this command"));
}

TEST(parse_request, impair_actions_with_what_they_select) {
  using Do = ImpairRequest::Do;
  const auto show =
      std::get<ImpairRequest>(parse_request(R"({"command":"impair","action":"show"})"));
  EXPECT_EQ(show.action, Do::show);
  EXPECT_TRUE(show.selection.port.empty());
  EXPECT_FALSE(show.selection.direction.has_value());
  const auto set = std::get<ImpairRequest>(parse_request(
      R"({"command":"impair","action":"set","switch":"s","port":"p","direction":"sent",)"
      R"("settings":{"loss":0.01,"seed":7,"kinds":["rdma","unicast"]}})"));
  EXPECT_EQ(set.action, Do::set);
  EXPECT_EQ(set.selection.switch_name, "s");
  EXPECT_EQ(set.selection.port, "p");
  EXPECT_EQ(set.selection.direction, impairment::Direction::sent);
  EXPECT_EQ(set.settings, "loss = 1E-2\nseed = 7\nkinds = [\"rdma\",\"unicast\"]\n");
  EXPECT_EQ(std::get<ImpairRequest>(
                parse_request(R"({"command":"impair","action":"clear","direction":"received"})"))
                .selection.direction,
            impairment::Direction::received);
}

TEST(parse_request, impair_says_what_is_wrong) {
  EXPECT_THAT(error_of(R"({"command":"impair"})"), HasSubstr("\"action\" is missing"));
  EXPECT_THAT(error_of(R"({"command":"impair","action":"set","settings":{}})"),
              HasSubstr("\"port\" is missing"));
  EXPECT_THAT(error_of(R"({"command":"impair","action":"set","port":"p"})"),
              HasSubstr("\"settings\" is missing"));
  EXPECT_THAT(error_of(R"({"command":"impair","action":"set","port":"p","settings":3})"),
              HasSubstr("not an object"));
  EXPECT_THAT(error_of(R"({"command":"impair","action":"set","port":"p","settings":{"a\n[b]":1}})"),
              HasSubstr("is not a setting of an impairment"));
  EXPECT_THAT(
      error_of(R"({"command":"impair","action":"set","port":"p","settings":{"loss":null}})"),
      HasSubstr("needs a number"));
  EXPECT_THAT(error_of(R"({"command":"impair","action":"clear","port":"p","direction":"up"})"),
              HasSubstr("known are received, sent"));
  EXPECT_THAT(error_of(R"({"command":"impair","action":"clear","settings":{}})"),
              HasSubstr("\"settings\" does not apply to this command"));
}

TEST(answer, impair_passes_on_what_was_asked_and_reports_what_is_in_force) {
  FakeInspector inspector;
  const std::string set = answer(
      parse_request(R"({"command":"impair","action":"set","port":"p","settings":{"loss":1}})"),
      inspector);
  EXPECT_THAT(set, HasSubstr("\"loss\":2.5E-1"));
  EXPECT_EQ(inspector.asked.port, "p");
  EXPECT_EQ(inspector.asked_settings, "loss = 1\n");
  EXPECT_EQ(answer(parse_request(R"({"command":"impair","action":"clear"})"), inspector),
            "{\"ok\":true,\"result\":[]}\n");
}

TEST(parse_request, trace_actions) {
  using Do = TraceRequest::Do;
  EXPECT_EQ(std::get<TraceRequest>(parse_request(R"({"command":"trace","action":"on"})")).action,
            Do::on);
  EXPECT_EQ(std::get<TraceRequest>(parse_request(R"({"command":"trace","action":"off"})")).action,
            Do::off);
  EXPECT_EQ(std::get<TraceRequest>(parse_request(R"({"command":"trace","action":"dump"})")).action,
            Do::dump);
}

TEST(parse_request, trace_dump_may_be_narrowed) {
  const auto all = std::get<TraceRequest>(parse_request(R"({"command":"trace","action":"dump"})"));
  EXPECT_FALSE(all.tree || all.drops || all.from || all.from_end);
  const auto some = std::get<TraceRequest>(
      parse_request(R"({"command":"trace","action":"dump","switch":"s","port":"p","tree":5,)"
                    R"("drops":true,"from":[17,0]})"));
  EXPECT_EQ(some.switch_name, "s");
  EXPECT_EQ(some.port, "p");
  EXPECT_EQ(some.tree, TreeNumber{5});
  EXPECT_TRUE(some.drops);
  EXPECT_EQ(some.from, (std::vector<std::uint64_t>{17, 0}));
  EXPECT_TRUE(
      std::get<TraceRequest>(parse_request(R"({"command":"trace","action":"dump","from":"end"})"))
          .from_end);
}

TEST(parse_request, trace_says_what_is_wrong_with_a_filter) {
  EXPECT_THAT(error_of(R"({"command":"trace","action":"off","drops":true})"),
              HasSubstr("\"drops\" does not apply to this command"));
  EXPECT_THAT(error_of(R"({"command":"trace","action":"dump","drops":1})"),
              HasSubstr("\"drops\" must be true or false"));
  EXPECT_THAT(error_of(R"({"command":"trace","action":"dump","from":[-1]})"),
              HasSubstr("\"from\" must be a list of at most 256 integers"));
  EXPECT_THAT(error_of(R"({"command":"trace","action":"dump","from":7})"), HasSubstr("\"from\""));
}

TEST(parse_request, capture_by_kind_vni_cookie_and_drops) {
  const auto some = std::get<CaptureRequest>(parse_request(
      R"({"command":"capture","kind":"wide","vni":7,"cookie":4294967295,"drops":true})"));
  EXPECT_EQ(some.selection.kind, wire::FrameKind::wide);
  EXPECT_EQ(some.selection.vni, Vni{7});
  EXPECT_EQ(some.selection.cookie, Cookie{0xFFFFFFFF});
  EXPECT_TRUE(some.selection.drops);
  EXPECT_THAT(error_of(R"({"command":"capture","kind":"tcp"})"),
              HasSubstr("known are reduction, wide, rdma, hello, lldp, other"));
  EXPECT_THAT(error_of(R"({"command":"capture","vni":65536})"), HasSubstr("0 to 65535"));
  EXPECT_THAT(error_of(R"({"command":"capture","cookie":4294967296})"),
              HasSubstr("0 to 4294967295"));
}

TEST(parse_request, capture_with_and_without_filter) {
  const auto all = std::get<CaptureRequest>(parse_request(R"({"command":"capture"})"));
  EXPECT_EQ(all.selection.switch_name, "");
  EXPECT_FALSE(all.selection.tree || all.selection.received || all.count);

  const auto some = std::get<CaptureRequest>(
      parse_request(R"({"command":"capture","switch":"s","port":"p","tree":2748,)"
                    R"("direction":"sent","count":10})"));
  EXPECT_EQ(some.selection.switch_name, "s");
  EXPECT_EQ(some.selection.port, "p");
  EXPECT_EQ(some.selection.tree, TreeNumber{0xABC});
  EXPECT_EQ(some.selection.received, false);
  EXPECT_EQ(some.count, 10U);
}

TEST(parse_request, explain_takes_hex) {
  const auto r = std::get<ExplainRequest>(
      parse_request(R"({"command":"explain","switch":"s","port":"p","frame":"02 fe"})"));
  EXPECT_EQ(r.frame, (std::vector<std::byte>{std::byte{0x02}, std::byte{0xFE}}));
}

TEST(parse_request, version_and_reload) {
  EXPECT_TRUE(std::holds_alternative<VersionRequest>(parse_request(R"({"command":"version"})")));
  EXPECT_TRUE(std::holds_alternative<ReloadRequest>(parse_request(R"({"command":"reload"})")));
}

TEST(parse_request, refuses_what_it_does_not_understand) {
  EXPECT_THAT(error_of("show ports"), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of(""), HasSubstr("is not JSON"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("\"command\" is missing"));
  EXPECT_THAT(error_of(R"({"command":7})"), HasSubstr("\"command\" must be text"));
  EXPECT_THAT(error_of(R"({"command":"dance"})"),
              HasSubstr("known are show, trace, capture, explain, impair, version, reload"));
  EXPECT_THAT(error_of(R"({"command":"show"})"), HasSubstr("\"what\" is missing"));
  EXPECT_THAT(error_of(R"({"command":"show","what":"hosts"})"),
              HasSubstr("known are ports, queues, trees, engines, counters, workers, manager, "
                        "neighbours"));
  EXPECT_THAT(error_of(R"({"command":"show","what":"ports","port":"x"})"),
              HasSubstr("\"port\" does not apply to this command"));
  EXPECT_THAT(error_of(R"({"command":"capture","port":"x"})"),
              HasSubstr("\"port\" needs \"switch\""));
  EXPECT_THAT(error_of(R"({"command":"capture","tree":8192})"), HasSubstr("from 0 to 8191"));
  EXPECT_THAT(error_of(R"({"command":"capture","tree":-1})"), HasSubstr("from 0 to 8191"));
  EXPECT_THAT(error_of(R"({"command":"capture","tree":"1"})"), HasSubstr("must be an integer"));
  EXPECT_THAT(error_of(R"({"command":"capture","direction":"in"})"),
              HasSubstr("known are received, sent"));
  EXPECT_THAT(error_of(R"({"command":"explain","switch":"s","port":"p","frame":"0g"})"),
              HasSubstr("not a frame in hex"));
  EXPECT_THAT(error_of(R"({"command":"explain","switch":"s","port":"p"})"),
              HasSubstr("\"frame\" is missing"));
}

TEST(parse_request, refuses_a_frame_longer_than_any_port_takes) {
  const std::string hex(2 * (max_explained_bytes + 1), '0');
  EXPECT_THAT(error_of(R"({"command":"explain","switch":"s","port":"p","frame":")" + hex + "\"}"),
              HasSubstr("at most 9216"));
}

boost::json::object answered(const std::string& line, FakeInspector& inspector) {
  const std::string text = answer(parse_request(line), inspector);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
  return boost::json::parse(text).as_object();
}

TEST(answer, success_and_failure_are_distinguished) {
  FakeInspector inspector;
  const auto good = answered(R"({"command":"show","what":"ports"})", inspector);
  EXPECT_TRUE(good.at("ok").as_bool());
  EXPECT_EQ(good.at("result").as_array().size(), 1U);
  const auto bad = answered(R"({"command":"show","what":"ports","switch":"x"})", inspector);
  EXPECT_FALSE(bad.at("ok").as_bool());
  EXPECT_EQ(bad.at("error").as_string(), "no switch \"x\"; known are leaf0");
}

TEST(answer, trace_is_switched_and_dumped) {
  FakeInspector inspector;
  EXPECT_FALSE(answered(R"({"command":"trace","action":"off"})", inspector)
                   .at("result")
                   .at("tracing")
                   .as_bool());
  EXPECT_EQ(inspector.tracing_, core::Tracing::off);
  const auto on = answered(R"({"command":"trace","action":"on"})", inspector);
  EXPECT_EQ(on.at("result"), (boost::json::object{{"tracing", true}, {"all", false}}));
  EXPECT_EQ(inspector.tracing_, core::Tracing::notable);
  const auto all = answered(R"({"command":"trace","action":"all"})", inspector);
  EXPECT_EQ(all.at("result"), (boost::json::object{{"tracing", true}, {"all", true}}));
  EXPECT_EQ(inspector.tracing_, core::Tracing::everything);
  EXPECT_EQ(
      answered(R"({"command":"trace","action":"dump"})", inspector).at("result").as_array().size(),
      1U);
}

/// Two workers whose rings hold the test's events.
class TracingInspector : public FakeInspector {
public:
  std::vector<TraceReport> trace() override { return events; }
  void add(std::uint32_t worker, std::uint64_t number, std::uint64_t oldest, const char* port) {
    TraceReport t = FakeInspector::trace().front();
    t.worker = worker;
    t.number = number;
    t.oldest = oldest;
    t.port = port;
    events.push_back(t);
  }
  std::vector<TraceReport> events;
};

TEST(answer, trace_from_the_end_on_has_what_came_since_of_each_worker) {
  TracingInspector inspector;
  inspector.add(0, 1, 0, "a");
  const auto first = answered(R"({"command":"trace","action":"dump","from":"end"})", inspector)
                         .at("result")
                         .as_object();
  EXPECT_EQ(first.at("events").as_array().size(), 0U);
  EXPECT_EQ(first.at("next"), (boost::json::array{2}));
  inspector.add(1, 1, 0, "b"); // the first of a worker that had done nothing
  inspector.add(0, 3, 0, "c");
  const auto then = answered(R"({"command":"trace","action":"dump","from":[2]})", inspector)
                        .at("result")
                        .as_object();
  ASSERT_EQ(then.at("events").as_array().size(), 2U);
  EXPECT_EQ(then.at("events").at(0).at("port"), "b");
  EXPECT_EQ(then.at("events").at(1).at("port"), "c");
  EXPECT_EQ(then.at("next"), (boost::json::array{4, 2}));
  EXPECT_EQ(then.at("lost"), 0);
}

TEST(answer, trace_says_how_many_were_overwritten_before_they_were_asked_for) {
  TracingInspector inspector;
  inspector.add(0, 5001, 5000, "a");
  const auto answer = answered(R"({"command":"trace","action":"dump","from":[4000]})", inspector)
                          .at("result")
                          .as_object();
  EXPECT_EQ(answer.at("lost"), 1001);
  EXPECT_EQ(answer.at("events").as_array().size(), 1U);
  EXPECT_EQ(answered(R"({"command":"trace","action":"dump","from":[5000]})", inspector)
                .at("result")
                .at("lost"),
            0)
      << "5000 is the mark of the burst";
}

TEST(answer, trace_is_narrowed_and_still_knows_where_it_ends) {
  TracingInspector inspector;
  inspector.add(0, 1, 0, "a");
  inspector.add(0, 2, 0, "b");
  const auto answer =
      answered(R"({"command":"trace","action":"dump","from":[0],"port":"a"})", inspector)
          .at("result")
          .as_object();
  ASSERT_EQ(answer.at("events").as_array().size(), 1U);
  EXPECT_EQ(answer.at("next"), (boost::json::array{3}));
  inspector.events[0].action = core::Action::absorb;
  EXPECT_EQ(answered(R"({"command":"trace","action":"dump","drops":true})", inspector)
                .at("result")
                .as_array()
                .size(),
            1U);
}

TEST(answer, reload_says_what_was_applied_and_what_was_not) {
  FakeInspector inspector;
  const auto result = answered(R"({"command":"reload"})", inspector).at("result").as_object();
  EXPECT_EQ(inspector.reloads, 1);
  EXPECT_EQ(result.at("applied").as_array().at(0).as_string(), "leaf0: trees 1 added");
  EXPECT_EQ(result.at("ignored").as_array().at(0).as_string(), "process: workers, 1 -> 2");
}

} // namespace
} // namespace tributary::management
