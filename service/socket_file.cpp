#include "service/socket_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace tributary::service {
namespace {

constexpr mode_t socket_mode = 0660;
constexpr int backlog = 64;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw SocketError(fmt::format("socket \"{}\": the path must have 1 to {} bytes; "
                                  "configure a shorter one",
                                  path, sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int make_socket() {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    throw SocketError(fmt::format("a socket cannot be made ({})", std::strerror(errno)));
  }
  return descriptor;
}

/// Whether somebody listens there. A full queue of waiting connections counts as somebody.
bool answers(const std::string& path) {
  const sockaddr_un address = address_of(path);
  const int descriptor = make_socket();
  const int result =
      ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::close(descriptor);
  return result == 0 || error == EAGAIN || error == EINPROGRESS;
}

} // namespace

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  const sockaddr_un address = address_of(path_);
  const auto fail = [&](std::string_view what, int error, std::string_view remedy) {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
    throw SocketError(
        fmt::format("socket {}: {} ({}); {}", path_, what, std::strerror(error), remedy));
  };
  check_free(path_);
  ::unlink(path_.c_str());
  const auto directory = std::filesystem::path(path_).parent_path();
  if (!directory.empty() && ::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    fail("its directory cannot be made", errno,
         "make it, or name another place in the configuration");
  }
  descriptor_ = make_socket();
  // The mode must be right before anyone can connect.
  const mode_t before = ::umask(static_cast<mode_t>(~socket_mode & 0777U));
  const int bound =
      ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) {
    fail("cannot be bound", error,
         "check the directory and its permissions, or configure another place");
  }
  if (::listen(descriptor_, backlog) != 0) {
    const int listen_error = errno;
    ::unlink(path_.c_str());
    fail("cannot listen", listen_error, "see the error in parentheses");
  }
}

SocketFile::~SocketFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  ::unlink(path_.c_str());
}

int SocketFile::release_descriptor() { return std::exchange(descriptor_, -1); }

void SocketFile::check_free(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return;
  }
  if (!S_ISSOCK(status.st_mode)) {
    throw SocketError(fmt::format("socket {}: something that is not a socket stands there; "
                                  "remove it, or name another place in the configuration",
                                  path));
  }
  if (answers(path)) {
    throw SocketError(fmt::format("socket {}: a running process answers on it; stop that "
                                  "one, or name another place in the configuration",
                                  path));
  }
}

} // namespace tributary::service
