// A file descriptor that is closed with its owner.
#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace tributary::net {

/// Owns one descriptor, or none. Moves transfer it; the target's previous one is closed
/// immediately.
class FileDescriptor {
public:
  FileDescriptor() = default;
  /// As returned by open(2), socket(2) and the like: a negative one is none.
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
  /// Negative if there is none.
  [[nodiscard]] int get() const { return fd_; }
  /// The caller must close it.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  /// Returns an errno, or 0. It matters only for files that were written: an error means that some
  /// data has not been stored.
  int close() noexcept { return fd_ >= 0 && ::close(std::exchange(fd_, -1)) != 0 ? errno : 0; }

private:
  int fd_ = -1;
};

} // namespace tributary::net
