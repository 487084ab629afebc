#include "controlplane/store/lock_file.hpp"

#include "controlplane/store/store_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tributary::store {
namespace {

/// The holder of a file whose first line is a process id; a database has none.
std::string holder(int descriptor) {
  char text[32] = {};
  const ssize_t length = ::pread(descriptor, text, sizeof text - 1, 0);
  std::string_view pid(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  pid = pid.substr(0, pid.find('\n'));
  return pid.empty() || pid.find_first_not_of("0123456789") != std::string_view::npos
             ? "another process"
             : fmt::format("process {}", pid);
}

} // namespace

std::optional<FileIdentity> identity_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    return std::nullopt;
  }
  return FileIdentity(status.st_dev, status.st_ino);
}

HeldFile::HeldFile(const std::filesystem::path& file)
    : file_(file), descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (!descriptor_) {
    const int why = errno;
    const auto kind = why == EACCES || why == EPERM || why == EROFS
                          ? StoreError::Kind::no_permission
                          : StoreError::Kind::failed;
    throw StoreError(kind, fmt::format("{} cannot be opened: {}; the directory has to exist and to "
                                       "be writable for the manager's user",
                                       file.string(), std::generic_category().message(why)));
  }
  if (::flock(descriptor(), LOCK_EX | LOCK_NB) != 0) {
    const std::string who = holder(descriptor());
    throw StoreError(StoreError::Kind::locked,
                     fmt::format("{} is locked by {}: another fabric manager uses this store; stop "
                                 "it, or give this one a store of its own",
                                 file.string(), who));
  }
  struct stat status {};
  if (::fstat(descriptor(), &status) == 0) {
    identity_ = FileIdentity(status.st_dev, status.st_ino);
  }
}

bool HeldFile::is_in_place() const { return identity_of(file_) == identity_; }

LockFile::LockFile(const std::filesystem::path& file) : held_(file) {
  const std::string pid = fmt::format("{}\n", ::getpid());
  // Only for the message: the lock works without it, for example on a full disk.
  if (::ftruncate(held_.descriptor(), 0) == 0) {
    [[maybe_unused]] const ssize_t written =
        ::pwrite(held_.descriptor(), pid.data(), pid.size(), 0);
  }
}

} // namespace tributary::store
