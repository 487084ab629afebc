#include "controlplane/store/lock_file.hpp"

#include "controlplane/store/store_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace tributary::store {
namespace {

std::string holder(int descriptor) {
  char text[32] = {};
  const ssize_t length = ::pread(descriptor, text, sizeof text - 1, 0);
  std::string_view pid(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  pid = pid.substr(0, pid.find('\n'));
  return pid.empty() ? "another process" : fmt::format("process {}", pid);
}

} // namespace

LockFile::LockFile(const std::filesystem::path& file)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) {
    const int why = errno;
    const auto kind = why == EACCES || why == EPERM || why == EROFS
                          ? StoreError::Kind::no_permission
                          : StoreError::Kind::failed;
    throw StoreError(kind, fmt::format("{} cannot be opened: {}; the directory has to exist and to "
                                       "be writable for the manager's user",
                                       file.string(), std::generic_category().message(why)));
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const std::string who = holder(descriptor_);
    ::close(descriptor_);
    throw StoreError(StoreError::Kind::locked,
                     fmt::format("{} is locked by {}: another fabric manager uses this store; stop "
                                 "it, or give this one a store of its own",
                                 file.string(), who));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // For the message alone: the lock holds without it, on a full disk for instance.
  if (::ftruncate(descriptor_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, pid.data(), pid.size(), 0);
  }
}

LockFile::~LockFile() { ::close(descriptor_); }

} // namespace tributary::store
