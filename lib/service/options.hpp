// The command line of a program with a configuration file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::service {

inline constexpr int exit_success = 0;
inline constexpr int exit_runtime_failure = 1;
inline constexpr int exit_usage_or_config_error = 2;

/// The program's name and help texts.
struct Presentation {
  std::string name;        ///< "tributary-switch"
  std::string summary;     ///< one sentence
  std::string config_file; ///< default path
  std::string log_level;   ///< the key of the file that --log-level overrides
  std::string signals;     ///< their effects, a sentence or two, broken into lines
  std::string more_examples;
  std::string doctor{};      ///< effect of --doctor, a line; empty: unsupported
  std::string raise_epoch{}; ///< effect of --raise-epoch, a line; empty: unsupported
};

struct Options {
  enum class Action : std::uint8_t {
    run,
    check_config,
    print_config,
    print_keys,
    doctor,
    raise_epoch,
  };
  Action action = Action::run;
  std::string config_file;
  bool config_given = false;
  std::string log_level; ///< empty: the configuration decides
  bool json = false;
  std::string output = "-"; ///< file for the answer of check_config and doctor
  std::string doctor_root;  ///< prefix of /sys and /proc
};

/// The options, or the exit code if the command line is done: help, version, a usage error.
struct ParsedOptions {
  Options options;
  std::optional<int> exit_code;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv, const Presentation& program);

} // namespace tributary::service
