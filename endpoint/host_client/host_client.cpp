#include "endpoint/host_client/host_client.hpp"

#include "lib/net/unix_address.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace tributary::host_client {

namespace {

/// More than what `show` says of thousands of jobs, each with the longest cgroup.
constexpr std::size_t longest_answer = std::size_t{64} << 20U;

/// Receives into the buffer, and appends the descriptors that come along.
ssize_t receive(int socket, std::array<char, 16'384>& buffer,
                std::vector<net::FileDescriptor>& descriptors) {
  constexpr std::size_t most = 4;
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(most * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0) {
    return n;
  }
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return n;
}

} // namespace

std::string agent_path() {
  const char* const set = std::getenv(path_variable);
  return set != nullptr && *set != '\0' ? std::string(set) : std::string(default_path);
}

HostClient::HostClient(std::string path, std::chrono::milliseconds limit)
    : path_(std::move(path)), limit_(limit) {
  const auto address = net::UnixAddress::of_file(path_);
  if (!address) {
    throw HostAgentAbsent(fmt::format("the host agent's socket \"{}\" must be a path of 1 to {} "
                                      "bytes; see {} in the environment",
                                      path_, net::UnixAddress::longest_path, path_variable));
  }
  socket_ = net::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_) {
    absent(errno);
  }
  // An agent that is stopped accepts nothing: the wait for a place in its queue has the limit, too.
  const timeval most{.tv_sec = limit_.count() / 1000, .tv_usec = limit_.count() % 1000 * 1000};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  int connected = -1;
  do {
    connected = ::connect(socket_.get(), address->get(), address->size());
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) {
    absent(errno);
  }
}

void HostClient::absent(int error_number) const {
  throw HostAgentAbsent(fmt::format(
      "no host agent at {} ({}): start tributary-hostd on this node, or name its socket "
      "in {}",
      path_, std::strerror(error_number), path_variable));
}

void HostClient::wait_for(short event, std::chrono::steady_clock::time_point deadline) const {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      throw HostAgentAbsent(fmt::format("the host agent at {} does not answer within {} ms; see "
                                        "its log",
                                        path_, limit_.count()));
    }
    pollfd waiting{socket_.get(), event, 0};
    if (::poll(&waiting, 1, static_cast<int>(left.count())) > 0) {
      return;
    }
  }
}

HostClient::Answer HostClient::exchange(std::string_view line) {
  const auto deadline = std::chrono::steady_clock::now() + limit_;
  while (!line.empty()) {
    const ssize_t n = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      line.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_for(POLLOUT, deadline);
    } else if (errno != EINTR) {
      break; // the answer may contain the reason
    }
  }
  Answer answer;
  std::array<char, 16'384> buffer;
  std::size_t searched = 0;
  while (answer.line.find('\n', searched) == std::string::npos) {
    searched = answer.line.size();
    wait_for(POLLIN, deadline);
    const ssize_t n = receive(socket_.get(), buffer, answer.descriptors);
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) {
      continue;
    }
    if (n <= 0 || answer.line.size() > longest_answer) {
      throw HostAgentAbsent(fmt::format("the host agent at {} closed the connection without an "
                                        "answer; see its log",
                                        path_));
    }
    answer.line.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return answer;
}

boost::json::value HostClient::ask(std::string_view line) {
  return host_agent::result_of(exchange(line).line);
}

HandedSocket HostClient::open(const host_agent::OpenRequest& request) {
  Answer answer = exchange(host_agent::line_of(request));
  HandedSocket handed{.opened = host_agent::opened_of(host_agent::result_of(answer.line))};
  if (answer.descriptors.empty()) {
    throw HostAgentAbsent(fmt::format("the host agent at {} sent no socket with its answer; the "
                                      "process may be out of descriptors (`ulimit -n`)",
                                      path_));
  }
  handed.descriptor = std::move(answer.descriptors[0]);
  return handed;
}

} // namespace tributary::host_client
