#include "tests/support/allocated_bytes.hpp"
#include "tests/unit/controlplane/rest/server_fixture.hpp"

#include <gmock/gmock.h>

namespace tributary::rest {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

boost::json::object something(std::string text = "something") {
  return {{"time", 1.5}, {"text", std::move(text)}};
}

class Events : public ServerTest {
protected:
  /// A reader of the stream, after its greeting.
  RawClient reader(std::string_view more_fields = {}) {
    RawClient client(tcp_address());
    client.send(request_text("GET", "/api/v1/events", "", more_fields));
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.fields.at("content-type"), "text/event-stream");
    EXPECT_EQ(client.read_until("\n\n"), "retry: 1000\n\n");
    return client;
  }
  void keep(std::uint64_t count) {
    on_loop([&] {
      for (std::uint64_t i = 1; i <= count; ++i) {
        service.publish("group", something());
      }
    });
  }
};

TEST_F(Events, come_as_they_occur) {
  start();
  RawClient client = reader();
  on_loop([this] { service.publish("group", something("line\nbreak")); });
  EXPECT_EQ(client.read_until("\n\n"),
            "id: 1\nevent: group\ndata: {\"time\":1.5E0,\"text\":\"line\\nbreak\"}\n\n");
  on_loop([this] { service.publish("group", something()); });
  EXPECT_THAT(client.read_until("\n\n"), StartsWith("id: 2\n"));
}

TEST_F(Events, that_are_kept_come_first_and_go_on_behind_the_last_one_seen) {
  start();
  keep(3);
  RawClient all = reader();
  EXPECT_THAT(all.read_until("\n\n"), StartsWith("id: 1\n"));
  RawClient resumed = reader("Last-Event-ID: 2\r\n");
  EXPECT_THAT(resumed.read_until("\n\n"), StartsWith("id: 3\n"));
  on_loop([this] { service.publish("group", something()); });
  EXPECT_THAT(resumed.read_until("\n\n"), StartsWith("id: 4\n"));
}

TEST_F(Events, of_a_job_are_asked_for_by_its_name_and_codes) {
  start();
  keep(1);
  const auto ask = [this](const std::string& query) {
    RawClient client(tcp_address());
    client.send(request_text("GET", "/api/v1/events?follow=false" + query));
    return client.read_answer();
  };
  EXPECT_EQ(ask("&job=j1&environment=link_down,congestion").status, 200);
  on_loop([this] {
    ASSERT_TRUE(service.followed);
    EXPECT_EQ(service.followed->job, "j1");
    EXPECT_EQ(service.followed->environment, (std::vector<std::string>{"link_down", "congestion"}));
  });
  EXPECT_EQ(ask("&job=refused").status, 403);
  const RawAnswer unknown = ask("&job=j1&environment=link_down,tree_repaired");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("tree_repaired")) << "a group's is its job's alone";
  EXPECT_EQ(ask("&environment=link_down").status, 400) << "of no job";
}

TEST_F(Events, without_following_end_with_what_is_kept) {
  start();
  keep(2);
  const RawAnswer answer = ask("GET", "/api/v1/events?follow=false", "", "Last-Event-ID: 1\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.fields.at("content-type"), "application/json");
  EXPECT_EQ(answer.body, "{\"events\":[{\"number\":2,\"event\":\"group\",\"time\":1.5E0,"
                         "\"text\":\"something\"}],\"last\":2}\n");
  EXPECT_TRUE(on_loop([this] { return service.follower_count() == 0; }));
}

TEST_F(Events, need_a_number_to_go_on_from) {
  start();
  EXPECT_EQ(ask("GET", "/api/v1/events", "", "Last-Event-ID: x\r\n").status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/events", "", "Last-Event-ID: -1\r\n").status, 400);
  EXPECT_THAT(message_of(ask("GET", "/api/v1/events", "", "Last-Event-ID: \xff\r\n")),
              HasSubstr("not text"));
  EXPECT_EQ(ask("GET", "/api/v1/events?follow=maybe").status, 400);
}

TEST_F(Events, are_refused_to_whom_the_service_refuses_them) {
  start();
  on_loop([this] { service.events_refused = api::error_answer(401, "a token is needed"); });
  const RawAnswer answer = ask("GET", "/api/v1/events", "", "Authorization: Bearer x\r\n");
  EXPECT_EQ(answer.status, 401);
  EXPECT_TRUE(answer.fields.contains("www-authenticate"));
  EXPECT_EQ(on_loop([this] { return service.caller->token; }), "x");
}

TEST_F(Events, a_reader_that_goes_is_no_longer_notified) {
  start();
  {
    RawClient client = reader();
    EXPECT_EQ(on_loop([this] { return service.follower_count(); }), 1U);
  }
  EXPECT_TRUE(eventually([this] { return service.follower_count() == 0; }));
  EXPECT_TRUE(connections_become(0));
}

TEST_F(Events, a_quiet_stream_shows_signs_of_life) {
  Limits limits;
  limits.event_pause = milliseconds(20);
  start(limits);
  RawClient client = reader();
  EXPECT_EQ(client.read_until("\n\n"), ":\n\n");
  EXPECT_EQ(client.read_until("\n\n"), ":\n\n");
}

TEST_F(Events, a_reader_too_far_behind_is_cut_off_and_comes_again) {
  Limits limits;
  limits.write_time = milliseconds(200);
  start(limits);
  RawClient slow(unix_address());
  slow.send(request_text("GET", "/api/v1/events"));
  ASSERT_TRUE(eventually([this] { return service.follower_count() == 1; }));
  const std::string long_text(100'000, 'x');
  std::uint64_t number = 0;
  ASSERT_TRUE(eventually([&] {
    ++number;
    service.publish("group", something(long_text));
    return service.follower_count() == 0;
  }));
  const std::string seen = slow.read_all();
  const std::size_t at = seen.rfind("\nid: ");
  ASSERT_NE(at, std::string::npos) << "nothing came at all";
  // The last event may be truncated: the previous one was complete.
  const std::uint64_t last_whole = std::stoull(seen.substr(at + 5)) - 1;
  EXPECT_LT(last_whole, number);
  RawClient again = reader(fmt::format("Last-Event-ID: {}\r\n", last_whole));
  EXPECT_THAT(again.read_until("\n"), StartsWith(fmt::format("id: {}\n", last_whole + 1)));
  EXPECT_THAT(ask("GET", "/metrics").body,
              HasSubstr("tributary_http_slow_event_readers_total 1\n"));
}

TEST_F(Events, a_reader_behind_what_is_kept_is_cut_off) {
  service.log.emplace(0, 10);
  Limits limits;
  limits.write_time = std::chrono::minutes(1);
  start(limits);
  RawClient slow(unix_address());
  slow.send(request_text("GET", "/api/v1/events"));
  ASSERT_TRUE(eventually([this] { return service.follower_count() == 1; }));
  const std::string long_text(100'000, 'x');
  for (int i = 0; i < 100; ++i) {
    on_loop([&] { service.publish("group", something(long_text)); });
  }
  EXPECT_LT(slow.read_all().size(), 5'000'000U) << "it continues behind a gap";
  EXPECT_TRUE(connections_become(0));
}

TEST_F(Events, a_quiet_stream_reports_how_far_it_has_read) {
  service.log.emplace(1);
  Limits limits;
  limits.event_pause = milliseconds(20);
  start(limits);
  on_loop([this] { service.publish("group", something()); });
  RawClient client = reader("Last-Event-ID: 4294967297\r\n");
  EXPECT_EQ(client.read_until("\n\n"), ":\n\n");
  on_loop([this] { service.only = {api::EventInterest::Of::job, "j1", {}}; });
  RawClient of_job = reader("Last-Event-ID: 4294967297\r\n");
  on_loop([this] { service.publish("group", something()); });
  EXPECT_EQ(client.read_until("\n\n").substr(0, 14), "id: 4294967298");
  std::string seen;
  while ((seen = of_job.read_until("\n\n")) == ":\n\n") {
  }
  EXPECT_EQ(seen, "id: 4294967298\n\n") << "nothing is shown, and nothing is missed by that";
}

TEST_F(Events, of_a_job_that_ends_are_over) {
  Limits limits;
  limits.event_pause = milliseconds(20);
  start(limits);
  RawClient client = reader();
  on_loop([this] { service.events_refused = api::error_answer(401, "the token has expired"); });
  client.read_all();
  EXPECT_TRUE(connections_become(0));
}

TEST_F(Events, too_many_readers_are_429) {
  Limits limits;
  limits.event_streams_per_caller = 1;
  start(limits);
  {
    const RawClient client = reader();
    EXPECT_EQ(ask("GET", "/api/v1/events").status, 429);
    EXPECT_EQ(ask("GET", "/api/v1/events?follow=false").status, 200);
    EXPECT_EQ(ask("HEAD", "/api/v1/events").status, 200);
  }
  ASSERT_TRUE(connections_become(0));
  const RawClient next = reader();
}

TEST_F(Events, that_others_follow_take_none_from_a_job_or_the_administrator) {
  start();
  std::vector<RawClient> lookers;
  int followed = 0;
  for (int i = 0; i < 300; ++i) {
    lookers.emplace_back(tcp_address());
    lookers.back().send(request_text("GET", "/api/v1/events"));
    followed += lookers.back().read_answer().status == 200 ? 1 : 0;
  }
  EXPECT_LT(followed, 300) << "one address may have some and not all";
  RawClient job(tcp_address());
  job.send(request_text("GET", "/api/v1/events?job=j1", "", "Authorization: Bearer of-job-j1\r\n"));
  EXPECT_EQ(job.read_answer().status, 200);
  RawClient administrator(unix_address());
  administrator.send(request_text("GET", "/api/v1/events"));
  EXPECT_EQ(administrator.read_answer().status, 200);
}

TEST_F(Events, a_reader_that_stalls_costs_no_memory_by_the_event) {
  start();
  std::vector<RawClient> stalled;
  for (int i = 0; i < 20; ++i) {
    stalled.emplace_back(unix_address());
    stalled.back().send(request_text("GET", "/api/v1/events"));
  }
  ASSERT_TRUE(eventually([this] { return service.follower_count() == 20; }));
  const std::string long_text(10'000, 'x');
  const auto before = on_loop([] { return test::allocated_bytes(); });
  for (int burst = 0; burst < 100; ++burst) {
    on_loop([&] {
      for (int i = 0; i < 10; ++i) {
        service.publish("group", something(long_text));
      }
    });
  }
  const auto after = on_loop([] { return test::allocated_bytes(); });
  EXPECT_LT(after - before, 60'000'000U) << "10 MB of events, kept once, and as text";
}

TEST_F(Events, streams_end_when_the_server_stops) {
  start();
  RawClient client = reader();
  on_loop([this] { server_->stop(); });
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(connections_become(0));
  EXPECT_TRUE(on_loop([this] { return service.follower_count() == 0; }));
}

TEST_F(Events, streams_end_when_the_server_goes) {
  start();
  RawClient client = reader();
  shut_down();
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(service.follower_count() == 0);
}

TEST_F(Events, what_a_reader_sends_is_ignored) {
  start();
  RawClient client = reader();
  client.send(request_text("GET", "/healthz"));
  on_loop([this] { service.publish("group", something()); });
  EXPECT_THAT(client.read_until("\n\n"), StartsWith("id: 1\n"));
}

} // namespace
} // namespace tributary::rest
