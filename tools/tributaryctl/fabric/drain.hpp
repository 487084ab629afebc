// `tributaryctl fabric drain` and `undrain`.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "tools/tributaryctl/fabric/command.hpp"

namespace tributary::cli {

/// Asks, and waits until no path leads through the switch any more. Returns the exit code: failure
/// when that takes longer than the command allows.
[[nodiscard]] int drain(manager_client::ManagerClient& manager, const FabricCommand& command,
                        bool as_json);

} // namespace tributary::cli
