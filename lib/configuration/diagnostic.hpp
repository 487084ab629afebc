// Errors of a configuration, as text for users and fields for programs.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::configuration {

/// One finding. `text` describes the problem and, after a semicolon, the remedy.
struct Diagnostic {
  int line = 0;    ///< 1 is the first line; 0 if no line is to blame
  std::string key; ///< the dotted path, e.g. "switch.port.nid"; empty for a syntax error
  std::string text;

  /// "FILE:LINE: key 'switch.port.nid': TEXT"
  [[nodiscard]] std::string message(const std::string& file) const {
    const std::string place = line > 0 ? fmt::format("{}:{}", file, line) : file;
    return key.empty() ? fmt::format("{}: {}", place, text)
                       : fmt::format("{}: key '{}': {}", place, key, text);
  }
};

/// Thrown by the parser. Carries the findings in the order of their lines, at most `max_findings`.
class ConfigError : public std::runtime_error {
public:
  static constexpr std::size_t max_findings = 20;

  ConfigError(std::string file, std::vector<Diagnostic> findings)
      : std::runtime_error(joined(file, findings)), file_(std::move(file)),
        findings_(std::move(findings)) {}

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<Diagnostic>& findings() const { return findings_; }

private:
  static std::string joined(const std::string& file, const std::vector<Diagnostic>& findings) {
    std::string all;
    for (const auto& f : findings) {
      all += all.empty() ? "" : "\n";
      all += f.message(file);
    }
    return all;
  }

  std::string file_;
  std::vector<Diagnostic> findings_;
};

} // namespace tributary::configuration
