// The command line of tributary-fabricd.
#pragma once

#include <optional>
#include <string>

namespace tributary::fabricd {

inline constexpr int exit_success = 0;
inline constexpr int exit_runtime_failure = 1;
inline constexpr int exit_usage_or_config_error = 2;

struct Options {
  enum class Action : std::uint8_t { run, print_config, print_keys, check_config };
  Action action = Action::run;
  std::string config_file = "/etc/tributary/fabricd.toml";
  bool config_given = false;
  std::string log_level; ///< "" as the file says
  bool json = false;
};

struct ParsedOptions {
  Options options;
  /// Set when the program is to end now: --help, --version, or a wrong command line.
  std::optional<int> exit_code;
};

[[nodiscard]] ParsedOptions parse_options(int argc, char** argv);

} // namespace tributary::fabricd
