// The commands of tributaryctl: each asks the switch and prints the answer.
#pragma once

#include "tools/tributaryctl/command_line.hpp"

#include <boost/json/value.hpp>

#include <string>

namespace tributary::cli {

/// The request a command sends. `frame` is the text to explain.
[[nodiscard]] boost::json::value request_of(const Command& command, const std::string& frame = {});

/// Returns the exit code. Throws service::SwitchError.
[[nodiscard]] int run_command(const Command& command);

} // namespace tributary::cli
