// What the command lines of all our programs have in common: --version, --describe and help in one
// form, values with units, and usage errors that fit one line and say what to do.
//
//   CLI::App app("Does something.", "tributary-x");
//   terminal::set_up(app);
//   terminal::add_duration(app, "--timeout", timeout, "Longest wait");
//   terminal::add_exit_codes(app, {"0  success", "1  failure", "2  wrong command line"});
//   if (const auto exit_code = terminal::parse(app, argc, argv)) { return *exit_code; }
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tributary::terminal {

inline constexpr int exit_usage = 2;

/// A wrong command line. The message names the option and what it takes; parse() prints it.
class UsageError : public CLI::ParseError {
public:
  explicit UsageError(const std::string& message)
      : CLI::ParseError("UsageError", message, exit_usage) {}
};

/// Adds --version and --describe, and makes the help of `app` and its commands fit the terminal.
void set_up(CLI::App& app);

/// Ends the help of `app` and of every command below it with `codes`, a line for each exit code,
/// unless its footer has its own.
void add_exit_codes(CLI::App& app, std::initializer_list<const char*> codes);

/// Parses, then calls `check`; what it throws is a usage error, too. Returns nothing if the program
/// is to continue; otherwise its exit code: 0 after --help and the like, `exit_usage` after an
/// error, which is then printed to standard error.
[[nodiscard]] std::optional<int> parse(CLI::App& app, int argc, const char* const* argv,
                                       const std::function<void()>& check = {});

/// "unknown option --grup; did you mean --group?", of the last command on the command line.
[[nodiscard]] std::string unknown_option(const CLI::App& app, std::string_view word);

/// Prints "PROGRAM COMMAND: message" as parse() does, for errors found later. Returns exit_usage.
int refuse(const CLI::App& app, std::string_view message);

// Types of values. Each sets what --help shows, and refuses anything else with UsageError.

/// What `check` accepts: it returns "", or the rest of the message behind the option's name.
/// `description`, if not "", follows the name of the value in the help.
CLI::Option* checked(CLI::Option* option, const std::string& description,
                     std::function<std::string(const std::string&)> check);

/// One of these words (each, of a list); suggests the closest.
CLI::Option* one_of(CLI::Option* option, std::vector<std::string> words);

/// A number from `least` to `most`: a whole one unless the option's type has fractions.
CLI::Option* within(CLI::Option* option, double least, double most);

/// Also of fractions of a nanosecond, which simulations have.
using FineDuration = std::chrono::duration<double, std::nano>;

struct DurationLimits {
  FineDuration least{0};
  FineDuration most = std::chrono::hours(24 * 366);
  FineDuration step{0}; ///< only multiples of it are taken
};
/// A duration with its unit, such as 500ms or 2s; only 0 needs none.
CLI::Option* as_duration(CLI::Option* option, const DurationLimits& limits);
/// An option for one. `names` as in CLI11.
CLI::Option* add_duration(CLI::App& app, const std::string& names,
                          std::function<void(FineDuration)> take, const std::string& help,
                          const DurationLimits& limits);
/// Into a variable of any unit; its present value is the default.
template <typename Rep, typename Period>
CLI::Option* add_duration(CLI::App& app, const std::string& names,
                          std::chrono::duration<Rep, Period>& value, const std::string& help,
                          DurationLimits limits = {});
/// The same without a default.
template <typename Rep, typename Period>
CLI::Option* add_duration(CLI::App& app, const std::string& names,
                          std::optional<std::chrono::duration<Rep, Period>>& value,
                          const std::string& help, DurationLimits limits = {});
/// "1.5ms": as the options take it.
[[nodiscard]] std::string duration_value(FineDuration duration);

/// A share from `least` to `most`: 0.01 or 1%.
CLI::Option* as_share(CLI::Option* option, double least = 0, double most = 1);
CLI::Option* add_share(CLI::App& app, const std::string& names, std::function<void(double)> take,
                       const std::string& help);
CLI::Option* add_share(CLI::App& app, const std::string& names, double& value,
                       const std::string& help);

/// Where the fabric manager is, and as whom it is asked. Without a value, the environment decides.
struct ManagerOptions {
  std::optional<std::string> manager;
  std::optional<std::string> token_file;
  std::optional<std::string> certificate_authority;
};
/// Adds --manager, --token-file and --ca; returns them.
std::vector<CLI::Option*> add_manager_options(CLI::App& app, ManagerOptions& options);
/// The token in a file: its first word. Throws UsageError.
[[nodiscard]] std::string token_in(const std::string& path);

/// The fabric interface's EtherType, shown as 0x88B5.
CLI::Option* add_ethertype(CLI::App& app, std::uint16_t& value);

template <typename Duration> Duration rounded(FineDuration duration) {
  if constexpr (std::is_integral_v<typename Duration::rep>) {
    return std::chrono::round<Duration>(duration);
  } else {
    return std::chrono::duration_cast<Duration>(duration);
  }
}

template <typename Rep, typename Period>
CLI::Option* add_duration(CLI::App& app, const std::string& names,
                          std::optional<std::chrono::duration<Rep, Period>>& value,
                          const std::string& help, DurationLimits limits) {
  using Duration = std::chrono::duration<Rep, Period>;
  limits.step = std::is_integral_v<Rep> ? FineDuration(Duration(1)) : FineDuration(0);
  return add_duration(
      app, names, [&value](FineDuration given) { value = rounded<Duration>(given); }, help, limits);
}

template <typename Rep, typename Period>
CLI::Option* add_duration(CLI::App& app, const std::string& names,
                          std::chrono::duration<Rep, Period>& value, const std::string& help,
                          DurationLimits limits) {
  using Duration = std::chrono::duration<Rep, Period>;
  limits.step = std::is_integral_v<Rep> ? FineDuration(Duration(1)) : FineDuration(0);
  return add_duration(
             app, names, [&value](FineDuration given) { value = rounded<Duration>(given); }, help,
             limits)
      ->default_str(duration_value(value));
}

} // namespace tributary::terminal
