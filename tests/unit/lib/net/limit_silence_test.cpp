#include "lib/net/limit_silence.hpp"

#include "lib/net/file_descriptor.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

namespace tributary::net {
namespace {

int option(int socket, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, level, name, &value, &size) == 0 ? value : -1;
}

TEST(LimitSilence, ends_connections_to_machines_that_are_dead_sooner_than_a_lease) {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(option(socket.get(), SOL_SOCKET, SO_KEEPALIVE), 0) << "by itself it stays forever";
  limit_silence(socket.get());
  EXPECT_EQ(option(socket.get(), SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
  const int idle = option(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE);
  const int between = option(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL);
  EXPECT_GE(idle, 1);
  EXPECT_LE(idle + 4 * between, 40) << "the kernel looks at the limit with each probe";
}

TEST(LimitSilence, leaves_other_sockets_alone) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  limit_silence(socket.get());
  EXPECT_EQ(option(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT), -1);
}

} // namespace
} // namespace tributary::net
