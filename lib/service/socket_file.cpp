#include "lib/service/socket_file.hpp"

#include "lib/net/unix_address.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tributary::service {
namespace {

/// The system's maximum: all hosts of a job on one machine connect at the same time.
constexpr int backlog = SOMAXCONN;

net::UnixAddress address_of(const std::string& path) {
  const auto address = net::UnixAddress::of_file(path);
  if (!address) {
    throw SocketError(fmt::format("socket \"{}\": the path must have 1 to {} bytes; "
                                  "configure a shorter one",
                                  path, net::UnixAddress::longest_path));
  }
  return *address;
}

net::FileDescriptor make_socket() {
  net::FileDescriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor) {
    throw SocketError(fmt::format("a socket cannot be made ({})", std::strerror(errno)));
  }
  return descriptor;
}

} // namespace

SocketFile::SocketFile(std::string path, unsigned mode) : path_(std::move(path)) {
  const net::UnixAddress address = address_of(path_);
  const auto fail = [&](std::string_view what, int error, std::string_view remedy) {
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
  // The mode must be right before any client can connect.
  const mode_t before = ::umask(static_cast<mode_t>(~mode & 0777U));
  const int bound = ::bind(descriptor_.get(), address.get(), address.size());
  const int error = errno;
  ::umask(before);
  if (bound != 0) {
    fail("cannot be bound", error,
         "check the directory and its permissions, or configure another place");
  }
  if (::listen(descriptor_.get(), backlog) != 0) {
    const int listen_error = errno;
    ::unlink(path_.c_str());
    fail("cannot listen", listen_error, "see the error in parentheses");
  }
}

SocketFile::~SocketFile() { ::unlink(path_.c_str()); }

// A full queue of waiting connections counts as an answer, and so does a socket of another type.
bool SocketFile::answers(const std::string& path) {
  const net::UnixAddress address = address_of(path);
  const net::FileDescriptor descriptor = make_socket();
  return ::connect(descriptor.get(), address.get(), address.size()) == 0 || errno == EAGAIN ||
         errno == EINPROGRESS || errno == EPROTOTYPE;
}

void SocketFile::remove_leftover(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) && !answers(path)) {
    ::unlink(path.c_str());
  }
}

void SocketFile::check_free(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return;
  }
  if (!S_ISSOCK(status.st_mode)) {
    throw SocketError(fmt::format("socket {}: a file that is not a socket is there; "
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
