// A file descriptor that is closed with its owner.
#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace tributary::net {

/// Owns one descriptor, or none. Moves hand it over; what the target had before is closed at once.
class FileDescriptor {
public:
  FileDescriptor() = default;
  /// As open(2), socket(2) and their like give it: a negative one is none.
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = other.release();
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  /// Negative when there is none.
  [[nodiscard]] int get() const { return fd_; }
  /// The caller closes it from now on.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  /// An errno, or 0. Only for files that were written does it say anything: that not all of it has
  /// reached its place.
  int close() noexcept { return fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 ? errno : 0; }

private:
  int fd_ = -1;
};

} // namespace tributary::net
