// The commands of `tributaryctl host`: each asks the node's agent and prints the answer.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"
#include "tools/tributaryctl/host/command.hpp"

#include <string>

namespace tributary::cli {

/// Returns the exit code. Throws host_client::HostAgentAbsent and host_agent::AgentError.
[[nodiscard]] int run_host(const HostCommand& command, bool json);

/// The answer of `show` as people read it.
[[nodiscard]] std::string host_view(const Entry& answer, const terminal::Display& display);

} // namespace tributary::cli
