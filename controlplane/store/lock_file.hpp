// One manager at a time: an exclusive lock on a file beside the database, released by the kernel
// however the process ends. The file stays there and holds the process id, for the message to the
// next one that comes.
#pragma once

#include <filesystem>

namespace tributary::store {

class LockFile {
public:
  /// Throws StoreError when another process has the lock or the file cannot be made.
  explicit LockFile(const std::filesystem::path& file);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

private:
  int descriptor_ = -1;
};

} // namespace tributary::store
