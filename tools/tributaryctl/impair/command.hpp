// The command line of `tributaryctl impair`: fault injection at the ports of a running switch.
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
  /// Options of `set`, by the configuration's names.
  boost::json::object settings;
};

/// Adds its options; `command` must outlive the parsing.
CLI::App* add_impair_command(CLI::App& app, ImpairCommand& command);

/// The request to the switch.
[[nodiscard]] boost::json::value request_of(const ImpairCommand& command);
/// The switch's answer, for people.
[[nodiscard]] std::string impairments_view(const boost::json::value& result,
                                           const terminal::Display& display);

} // namespace tributary::cli
