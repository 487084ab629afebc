// The machine as its kernel describes it in /sys and /proc, read below a root: "" is this machine,
// and a test has a directory with the files that it wants there. Nothing is written, and nothing
// but files is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::port {

using CpuSet = std::set<unsigned>;

/// "0-3,8" as the kernel writes sets of CPUs; what cannot be read is left out.
[[nodiscard]] CpuSet cpus_of(const std::string& list);
/// The reverse.
[[nodiscard]] std::string list_of(const CpuSet& cpus);

class MachineFiles {
public:
  explicit MachineFiles(std::string root = {}) : root_(std::move(root)) {}

  /// Without white space at the end; nothing where there is no such file, or it cannot be read.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& path) const;
  [[nodiscard]] CpuSet cpus(const std::string& path) const {
    return cpus_of(text(path).value_or(""));
  }
  /// Names in a directory, sorted; none where there is none.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  /// The last part of what a symbolic link points to: a driver's name, an IOMMU group's number.
  [[nodiscard]] std::optional<std::string> target(const std::string& path) const;

private:
  std::string root_;
};

} // namespace tributary::port
