// TCP connections whose other end disappeared: its machine is dead, or its link is cut. The kernel
// keeps such a connection for 15 minutes while it has data to send, and for hours while it has not.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

namespace tributary::net {

/// For connections to the manager and between node daemons and their launcher, at both ends: longer
/// than a link's recovery, shorter than the lease of an allocation.
inline constexpr std::chrono::seconds longest_silence{30};

/// From now on the connection ends with ETIMEDOUT when nothing has arrived from the other end for
/// `limit`, whether or not there is data to send; detection takes up to a quarter longer. Sockets
/// other than TCP are unaffected.
inline void limit_silence(int socket, std::chrono::milliseconds limit = longest_silence) {
  const auto set = [socket](int level, int option, int value) {
    static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
  };
  const int between = static_cast<int>(
      std::max<std::chrono::seconds::rep>(1, limit.count() / 4 / 1000)); // in seconds
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, between);
  set(IPPROTO_TCP, TCP_KEEPINTVL, between);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(limit.count()));
}

} // namespace tributary::net
