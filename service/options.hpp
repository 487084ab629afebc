// The command line of tributary-switch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::dataplane {

inline constexpr int exit_success = 0;
inline constexpr int exit_runtime_failure = 1;
inline constexpr int exit_usage_or_config_error = 2;

inline constexpr const char* default_config_file = "/etc/tributary/switch.toml";

struct Options {
  enum class Action : std::uint8_t { run, check_config, print_config, print_keys };
  Action action = Action::run;
  std::string config_file = default_config_file;
  bool config_given = false;
  std::string log_level; ///< empty: the configuration decides
  bool json = false;
};

/// The options, or the exit code when the command line has been answered already: help, version,
/// a usage error.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv);

} // namespace tributary::dataplane
