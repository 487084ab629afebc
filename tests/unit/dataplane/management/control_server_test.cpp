// The server over a real Unix socket, its event loop in a thread of its own; clients block.
#include "dataplane/management/control_server.hpp"
#include "fake_inspector.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "lib/service/socket_file.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <thread>

#include <sys/socket.h>

namespace tributary::management {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Client {
public:
  explicit Client(const std::string& path) : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    const auto address = net::UnixAddress::of_file(path);
    EXPECT_EQ(::connect(descriptor_.get(), address->get(), address->size()), 0);
    // Only so that a broken server fails the test instead of hanging it.
    const timeval limit{.tv_sec = 30, .tv_usec = 0};
    ::setsockopt(descriptor_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }

  void close() { descriptor_.close(); }
  void send(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const auto n =
          ::send(descriptor_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) {
        return;
      }
      sent += static_cast<std::size_t>(n);
    }
  }
  std::string line() const {
    std::string out;
    char c = 0;
    while (::recv(descriptor_.get(), &c, 1, 0) == 1) {
      out += c;
      if (c == '\n') {
        break;
      }
    }
    return out;
  }
  std::string bytes(std::size_t count) const {
    std::string out(count, '\0');
    const auto n = ::recv(descriptor_.get(), out.data(), count, MSG_WAITALL);
    out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return out;
  }
  std::string rest() const {
    std::string out;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(descriptor_.get(), buffer, sizeof buffer, 0)) > 0;) {
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }
  std::string ask(const std::string& request) const {
    send(request + "\n");
    return line();
  }

private:
  net::FileDescriptor descriptor_;
};

class control_server : public testing::Test {
protected:
  control_server()
      : file_(scratch_.file("switch.sock")),
        server_(context_, file_.release_descriptor(), inspector_),
        thread_([this] { context_.run(); }) {}
  ~control_server() override { stop(); }

  void stop() {
    if (thread_.joinable()) {
      in_loop([this] { server_.stop(); });
      work_.reset();
      thread_.join();
    }
  }
  /// Runs in the loop's thread, which owns all the state.
  template <typename F> void in_loop(F f) {
    std::promise<void> done;
    boost::asio::post(context_, [&] {
      f();
      done.set_value();
    });
    done.get_future().wait();
  }
  /// Waits until the loop's thread sees `condition`.
  template <typename F> void await(F condition) {
    bool met = false;
    EXPECT_TRUE(tributary::test::eventually([&] {
      in_loop([&] { met = condition(); });
      return met;
    }));
  }

  FakeInspector inspector_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(context_);
  tributary::test::ScratchDirectory scratch_;
  service::SocketFile file_;
  ControlServer server_;
  std::thread thread_;
};

TEST_F(control_server, answers_several_requests_on_one_connection) {
  const Client client(file_.path());
  EXPECT_THAT(client.ask(R"({"command":"version"})"), HasSubstr("\"ok\":true"));
  EXPECT_THAT(client.ask(R"({"command":"show","what":"trees"})"), HasSubstr("\"tree\":2748"));
}

TEST_F(control_server, a_bad_request_is_refused_and_the_connection_stays_open) {
  const Client client(file_.path());
  EXPECT_THAT(client.ask("nonsense"),
              StartsWith(R"({"ok":false,"error":"the request is not JSON)"));
  EXPECT_THAT(client.ask(R"({"command":"version"})"), HasSubstr("\"ok\":true"));
}

TEST_F(control_server, requests_may_arrive_together_and_in_pieces) {
  const Client client(file_.path());
  client.send("{\"command\":\"version\"}\n{\"command\":\"sh");
  EXPECT_THAT(client.line(), HasSubstr("tributary-switch"));
  client.send("ow\",\"what\":\"ports\"}\n");
  EXPECT_THAT(client.line(), HasSubstr("host0"));
}

TEST_F(control_server, too_long_a_request_is_refused_and_the_connection_closed) {
  const Client client(file_.path());
  client.send(std::string(max_request_bytes + 1, 'x'));
  EXPECT_THAT(client.line(), HasSubstr("too long"));
  EXPECT_EQ(client.rest(), "");
}

TEST_F(control_server, a_client_that_does_not_read_holds_up_no_other) {
  const Client slow(file_.path());
  std::string requests;
  for (int i = 0; i < 5000; ++i) {
    requests += "{\"command\":\"show\",\"what\":\"counters\"}\n";
  }
  std::thread sender([&] { slow.send(requests); });
  const Client quick(file_.path());
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(quick.ask(R"({"command":"version"})"), HasSubstr("\"ok\":true"));
  }
  stop(); // the sender ends when its connection is closed
  sender.join();
}

TEST_F(control_server, more_clients_than_it_takes_are_refused) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < ControlServer::max_clients; ++i) {
    clients.push_back(std::make_unique<Client>(file_.path()));
    EXPECT_THAT(clients.back()->ask(R"({"command":"version"})"), HasSubstr("\"ok\":true"));
  }
  const Client one_too_many(file_.path());
  EXPECT_THAT(one_too_many.line(), HasSubstr("too many clients"));
  clients.clear();
  await([&] { return server_.client_count() == 0; });
  const Client later(file_.path());
  EXPECT_THAT(later.ask(R"({"command":"version"})"), HasSubstr("\"ok\":true"));
}

TEST_F(control_server, capture_streams_until_the_count_and_closes) {
  const Client client(file_.path());
  EXPECT_THAT(client.ask(R"({"command":"capture","switch":"leaf0","tree":5,"count":2})"),
              HasSubstr("pcapng"));
  EXPECT_EQ(inspector_.last_selection.tree, TreeNumber{5});
  in_loop([&] {
    for (int i = 0; i < 3; ++i) {
      inspector_.capture_state.pending.push_back({7, 0, true, {std::byte{0xAA}}});
    }
  });
  const std::string stream = client.rest();
  ASSERT_GE(stream.size(), 4U);
  EXPECT_EQ(stream.substr(0, 4), "\x0A\x0D\x0D\x0A");
  await([&] { return inspector_.capture_state.running == 0; });
}

TEST_F(control_server, capture_ends_when_its_client_goes) {
  Client client(file_.path());
  EXPECT_THAT(client.ask(R"({"command":"capture"})"), HasSubstr("pcapng"));
  EXPECT_EQ(client.bytes(4), "\x0A\x0D\x0D\x0A");
  in_loop([&] { EXPECT_EQ(inspector_.capture_state.running, 1); });
  client.close();
  await([&] { return inspector_.capture_state.running == 0; });
}

TEST_F(control_server, refused_capture_is_answered_and_closed) {
  const Client client(file_.path());
  EXPECT_THAT(client.ask(R"({"command":"capture","switch":"busy"})"),
              HasSubstr("another capture is running"));
  EXPECT_EQ(client.rest(), "");
}

TEST_F(control_server, stop_ends_captures_and_connections) {
  const Client idle(file_.path());
  const Client capturing(file_.path());
  EXPECT_THAT(capturing.ask(R"({"command":"capture"})"), HasSubstr("pcapng"));
  stop();
  EXPECT_EQ(inspector_.capture_state.running, 0);
  EXPECT_EQ(idle.rest(), "");
  EXPECT_EQ(server_.client_count(), 0U);
}

} // namespace
} // namespace tributary::management
