// The commands of `tributaryctl fabric`: each asks the manager and prints the answer.
#pragma once

#include "tools/tributaryctl/fabric/command.hpp"

namespace tributary::cli {

/// Returns the exit code. Throws manager_client::ManagerError when the manager cannot be reached or
/// refuses, and std::runtime_error when a file cannot be read or written.
[[nodiscard]] int run_fabric(const FabricCommand& command, bool json);

} // namespace tributary::cli
