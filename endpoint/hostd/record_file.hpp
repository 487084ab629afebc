// The file of what a restart of the agent takes over. It contains tokens of jobs: mode 0600.
#pragma once

#include "endpoint/agent/registry.hpp"

#include <optional>
#include <string>

namespace tributary::hostd {

class RecordFile {
public:
  explicit RecordFile(std::string path) : path_(std::move(path)) {}

  /// Empty if there is none. Throws std::runtime_error if it is not this user's, or not a record.
  [[nodiscard]] std::optional<host_agent::Record> read() const;
  /// Replaces it as a whole. Throws std::runtime_error; then there is none, rather than an old one.
  void write(const host_agent::Record& record) const;
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  void replace(const std::string& text) const;

  std::string path_;
};

} // namespace tributary::hostd
