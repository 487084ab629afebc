// Options that several commands of tributaryctl have.
#pragma once

#include "lib/terminal/command_line.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace tributary::cli {

inline void add_watch(CLI::App& app, std::optional<std::chrono::nanoseconds>& interval) {
  terminal::add_duration(app, "-w,--watch", interval,
                         "Repeat at this interval; q or Ctrl-C ends it",
                         {.least = std::chrono::milliseconds(100), .most = std::chrono::hours(24)});
}

/// Both directions unless one is given.
inline void add_direction(CLI::App& app, std::string& direction) {
  terminal::one_of(app.add_option("--direction", direction,
                                  "Only frames in this direction, as "
                                  "the switch's port sees it")
                       ->type_name("DIRECTION"),
                   {"received", "sent"});
}

/// The fabric's VNIs, and trees of a switch.
inline constexpr double most_vni = 65'535;
inline constexpr double most_tree = 8191;
inline constexpr double any_number = 1e18;

} // namespace tributary::cli
