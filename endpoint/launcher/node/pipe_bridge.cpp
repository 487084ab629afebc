#include "endpoint/launcher/node/pipe_bridge.hpp"

#include "lib/net/signals_blocked.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

namespace tributary::launch::node {

namespace {

void pass_on(int from, int to) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t size = ::read(from, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0) {
      return;
    }
    for (ssize_t done = 0; done < size;) {
      const ssize_t written =
          ::write(to, buffer.data() + done, static_cast<std::size_t>(size - done));
      if (written < 0 && errno != EINTR) {
        return;
      }
      done += written < 0 ? 0 : written;
    }
  }
}

} // namespace

int socket_on(int input, int output) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  const net::SignalsBlocked blocked;
  std::thread([input, end = ends[1]] {
    pass_on(input, end);
    ::shutdown(end, SHUT_WR);
  }).detach();
  std::thread([output, end = ends[1]] {
    pass_on(end, output);
    ::shutdown(end, SHUT_RDWR); // the reader is gone
    ::close(output);
  }).detach();
  return ends[0];
}

} // namespace tributary::launch::node
