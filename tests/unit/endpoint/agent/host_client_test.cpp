// The client against an agent that behaves as each test says: one connection, then one answer.

#include "endpoint/host_client/host_client.hpp"

#include "lib/net/unix_address.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tributary::host_client {
namespace {

using namespace std::chrono_literals;
using host_agent::AgentError;
using host_agent::OpenRequest;
using host_agent::Reason;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view opened =
    R"({"ok":true,"result":{"job":"j1","vni":1024,"mark":1409286145,"nid":18,"host":"n","interface":"eth1",)"
    R"("ethertype":34997,"address":"02:00:00:00:00:12","mtu":1500}})"
    "\n";

class HostClientTest : public testing::Test {
protected:
  using Serve = std::function<void(int connection)>;

  HostClientTest() {
    const auto address = net::UnixAddress::of_file(path);
    listener_ = net::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), address->get(), address->size()), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
  }
  ~HostClientTest() override {
    if (agent_.joinable()) {
      agent_.join();
    }
  }
  /// Reads a request, then does this.
  void agent(const Serve& serve) {
    agent_ = std::thread([this, serve] {
      const net::FileDescriptor connection(::accept(listener_.get(), nullptr, nullptr));
      char c = 0;
      while (c != '\n' && ::read(connection.get(), &c, 1) == 1) {
        request += c;
      }
      serve(connection.get());
    });
  }
  static void say(int connection, std::string_view text) {
    EXPECT_EQ(::write(connection, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// The text, with a descriptor at its first byte.
  static void hand(int connection, std::string_view text, int fd) {
    iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
    EXPECT_EQ(::sendmsg(connection, &message, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] HandedSocket open(std::chrono::milliseconds limit = 5s) const {
    return HostClient(path, limit).open(OpenRequest{.job = "j1"});
  }
  /// What is wrong with the agent; "" if nothing is.
  [[nodiscard]] std::string absence(std::chrono::milliseconds limit = 5s) const {
    try {
      static_cast<void>(open(limit));
    } catch (const HostAgentAbsent& error) {
      return error.what();
    }
    return "";
  }

  const test::ScratchDirectory directory;
  const std::string path = directory.file("host.sock");
  std::string request; ///< once the agent has ended

private:
  net::FileDescriptor listener_;
  std::thread agent_;
};

TEST_F(HostClientTest, GetsTheSocketAndWhatItMaySend) {
  int ends[2] = {};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const net::FileDescriptor reader(ends[0]);
  {
    const net::FileDescriptor writer(ends[1]);
    agent([&](int connection) { // in pieces, as a stream may arrive
      hand(connection, opened.substr(0, 5), writer.get());
      std::this_thread::sleep_for(20ms);
      say(connection, opened.substr(5));
    });
    const HandedSocket handed = open();
    EXPECT_EQ(handed.opened.vni, Vni{1024});
    EXPECT_EQ(handed.opened.interface, "eth1");
    EXPECT_EQ(::write(handed.descriptor.get(), "x", 1), 1) << "it is the one that was handed over";
    EXPECT_EQ(::fcntl(handed.descriptor.get(), F_GETFD), FD_CLOEXEC);
  }
  char c = 0;
  EXPECT_EQ(::read(reader.get(), &c, 1), 1);
  EXPECT_EQ(c, 'x');
}

TEST_F(HostClientTest, ARefusalHasTheAgentsReasonAndWords) {
  agent([](int connection) {
    say(connection, "{\"ok\":false,\"reason\":\"no_job\",\"error\":\"no job of user 7\"}\n");
  });
  try {
    static_cast<void>(open());
    FAIL() << "it is refused";
  } catch (const AgentError& error) {
    EXPECT_EQ(error.reason(), Reason::no_job);
    EXPECT_STREQ(error.what(), "no job of user 7");
  }
}

TEST_F(HostClientTest, AnAnswerAboutThousandsOfJobsIsRead) {
  const std::string long_text(std::size_t{16} << 20U, 'x');
  agent([&](int connection) {
    say(connection, "{\"ok\":true,\"result\":{\"jobs\":\"");
    say(connection, long_text);
    say(connection, "\"}}\n");
  });
  const auto result = HostClient(path, 5s).ask(host_agent::line_of(host_agent::ShowRequest{}));
  EXPECT_EQ(result.as_object().at("jobs").as_string().size(), long_text.size());
}

TEST_F(HostClientTest, AnAgentThatSaysNothingOrTooLittleIsAbsent) {
  agent([](int) {});
  EXPECT_THAT(absence(), AllOf(HasSubstr(path), HasSubstr("closed the connection")));
}

TEST_F(HostClientTest, AnAnswerWithoutASocketNamesTheLimitOfDescriptors) {
  agent([](int connection) { say(connection, opened); });
  EXPECT_THAT(absence(), HasSubstr("ulimit -n"));
}

TEST_F(HostClientTest, AnAgentThatDoesNotAnswerIsWaitedForNoLongerThanTheLimit) {
  agent([](int connection) {
    char c = 0;
    EXPECT_EQ(::read(connection, &c, 1), 0) << "until the client has given up";
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(absence(100ms), HasSubstr("does not answer within 100 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

TEST_F(HostClientTest, AnAgentThatAcceptsNothingIsWaitedForNoLongerThanTheLimit) {
  // Two wait, which is what the backlog of one holds.
  const HostClient first(path);
  const HostClient second(path);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(absence(100ms), HasSubstr(path));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

TEST(HostClient, ASocketThatIsNotThereIsNamedWithWhatToDo) {
  for (const auto& [path, words] :
       {std::pair{std::string("/nonexistent/host.sock"), "start tributary-hostd on this node"},
        std::pair{std::string(200, 'x'), "must be a path of 1 to 107"}}) {
    try {
      const HostClient client(path);
      FAIL() << path;
    } catch (const HostAgentAbsent& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(path), HasSubstr(words), HasSubstr(path_variable)));
    }
  }
}

} // namespace
} // namespace tributary::host_client
