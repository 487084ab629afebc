// The file of a listening Unix socket: made with its mode, refused if a live process answers on
// it, replaced if it is a leftover, removed at the end. Main thread only.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <stdexcept>
#include <string>

namespace tributary::service {

class SocketError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class SocketFile {
public:
  // Who may connect, as mode bits.
  static constexpr unsigned owner_and_group = 0660;
  static constexpr unsigned every_user = 0666;

  /// Whether a running process has this socket, of any type. Connects only to stream sockets.
  /// Throws SocketError if the path is too long.
  [[nodiscard]] static bool answers(const std::string& path);
  /// Removes the socket's file if no running process has the socket any more. Same exceptions.
  static void remove_leftover(const std::string& path);

  /// Throws SocketError if a running process answers on this path, or it is not a socket. Changes
  /// nothing.
  static void check_free(const std::string& path);

  /// Checks, removes a leftover, binds and listens. Makes the directory (mode 0755) if only its
  /// last part is missing. Throws SocketError, whose message says what to do.
  explicit SocketFile(std::string path, unsigned mode = owner_and_group);
  ~SocketFile();
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The listening socket, non-blocking; the caller owns it from now on.
  [[nodiscard]] int release_descriptor() { return descriptor_.release(); }

private:
  std::string path_;
  net::FileDescriptor descriptor_;
};

} // namespace tributary::service
