// During its lifetime, this process can write files of at most this many bytes: simulates a full
// disk.
#pragma once

#include <stdexcept>

#include <sys/resource.h>

namespace tributary::terminal::test {

class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    if (::getrlimit(RLIMIT_FSIZE, &before_) != 0) {
      throw std::runtime_error("getrlimit");
    }
    const rlimit tight{bytes, before_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &tight) != 0) {
      throw std::runtime_error("setrlimit");
    }
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
  rlimit before_{};
};

} // namespace tributary::terminal::test
