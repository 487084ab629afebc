// The machine as its kernel describes it in /sys and /proc, read below a root: "" is this machine,
// and a test provides a directory with the files it needs. Read-only; uses files only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::port {

using CpuSet = std::set<unsigned>;

/// Parses "0-3,8", the kernel's notation for sets of CPUs; invalid parts are skipped.
[[nodiscard]] CpuSet cpus_of(const std::string& list);
/// The reverse.
[[nodiscard]] std::string list_of(const CpuSet& cpus);

class MachineFiles {
public:
  explicit MachineFiles(std::string root = {}) : root_(std::move(root)) {}

  /// The content without white space at the end; empty if the file does not exist or cannot be
  /// read.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& path) const;
  [[nodiscard]] CpuSet cpus(const std::string& path) const {
    return cpus_of(text(path).value_or(""));
  }
  /// Names in a directory, sorted; none if it does not exist.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  /// The last part of a symbolic link's target: a driver's name, an IOMMU group's number.
  [[nodiscard]] std::optional<std::string> target(const std::string& path) const;

private:
  std::string root_;
};

} // namespace tributary::port
