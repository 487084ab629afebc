// What a new version of the file changes in a running process: trees, routes, source guards, VNI
// lists and the log level are applied; all other differences need a restart and are listed.
#pragma once

#include "dataplane/config/parse.hpp"

#include <string>
#include <vector>

namespace tributary::config {

struct LiveChanges {
  /// The running configuration with the live keys of the wanted one. Switches and ports keep their
  /// positions, so port numbers stay the same.
  Config config;
  /// By index of the switch: whether its tables differ, and a short summary.
  struct PerSwitch {
    bool changed = false;
    std::string summary; ///< "2 trees added, 1 changed, 0 removed; ..."
  };
  std::vector<PerSwitch> switches;
  /// The differences that were not applied, see `restart_differences`.
  std::vector<std::string> ignored;
};

/// Throws ConfigError when a wanted tree or route uses a port that the running process does not
/// have; nothing may be applied then.
[[nodiscard]] LiveChanges plan_live_changes(const Parsed& running, const Parsed& wanted);

} // namespace tributary::config
