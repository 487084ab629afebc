// The command line of a program that is started from a configuration file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::service {

inline constexpr int exit_success = 0;
inline constexpr int exit_runtime_failure = 1;
inline constexpr int exit_usage_or_config_error = 2;

/// How a program presents itself.
struct Presentation {
  std::string name;        ///< "tributary-switch"
  std::string summary;     ///< one sentence
  std::string config_file; ///< where it is unless the command line says otherwise
  std::string log_level;   ///< the key of the file that --log-level overrides
  std::string signals;     ///< what they do, a sentence or two, broken into lines
  std::string more_examples;
  std::string doctor{}; ///< what --doctor does, a line; empty: there is none
};

struct Options {
  enum class Action : std::uint8_t { run, check_config, print_config, print_keys, doctor };
  Action action = Action::run;
  std::string config_file;
  bool config_given = false;
  std::string log_level; ///< empty: the configuration decides
  bool json = false;
  std::string doctor_root; ///< what stands before /sys and /proc
};

/// The options, or the exit code when the command line has been answered already: help, version,
/// a usage error.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv, const Presentation& program);

} // namespace tributary::service
