// `tributaryctl fabric drain` and `undrain`.
#pragma once

#include "cli/fabric/command.hpp"
#include "endpoint/manager/manager_client.hpp"

namespace tributary::cli {

/// Asks, and waits until nothing leads through the switch any more. Its exit code: failure when
/// that takes longer than the command allows.
[[nodiscard]] int drain(manager_client::ManagerClient& manager, const FabricCommand& command,
                        bool as_json);

} // namespace tributary::cli
