// The command line of tributary-pktgen: a subcommand for each kind of traffic, `run` for a scenario
// file, and an option for each key of the scenario's tables.
#pragma once

#include "pktgen/scenario/file.hpp"

#include <cstdint>
#include <optional>

namespace tributary::pktgen {

enum class Action : std::uint8_t { run, print_scenario, print_switch_config };

struct Invocation {
  Action action = Action::run;
  scenario::ReadScenario read;
  /// Interfaces of the switch whose configuration is printed, by generator port. May be empty.
  std::vector<std::string> switch_interfaces;
};

/// The invocation. Nothing when the program is to exit immediately (help, version, a usage error
/// that was already reported); `exit_code` is set then.
[[nodiscard]] std::optional<Invocation> read_command_line(int argc, char** argv, int& exit_code);

} // namespace tributary::pktgen
