#include "endpoint/hostd/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <sys/socket.h>

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
  const std::ifstream file(fmt::format("/proc/{}/cgroup", peer.pid));
  std::ostringstream text;
  text << file.rdbuf();
  peer.cgroup = cgroup_in(text.str());
  return peer;
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
