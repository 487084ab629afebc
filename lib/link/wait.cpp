#include "lib/link/wait.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace tributary::link {

bool readable(int fd) {
  pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) > 0;
}

void wait(int fd, std::uint64_t timeout_ns, bool to_send, int waker) {
  std::array<pollfd, 2> polls{
      {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = waker, .events = POLLIN, .revents = 0}}};
  if (to_send) {
    polls[0].events |= POLLOUT;
    // After ENOBUFS the socket counts as writable although the queue below it is full: without a
    // pause this would spin.
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 50'000};
    ::nanosleep(&pause, nullptr);
  }
  constexpr std::uint64_t longest = 3'600'000'000'000;
  const std::uint64_t bounded = std::min(timeout_ns, longest);
  const timespec timeout{.tv_sec = static_cast<time_t>(bounded / 1'000'000'000),
                         .tv_nsec = static_cast<long>(bounded % 1'000'000'000)};
  ::ppoll(polls.data(), waker < 0 ? 1 : polls.size(), &timeout, nullptr);
}

} // namespace tributary::link
