// One manager at a time: an exclusive lock on two files, which the kernel releases however the
// process ends. The file beside the database is permanent and holds the process id, for the message
// to the next manager; the other is the database itself, whose removal would be noticed.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace tributary::store {

/// Device and inode of a file; two names with the same identity are one file.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
/// Nothing when the file does not exist.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::filesystem::path& file);

/// A file that is open and locked for the life of the object.
class HeldFile {
public:
  /// Creates it if it is missing. Throws StoreError when another process has the lock, or the file
  /// cannot be opened.
  explicit HeldFile(const std::filesystem::path& file);

  /// Whether the name still refers to this file.
  [[nodiscard]] bool is_in_place() const;
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

private:
  std::filesystem::path file_;
  net::FileDescriptor descriptor_;
  std::optional<FileIdentity> identity_;
};

class LockFile {
public:
  explicit LockFile(const std::filesystem::path& file);

private:
  HeldFile held_;
};

} // namespace tributary::store
