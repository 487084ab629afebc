// What a new version of the file changes in a running process: trees, routes, source guards, VNI
// lists and the log level are taken over; everything else waits for a restart and is named.
#pragma once

#include "dataplane/config/parse.hpp"

#include <string>
#include <vector>

namespace tributary::config {

struct LiveChanges {
  /// The running configuration with the live keys of the wanted one. Switches and ports keep their
  /// places, so port numbers stay what they are.
  Config config;
  /// By index of the switch: whether its tables differ, and in a few words how.
  struct PerSwitch {
    bool changed = false;
    std::string summary; ///< "2 trees added, 1 changed, 0 removed; ..."
  };
  std::vector<PerSwitch> switches;
  /// The differences that were left alone, see `restart_differences`.
  std::vector<std::string> ignored;
};

/// Throws ConfigError when a wanted tree or route uses a port that the running process does not
/// have; nothing may be applied then.
[[nodiscard]] LiveChanges plan_live_changes(const Parsed& running, const Parsed& wanted);

} // namespace tributary::config
