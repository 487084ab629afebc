// Address of the fabric manager and identity of the caller, from the command line: the same for
// every command that uses it.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "lib/terminal/command_line.hpp"

namespace tributary::cli {

/// Also of a wrong value in the environment.
using terminal::UsageError;

/// Throws UsageError for an invalid address, and when no token can be read.
[[nodiscard]] manager_client::ClientSettings settings_of(const terminal::ManagerOptions& place);

} // namespace tributary::cli
