// The contents of a scrape (dataplane/management/metrics.hpp), and the server of it over real
// sockets.
#include "dataplane/management/metrics.hpp"
#include "dataplane/management/metrics_server.hpp"
#include "fake_inspector.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/tcp_listener.hpp"
#include "lib/net/unix_address.hpp"
#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>

namespace tributary::management {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string fake_text() {
  FakeInspector inspector;
  return openmetrics(inspector.metrics());
}

TEST(metrics, have_ports_by_name_and_drops_by_reason) {
  const std::string text = fake_text();
  EXPECT_THAT(text, HasSubstr("\ntributary_switch_port_received_frames_total{switch=\"leaf0\","
                              "port=\"host0\"} 10\n"));
  EXPECT_THAT(text, HasSubstr("tributary_switch_port_dropped_frames_total{switch=\"leaf0\","
                              "port=\"host0\",reason=\"source_guard\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("reason=\"no_route\"} 0\n")) << "also what has not happened yet";
  EXPECT_THAT(text, HasSubstr("tributary_switch_port_up{switch=\"leaf0\",port=\"host0\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("tributary_switch_port_link_usable{switch=\"leaf0\",port=\"host0\"} 0"));
}

TEST(metrics, have_queues_engines_workers_and_the_manager) {
  const std::string text = fake_text();
  EXPECT_THAT(text,
              HasSubstr("queue_waiting_frames{switch=\"leaf0\",port=\"host0\",class=\"2\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("queue_paused_seconds_total{switch=\"leaf0\",port=\"host0\","
                              "class=\"2\"} 7.7e-05\n"));
  EXPECT_THAT(text, HasSubstr("engine_arms_total{switch=\"leaf0\",port=\"up\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("worker_busy_ratio{worker=\"1\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("tributary_switch_manager_connected{switch=\"leaf0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tributary_switch_build_info{version=\"0.1.0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tributary_switch_resident_memory_bytes 123456768\n"));
}

TEST(metrics, of_a_switch_without_a_manager_say_nothing_of_one) {
  FakeInspector inspector;
  MetricsReport report = inspector.metrics();
  report.managers[0].address.clear();
  EXPECT_THAT(openmetrics(report), Not(HasSubstr("manager_connected{")));
}

/// Rules of OpenMetrics that Prometheus refuses a whole scrape for.
TEST(metrics, are_openmetrics) {
  std::istringstream lines(fake_text());
  std::set<std::string> families;
  std::set<std::string> series;
  std::string family;
  std::string type;
  std::string last;
  for (std::string line; std::getline(lines, line); last = line) {
    std::istringstream words(line);
    std::string hash;
    std::string what;
    std::string name;
    words >> hash >> what >> name;
    if (hash == "#") {
      if (what == "TYPE") {
        EXPECT_TRUE(families.insert(name).second) << name << " comes twice";
        family = name;
        words >> type;
      } else if (what == "HELP") {
        EXPECT_EQ(name, family);
      }
      continue;
    }
    const std::string sample = line.substr(0, line.find_last_of(' '));
    EXPECT_TRUE(series.insert(sample).second) << sample << " comes twice";
    const std::string expected = family + (type == "counter" ? "_total"
                                           : type == "info"  ? "_info"
                                                             : "");
    EXPECT_EQ(sample.substr(0, sample.find('{')), expected);
  }
  EXPECT_EQ(last, "# EOF");
  EXPECT_GT(families.size(), 40U);
}

class metrics_server : public testing::Test {
protected:
  /// Sends a request to a server on a Unix socket; returns everything until it closes.
  std::string ask(const std::string& request) {
    MetricsServer server(context_, net::Address{.path = path_, .tcp = {}}, inspector_);
    std::string got;
    std::thread client([&] {
      const net::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
      const auto address = net::UnixAddress::of_file(path_);
      ASSERT_EQ(::connect(socket.get(), address->get(), address->size()), 0);
      got = talk(socket.get(), request);
      context_.stop();
    });
    context_.restart(); // after an earlier question
    context_.run();
    client.join();
    return got;
  }
  static std::string talk(int socket, const std::string& request) {
    // Only so that a broken server fails the test instead of hanging it.
    const timeval limit{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    std::string got;
    char buffer[65536];
    for (ssize_t n = 0; (n = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) {
      got.append(buffer, static_cast<std::size_t>(n));
    }
    return got;
  }

  FakeInspector inspector_;
  boost::asio::io_context context_;
  tributary::test::ScratchDirectory scratch_;
  std::string path_ = scratch_.file("metrics.sock");
};

TEST_F(metrics_server, answers_a_scrape_and_says_how_long_it_is) {
  const std::string got = ask("GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0"));
  const std::string body = got.substr(got.find("\r\n\r\n") + 4);
  EXPECT_THAT(got, HasSubstr("Content-Length: " + std::to_string(body.size()) + "\r\n"));
  EXPECT_EQ(body, fake_text());
}

TEST_F(metrics_server, answers_head_without_the_text) {
  const std::string got = ask("HEAD /metrics HTTP/1.0\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, EndsWith("\r\n\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Length: " + std::to_string(fake_text().size())));
}

TEST_F(metrics_server, refuses_what_it_does_not_have) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  const std::string post = ask("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(post, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(" /metrics HTTP/9\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  const std::string longest(MetricsServer::max_request_bytes, 'x');
  EXPECT_THAT(ask(longest), StartsWith("HTTP/1.1 431 "));
  EXPECT_EQ(inspector_.scrapes, 0) << "nothing was gathered for any of them";
}

TEST_F(metrics_server, on_tcp_says_where_it_is) {
  MetricsServer server(context_, net::parse_address("127.0.0.1:0", net::Purpose::listen),
                       inspector_);
  const std::string where = server.where();
  ASSERT_THAT(where, StartsWith("http://127.0.0.1:"));
  const auto port = static_cast<std::uint16_t>(std::stoi(where.substr(17)));
  EXPECT_THROW(
      MetricsServer(context_,
                    net::parse_address("127.0.0.1:" + std::to_string(port), net::Purpose::listen),
                    inspector_),
      net::ListenFailed);
  std::string got;
  std::thread client([&] {
    const net::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    got = talk(socket.get(), "GET /metrics HTTP/1.1\r\n\r\n");
    context_.stop();
  });
  context_.run();
  client.join();
  EXPECT_THAT(got, EndsWith("# EOF\n"));
}

TEST_F(metrics_server, closes_who_says_nothing_when_it_stops) {
  MetricsServer server(context_, net::Address{.path = path_, .tcp = {}}, inspector_);
  const net::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const auto address = net::UnixAddress::of_file(path_);
  ASSERT_EQ(::connect(socket.get(), address->get(), address->size()), 0);
  while (server.client_count() == 0) {
    context_.run_one();
  }
  server.stop();
  context_.run(); // ends, for no coroutine is left
  EXPECT_EQ(server.client_count(), 0U);
  char byte = 0;
  EXPECT_EQ(::recv(socket.get(), &byte, 1, 0), 0);
}

} // namespace
} // namespace tributary::management
