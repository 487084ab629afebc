// Clients that send wrong requests, too slowly, too much, or all at the same time. All others are
// served meanwhile.
#include "tests/unit/controlplane/rest/server_fixture.hpp"

#include <gmock/gmock.h>

#include <sys/resource.h>

namespace tributary::rest {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

class Requests : public ServerTest {};

TEST_F(Requests, that_are_not_http_are_400_and_the_connection_ends) {
  start();
  for (const char* text :
       {"nonsense\r\n\r\n", "GET /healthz\r\n\r\n", "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET relative HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%0a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    RawClient client(tcp_address());
    client.send(text);
    client.finish_sending();
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 400) << text;
    EXPECT_FALSE(message_of(answer).empty());
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(Requests, in_a_transfer_coding_that_is_not_known_are_501_and_their_body_no_request) {
  start();
  for (const char* coding :
       {"gzip", "identity", "gzip, chunked", "chunked, gzip", "xchunked", "\"chunked\"", ""}) {
    RawClient client(tcp_address());
    client.send(std::string("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\n"
                            "Content-Type: application/json\r\nTransfer-Encoding: ") +
                coding +
                "\r\n\r\n"
                "DELETE /fabric/collectives/jobs/mine HTTP/1.1\r\nHost: a\r\n\r\n");
    client.finish_sending();
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 501) << coding;
    EXPECT_THAT(message_of(answer), HasSubstr("chunked")) << coding;
    EXPECT_EQ(answer.fields.at("connection"), "close") << coding;
    EXPECT_TRUE(client.at_end()) << "the body was served as a request: " << coding;
  }
  EXPECT_EQ(last_call(), "");
}

TEST_F(Requests, with_a_length_and_a_transfer_coding_are_refused_in_either_order) {
  start();
  for (const char* fields :
       {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: gzip\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: gzip\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n", "Content-Length: 4, 4\r\n"}) {
    RawClient client(tcp_address());
    client.send(std::string("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\n"
                            "Content-Type: application/json\r\n") +
                fields + "\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    client.finish_sending();
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 400) << fields;
    EXPECT_TRUE(client.at_end()) << fields;
  }
  RawClient old(tcp_address());
  old.send("POST /api/v1/groups HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"
           "Connection: keep-alive\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(old.read_answer().status, 400);
  EXPECT_TRUE(old.at_end()) << "HTTP/1.0 has no transfer codings";
}

TEST_F(Requests, of_http_1_0_end_the_connection) {
  start();
  RawClient client(tcp_address());
  client.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_TRUE(client.at_end());
}

TEST_F(Requests, with_a_body_that_is_wrong_are_400_which_says_where) {
  start();
  struct Case {
    const char* path;
    const char* body;
    const char* message;
  };
  for (const Case& c : {
           Case{"/api/v1/groups", "{\n \"name\": demo}", "line 2, column"},
           Case{"/api/v1/groups", "[]", "not a JSON object but a list"},
           Case{"/api/v1/groups", "   ", "the body is empty"},
           Case{"/api/v1/groups", R"({"name":"a","size":1,"name":"b"})", "\"name\" twice"},
           Case{"/api/v1/groups", R"({"name":"a","size":1,"SIZE":1})", "\"size\" is given twice"},
           Case{"/api/v1/groups", R"({"name":"a","size":"16"})", "not \"16\""},
           Case{"/api/v1/groups", R"({"name":"a"})", "\"size\" is missing"},
           Case{"/api/v1/groups/g/members?wait=x", R"({"rank":0,"size":1,"mac":"0:0:1"})",
                "wait, in milliseconds,"},
           Case{"/fabric/collectives/multicasts",
                R"({"macs":["0:0:1",7],"vni":1,"jobID":"j","jobStepID":"0"})", "\"macs\"[1]"},
       }) {
    RawClient client(tcp_address());
    client.send(request_text("POST", c.path, c.body));
    const RawAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(message_of(answer), HasSubstr(c.message));
    client.send(request_text("GET", "/healthz"));
    EXPECT_EQ(client.read_answer().status, 200) << "the connection stays open after such a mistake";
  }
  EXPECT_TRUE(on_loop([this] { return service.calls.empty(); }));
}

TEST_F(Requests, deeply_nested_are_400) {
  start();
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_THAT(message_of(ask("POST", "/api/v1/groups", deep)), HasSubstr("nested deeper than"));
}

TEST_F(Requests, with_a_body_of_another_type_are_415) {
  start();
  for (const char* type : {"Content-Type: text/plain\r\n", "",
                           "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"}) {
    RawClient client(tcp_address());
    client.send(fmt::format("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\n{}Content-Length: 2\r\n"
                            "\r\n{{}}",
                            type));
    EXPECT_EQ(client.read_answer().status, 415) << type;
  }
  RawClient client(tcp_address());
  client.send("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Length: 21\r\n"
              "Content-Type: Application/JSON ; charset=utf-8\r\n\r\n{\"name\":\"a\",\"size\":1}");
  EXPECT_EQ(client.read_answer().status, 200);
}

TEST_F(Requests, in_chunks_are_put_together) {
  start();
  RawClient client(tcp_address());
  client.send(
      "POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
      "Content-Type: application/json\r\n\r\n"
      "8;note=x\r\n{\"name\":\r\nc\r\n\"a\",\"size\":9\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n" +
      request_text("GET", "/healthz"));
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(last_call(), "create_group 'a' job '' size 9 trees 1 root -");
  EXPECT_EQ(client.read_answer().body, "{\"status\":\"ok\"}\n");
}

TEST_F(Requests, one_behind_the_other_are_answered_in_their_order) {
  start();
  on_loop([this] { service.hold = true; });
  RawClient client(tcp_address());
  std::string many;
  constexpr int count = 200;
  for (int i = 0; i < count; ++i) {
    many += request_text("GET", fmt::format("/api/v1/hosts/{}", i));
  }
  client.send(many);
  for (int i = 0; i < count; ++i) {
    const auto expected = static_cast<std::size_t>(i) + 1;
    ASSERT_TRUE(eventually([&] { return service.held.size() == expected; }));
    on_loop([&] { service.held.back()(api::error_answer(404, service.calls.back())); });
    EXPECT_EQ(message_of(client.read_answer()), fmt::format("view 2 {}", i));
  }
}

TEST_F(Requests, refused_before_their_body_has_come_do_not_become_two) {
  start();
  RawClient client(tcp_address());
  const std::string inner = request_text("DELETE", "/fabric/collectives/multicasts/1");
  client.send(
      fmt::format("POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", inner.size()));
  EXPECT_EQ(client.read_answer().status, 404);
  client.send(inner);
  EXPECT_TRUE(client.at_end());
  EXPECT_TRUE(on_loop([this] { return service.calls.empty(); }));
}

TEST_F(Requests, that_expect_100_are_answered_100_or_refused_with_a_reason) {
  start();
  const std::string body = R"({"name":"a","size":1})";
  const auto header = [&](const char* path, const char* expect) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                       "Content-Length: {}\r\nExpect: {}\r\n\r\n",
                       path, body.size(), expect);
  };
  RawClient client(tcp_address());
  client.send(header("/api/v1/groups", "100-continue"));
  EXPECT_EQ(client.read_answer().status, 100);
  client.send(body);
  EXPECT_EQ(client.read_answer().status, 200);
  client.send(header("/nothing", "100-continue"));
  EXPECT_EQ(client.read_answer().status, 404);
  RawClient other(tcp_address());
  other.send(header("/api/v1/groups", "a miracle"));
  EXPECT_EQ(other.read_answer().status, 417);
}

TEST_F(Requests, too_long_are_413_and_431) {
  start();
  RawClient refused(tcp_address());
  refused.send("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
               "Content-Length: 1048577\r\n\r\n");
  EXPECT_EQ(refused.read_answer().status, 413);

  RawClient sent(tcp_address());
  sent.send(request_text("POST", "/api/v1/groups", std::string(2'000'000, ' ')));
  EXPECT_EQ(sent.read_answer().status, 413) << "the answer must survive what is still being sent";

  RawClient chunked(tcp_address());
  chunked.send("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
               "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 20; ++i) {
    chunked.send("10000\r\n" + std::string(0x10000, ' ') + "\r\n");
  }
  EXPECT_EQ(chunked.read_answer().status, 413);

  EXPECT_EQ(ask("GET", "/healthz", "", "X: " + std::string(20'000, 'x') + "\r\n").status, 431);
  EXPECT_EQ(ask("GET", "/" + std::string(20'000, 'x')).status, 431);
  const std::string largest(1024 * 1024 - 21, ' ');
  EXPECT_EQ(ask("POST", "/api/v1/groups", R"({"name":"a","size":1})" + largest).status, 200);
}

TEST_F(Requests, whose_chunks_have_endless_extensions_are_refused) {
  start();
  RawClient client(tcp_address());
  client.send("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
              "Transfer-Encoding: chunked\r\n\r\n1;" +
              std::string(200'000, 'x'));
  EXPECT_EQ(client.read_answer().status, 431);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(Requests, too_large_together_are_503) {
  Limits limits;
  limits.buffered_bytes = 100'000;
  start(limits);
  const std::string part = "POST /api/v1/groups HTTP/1.1\r\nHost: a\r\n"
                           "Content-Type: application/json\r\nContent-Length: 90000\r\n\r\n" +
                           std::string(60'000, ' ');
  RawClient first(tcp_address());
  RawClient second(tcp_address());
  first.send(part);
  second.send(part);
  // The second one is refused; the other one continues.
  first.send(std::string(30'000 - 21, ' ') + R"({"name":"a","size":1})");
  second.send(std::string(30'000 - 21, ' ') + R"({"name":"a","size":1})");
  const RawAnswer a = first.read_answer();
  const RawAnswer b = second.read_answer();
  EXPECT_EQ(std::min(a.status, b.status), 200);
  EXPECT_EQ(std::max(a.status, b.status), 503);
  EXPECT_EQ((a.status == 503 ? a : b).fields.at("retry-after"), "1");
  EXPECT_EQ(
      ask("POST", "/api/v1/groups", R"({"name":"a","size":1})" + std::string(80'000, ' ')).status,
      200)
      << "what was counted is given back";
}

class Slow : public ServerTest {
protected:
  static Limits short_limits() {
    Limits limits;
    limits.header_time = milliseconds(400);
    limits.body_time = milliseconds(400);
    limits.idle_time = milliseconds(400);
    limits.write_time = milliseconds(400);
    return limits;
  }
};

TEST_F(Slow, a_client_that_says_nothing_is_408) {
  start(short_limits());
  RawClient client(tcp_address());
  const RawAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_THAT(message_of(answer), HasSubstr("header did not arrive within 0.4 s"));
  EXPECT_TRUE(client.at_end());
}

TEST_F(Slow, a_header_byte_by_byte_is_408_however_steadily_it_comes) {
  start(short_limits());
  RawClient client(tcp_address());
  const std::string text = request_text("GET", "/healthz", "", std::string(4000, 'x') + ": y\r\n");
  std::size_t sent = 0;
  for (; sent < text.size() && client.send(text.substr(sent, 1)); ++sent) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_LT(sent, text.size());
  EXPECT_EQ(client.read_answer().status, 408);
}

TEST_F(Slow, a_body_that_stops_is_408) {
  start(short_limits());
  RawClient client(tcp_address());
  client.send("POST /api/v1/groups HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
              "Content-Length: 100\r\n\r\n{");
  const RawAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_THAT(message_of(answer), HasSubstr("body"));
}

TEST_F(Slow, a_connection_that_rests_is_closed_without_a_word) {
  start(short_limits());
  RawClient client(tcp_address());
  client.send(request_text("GET", "/healthz"));
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_TRUE(client.at_end());
}

TEST_F(Slow, a_second_request_that_stops_half_way_is_408) {
  start(short_limits());
  RawClient client(tcp_address());
  client.send(request_text("GET", "/healthz") + "GET /hea");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(client.read_answer().status, 408);
}

TEST_F(Slow, a_client_that_reads_nothing_is_closed) {
  Limits limits = short_limits();
  limits.stop_time = milliseconds(50);
  start(limits);
  on_loop([this] { service.answer.body = boost::json::string(6'000'000, 'x'); });
  RawClient client(tcp_address());
  client.receive_slowly(4096);
  client.send(request_text("GET", "/api/v1/hosts/a"));
  ASSERT_TRUE(connections_become(1));
  ASSERT_TRUE(eventually([this] { return !service.calls.empty(); }));
  // 6 MB may take 91 s more, so the server's stop ends it.
  on_loop([this] { server_->stop(); });
  EXPECT_TRUE(connections_become(0));
}

TEST_F(Slow, a_client_that_asks_and_asks_and_never_reads_is_closed) {
  std::string many;
  for (int i = 0; i < 20'000; ++i) {
    many += request_text("GET", "/openapi.json");
  }
  start(short_limits());
  RawClient client(unix_address()); // holds few answers when they are not read
  EXPECT_FALSE(client.send(many)) << "the server takes requests without end";
  EXPECT_TRUE(connections_become(0));
  const std::string got = client.read_all();
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_LT(got.size(), 4'000'000U);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(Slow, others_do_not_notice) {
  start();
  std::vector<RawClient> silent;
  for (int i = 0; i < 100; ++i) {
    silent.emplace_back(tcp_address());
    silent.back().send("GET /healthz HTT");
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ask("GET", "/healthz").status, 200);
  }
}

class Many : public ServerTest {};

TEST_F(Many, connections_of_one_address_make_room_for_its_next) {
  Limits limits;
  limits.connections = 3;
  start(limits);
  std::vector<RawClient> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back(tcp_address());
    clients.back().send(request_text("GET", "/healthz"));
    EXPECT_EQ(clients.back().read_answer().status, 200);
  }
  EXPECT_TRUE(clients.front().at_end()) << "the one that has rested for longest";
  RawClient administrator(unix_address());
  administrator.send(request_text("GET", "/metrics"));
  EXPECT_THAT(administrator.read_answer().body,
              HasSubstr("tributary_http_displaced_connections_total 1\n"));
  for (int i = 1; i < 4; ++i) {
    clients[static_cast<std::size_t>(i)].send(request_text("GET", "/healthz"));
    EXPECT_EQ(clients[static_cast<std::size_t>(i)].read_answer().status, 200);
  }
}

TEST_F(Many, the_administrator_at_the_socket_has_a_connection_when_all_others_are_taken) {
  Limits limits;
  limits.connections = 2;
  start(limits);
  on_loop([this] { service.hold = true; });
  std::vector<RawClient> jobs;
  for (const char* job : {"a", "b"}) {
    jobs.emplace_back(tcp_address());
    jobs.back().send(request_text("GET", "/api/v1/hosts", "",
                                  fmt::format("Authorization: Bearer of-job-{}\r\n", job)));
  }
  ASSERT_TRUE(eventually([this] { return service.held.size() == 2; }));
  EXPECT_EQ(ask("GET", "/healthz").status, 429);
  for (int i = 0; i < 5; ++i) {
    RawClient administrator(unix_address());
    administrator.send(request_text("GET", "/healthz"));
    EXPECT_EQ(administrator.read_answer().status, 200);
  }
}

TEST_F(Many, two_addresses_do_not_shut_out_a_third) {
  Limits limits;
  limits.connections = 8;
  start(limits);
  std::vector<RawClient> idle;
  for (int i = 0; i < 4; ++i) {
    idle.emplace_back(tcp_address(), "127.0.0.2");
    idle.emplace_back(tcp_address(), "127.0.0.3");
  }
  ASSERT_TRUE(connections_become(8));
  RawClient third(tcp_address(), "127.0.0.4");
  third.send(request_text("GET", "/healthz"));
  EXPECT_EQ(third.read_answer().status, 200);
}

TEST_F(Many, each_of_those_refused_receives_429) {
  Limits limits;
  limits.connections = 4;
  start(limits);
  std::vector<RawClient> jobs;
  for (int i = 0; i < 4; ++i) { // each has one, and is authenticated: none has to be closed
    jobs.emplace_back(tcp_address());
    jobs.back().send(request_text("GET", "/api/v1/hosts", "",
                                  fmt::format("Authorization: Bearer of-job-{}\r\n", i)));
    ASSERT_EQ(jobs.back().read_answer().status, 200);
  }
  std::vector<RawClient> refused;
  for (int i = 0; i < 200; ++i) {
    refused.emplace_back(tcp_address());
  }
  int answered = 0;
  for (RawClient& client : refused) {
    answered += client.read_answer().status == 429 ? 1 : 0;
  }
  EXPECT_EQ(answered, 200);
}

TEST_F(Many, thousands_are_served_at_once) {
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  // Both ends are in this process; some descriptors are left for everything else.
  const std::size_t count =
      std::min<std::size_t>(3000, (static_cast<std::size_t>(descriptors.rlim_cur) - 700) / 2);
  Limits limits;
  limits.header_time = limits.idle_time = limits.stop_time = std::chrono::minutes(5);
  start(limits);
  std::vector<RawClient> clients;
  clients.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back(tcp_address());
  }
  ASSERT_TRUE(connections_become(count));
  for (std::size_t i = 0; i < count; ++i) {
    clients[i].send(request_text("GET", fmt::format("/api/v1/hosts/{}", i)));
  }
  std::size_t answered = 0;
  for (RawClient& client : clients) {
    answered += client.read_answer().status == 200 ? 1 : 0;
  }
  EXPECT_EQ(answered, count);
  EXPECT_EQ(on_loop([this] { return service.calls.size(); }), count);
  on_loop([this] { server_->stop(); });
  EXPECT_TRUE(connections_become(0));
  RecordProperty("connections", static_cast<int>(count));
}

} // namespace
} // namespace tributary::rest
