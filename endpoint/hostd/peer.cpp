#include "endpoint/hostd/peer.hpp"

#include "lib/net/file_descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <linux/capability.h>
#include <poll.h>
#include <sys/socket.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 // Linux 6.5
#endif

namespace tributary::hostd {

namespace {

std::vector<std::uint32_t> supplementary_groups(int socket) {
  std::vector<std::uint32_t> groups(64);
  for (;;) {
    auto bytes = static_cast<socklen_t>(groups.size() * sizeof groups[0]);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0) {
      groups.resize(bytes / sizeof groups[0]);
      return groups;
    }
    if (errno != ERANGE || bytes / sizeof groups[0] <= groups.size()) {
      return {}; // without them a peer has less
    }
    groups.resize(bytes / sizeof groups[0]);
  }
}

/// Empty if it cannot be read.
std::string proc_text(std::uint32_t pid, const char* file) {
  std::ifstream in(fmt::format("/proc/{}/{}", pid, file));
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Kernels that cannot say it have no way around a number that is given again.
bool has_ended(int unix_socket) {
  int process = -1;
  socklen_t length = sizeof process;
  if (::getsockopt(unix_socket, SOL_SOCKET, SO_PEERPIDFD, &process, &length) != 0) {
    return errno != ENOPROTOOPT;
  }
  const net::FileDescriptor held(process);
  pollfd waiting{process, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

bool is_confined(std::uint32_t pid) {
  const std::string status = proc_text(pid, "status");
  if (status.empty()) {
    // Where /proc is mounted with hidepid=2, this user sees none of root's processes.
    return !proc_text(1, "status").empty();
  }
  std::ifstream own("/proc/self/uid_map");
  return !administers_network(status, proc_text(pid, "uid_map"),
                              std::string{std::istreambuf_iterator<char>(own), {}});
}

} // namespace

host_agent::Peer peer_of(int unix_socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(unix_socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    throw std::runtime_error(
        fmt::format("the kernel does not tell who asks ({})", std::strerror(errno)));
  }
  host_agent::Peer peer{.pid = static_cast<std::uint32_t>(credentials.pid),
                        .uid = credentials.uid,
                        .gid = credentials.gid,
                        .groups = supplementary_groups(unix_socket)};
  peer.cgroup = cgroup_in(proc_text(peer.pid, "cgroup"));
  peer.is_confined = peer.uid == 0 && is_confined(peer.pid);
  // Last: until here the number was this process's.
  if (has_ended(unix_socket)) {
    peer.cgroup.clear();
    peer.is_confined = peer.uid == 0;
  }
  return peer;
}

bool administers_network(std::string_view status, std::string_view uid_map,
                         std::string_view own_uid_map) {
  constexpr std::string_view field = "\nCapEff:\t";
  const std::size_t at = status.find(field);
  if (at == std::string_view::npos || uid_map != own_uid_map) {
    return false;
  }
  std::uint64_t effective = 0;
  const char* const begin = status.data() + at + field.size();
  const auto [end, error] = std::from_chars(begin, status.data() + status.size(), effective, 16);
  return error == std::errc() && (effective >> CAP_NET_ADMIN & 1U) != 0;
}

std::string cgroup_in(std::string_view text) {
  std::string named;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (line.substr(0, first) == "0" && controllers.empty()) {
      return std::string(path);
    }
    if (controllers == "name=systemd") {
      named = path;
    }
  }
  return named;
}

} // namespace tributary::hostd
