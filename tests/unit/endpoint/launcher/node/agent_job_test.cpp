// A job's declaration at the host agent, by an agent that accepts everything.

#include "endpoint/launcher/node/agent_job.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/unix_address.hpp"
#include "tests/support/scratch_directory.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tributary::launch::node {
namespace {

/// Whether a descriptor is connected to the socket of this path.
bool leads_to(int fd, const std::string& path) {
  sockaddr_un peer{};
  socklen_t length = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
         peer.sun_family == AF_UNIX && path == std::string_view(peer.sun_path);
}

TEST(AgentJob, RanksDoNotInheritTheConnection) {
  // With it they would ask as who started the job: root, maybe. And it would not end with it.
  const test::ScratchDirectory directory;
  const std::string path = directory.file("host.sock");
  const auto address = net::UnixAddress::of_file(path);
  const net::FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), address->get(), address->size()), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  std::thread agent([&] {
    constexpr std::string_view accepted = "{\"ok\":true,\"result\":{}}\n";
    const net::FileDescriptor connection(::accept(listener.get(), nullptr, nullptr));
    char c = 0;
    while (::read(connection.get(), &c, 1) == 1) {
      if (c == '\n') {
        EXPECT_EQ(::write(connection.get(), accepted.data(), accepted.size()),
                  static_cast<ssize_t>(accepted.size()));
      }
    }
  });
  ASSERT_EQ(::setenv(host_client::path_variable, path.c_str(), 1), 0);
  {
    boost::asio::io_context io;
    AgentJob job(io, {.job = "j", .vni = Vni{1024}});
    EXPECT_EQ(job.declare(), "");
    std::size_t connections = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(each.path().filename());
      if (leads_to(fd, path)) {
        ++connections;
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << "descriptor " << fd;
      }
    }
    EXPECT_GE(connections, 1U);
    job.end();
  }
  ::unsetenv(host_client::path_variable);
  agent.join();
}

} // namespace
} // namespace tributary::launch::node
