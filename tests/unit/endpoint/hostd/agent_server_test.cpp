// The agent's socket: who is let in when many ask.

#include "endpoint/hostd/agent_server.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "lib/service/descriptor_limit.hpp"
#include "lib/service/socket_file.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace tributary::hostd {
namespace {

/// Answers every line, and keeps every connection.
class Service final : public AgentService {
public:
  Reply answer(const host_agent::Peer&, Connection, std::string_view) override {
    return {.line = "answered\n"};
  }
  std::string refuse(const std::string&) override { return "refused\n"; }
  [[nodiscard]] bool keeps(Connection) const override { return true; }
  void closed(Connection) override {}
};

/// A connection of a user: the kernel notes the effective one.
class Client {
public:
  Client(const std::string& path, std::uint32_t uid)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval most{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    const auto address = net::UnixAddress::of_file(path);
    EXPECT_EQ(::seteuid(uid), 0);
    EXPECT_EQ(::connect(socket_.get(), address->get(), address->size()), 0) << "user " << uid;
    EXPECT_EQ(::seteuid(0), 0);
  }

  [[nodiscard]] std::string ask() const {
    static_cast<void>(::send(socket_.get(), "x\n", 2, MSG_NOSIGNAL)); // it may be refused already
    std::array<char, 64> buffer{};
    const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return n < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

private:
  net::FileDescriptor socket_;
};

TEST(HostAgentServer, UsersDoNotKeepRootOutNorOneUserTheOthers) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root, to be several users";
  }
  constexpr std::size_t connections =
      AgentServer::most_connections + AgentServer::most_connections_of_user;
  if (service::raise_descriptor_limit() < 2 * connections + 100) {
    GTEST_SKIP() << "needs more open files: ulimit -Hn";
  }
  const test::ScratchDirectory directory;
  const std::string path = directory.file("host.sock");
  std::filesystem::permissions(std::filesystem::path(path).parent_path(),
                               std::filesystem::perms(0755));
  boost::asio::io_context context{1};
  Service service;
  service::SocketFile file(path, service::SocketFile::every_user);
  AgentServer server(context, file.release_descriptor(), service);
  std::thread loop([&] { context.run(); });
  {
    std::vector<Client> held;
    held.reserve(connections);
    const auto hold = [&](std::uint32_t uid, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        held.emplace_back(path, uid);
      }
    };
    hold(1001, AgentServer::most_connections_of_user);
    EXPECT_EQ(Client(path, 1001).ask(), "refused\n");
    hold(1002, 1);
    EXPECT_EQ(held.back().ask(), "answered\n");
    hold(1002, AgentServer::most_connections_of_user - 1);
    hold(1003, AgentServer::most_connections_of_user);
    hold(1004, AgentServer::most_connections_of_user);
    EXPECT_EQ(held.back().ask(), "answered\n");
    EXPECT_EQ(Client(path, 1005).ask(), "refused\n") << "all users together";
    EXPECT_EQ(Client(path, 0).ask(), "answered\n");
    EXPECT_EQ(held.front().ask(), "answered\n");
  }
  boost::asio::post(context, [&] {
    server.stop();
    context.stop();
  });
  loop.join();
}

} // namespace
} // namespace tributary::hostd
