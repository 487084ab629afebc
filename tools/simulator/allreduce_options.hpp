// tributary-sim allreduce: its part of the command line.
#pragma once

#include "tools/simulator/allreduce/study.hpp"

#include <memory>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace tributary::simulator {

struct AllreduceInvocation {
  allreduce::Study study;
  bool quiet = false;
  std::optional<std::string> json; ///< file, or "-"
  std::optional<std::string> csv;
  std::optional<std::string> plot;
};

class AllreduceOptions {
public:
  explicit AllreduceOptions(CLI::App& app);
  ~AllreduceOptions();
  AllreduceOptions(const AllreduceOptions&) = delete;
  AllreduceOptions& operator=(const AllreduceOptions&) = delete;

  /// Whether the command was given.
  [[nodiscard]] bool given() const;
  /// The parsed options; call it after parsing the command line. Throws AllreduceError.
  [[nodiscard]] AllreduceInvocation take() const;

private:
  struct Texts;
  CLI::App* command_;
  std::unique_ptr<Texts> texts_;
};

/// "8,64KiB,100MB": sizes of vectors of eight-byte elements, rounded down to whole elements. Throws
/// AllreduceError.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text);

} // namespace tributary::simulator
