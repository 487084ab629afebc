// The command line of `tributaryctl impair`: faults on purpose at the ports of a running switch.
#pragma once

#include "lib/terminal/display.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace tributary::cli {

struct ImpairCommand {
  enum class Action : std::uint8_t { show, set, clear };
  Action action = Action::show;
  std::string switch_name; ///< empty: all
  std::string port;        ///< empty: all
  std::string direction;   ///< received or sent; empty: both
  bool everything = false; ///< clear: of all ports
  /// Of `set`, by the configuration's names.
  boost::json::object settings;
};

/// Its options; `command` must outlive the parsing.
CLI::App* add_impair_command(CLI::App& app, ImpairCommand& command);

/// What the switch is asked.
[[nodiscard]] boost::json::value request_of(const ImpairCommand& command);
/// What it answered, for a person.
[[nodiscard]] std::string impairments_view(const boost::json::value& result,
                                           const terminal::Display& display);

} // namespace tributary::cli
