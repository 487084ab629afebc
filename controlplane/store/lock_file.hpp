// One manager at a time: an exclusive lock, released by the kernel however the process ends, on two
// files. The one beside the database stays there and holds the process id, for the message to the
// next one that comes; the other is the database itself, which nobody removes without noticing.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

namespace tributary::store {

/// Device and number of a file; two files have the same when they are one.
using FileIdentity = std::pair<std::uint64_t, std::uint64_t>;
/// Nothing when there is none of this name.
[[nodiscard]] std::optional<FileIdentity> identity_of(const std::filesystem::path& file);

/// A file that is open and locked for as long as the object is there.
class HeldFile {
public:
  /// Makes it when it is not there. Throws StoreError when another process has the lock, or the
  /// file cannot be opened.
  explicit HeldFile(const std::filesystem::path& file);

  /// Whether the file of this name is still this one.
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
