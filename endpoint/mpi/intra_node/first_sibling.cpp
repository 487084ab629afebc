#include "endpoint/mpi/intra_node/first_sibling.hpp"

#include <fmt/format.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace tributary::mpi::intra_node {

namespace {

/// The job, where one launcher's process serves several: PMIx names it.
std::size_t job() {
  const char* const name = std::getenv("PMIX_NAMESPACE");
  return std::hash<std::string_view>()(name == nullptr ? "" : name);
}

} // namespace

bool FirstSibling::is_first() {
  const pid_t parent = getppid();
  if (name_ || parent <= 1) { // 0 and 1: of another container, or its parent has ended
    return true;
  }
  const std::string name =
      fmt::format("tributary-mpi-{}-{}-{:x}-{}", getuid(), parent, job(), deed_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1); // after a 0: an abstract name
  net::FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) {
    return true;
  }
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), bytes) != 0) {
    return errno != EADDRINUSE;
  }
  name_ = std::move(socket);
  return true;
}

} // namespace tributary::mpi::intra_node
