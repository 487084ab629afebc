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

/// Where results go. The table is printed unless standard output is taken.
struct Outputs {
  bool json = false;        ///< the report is JSON
  std::string report = "-"; ///< file, or "-"
  std::optional<std::string> csv;
  std::optional<std::string> plot;
};
void add_outputs(CLI::App& app, Outputs& outputs);
/// Throws terminal::UsageError if two results go to standard output.
void check(const Outputs& outputs);

struct AllreduceInvocation {
  allreduce::Study study;
  bool quiet = false;
  Outputs outputs;
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
