// `tributaryctl fabric route`: compares algorithms on a model of a fabric, without a manager.
#pragma once

#include "tools/tributaryctl/fabric/command.hpp"

namespace tributary::cli {

/// Exit code: 1 when a tree is wrong, 2 for an unknown model, pattern or algorithm, with a message
/// on standard error.
[[nodiscard]] int compare_routes(const FabricCommand& command, bool json);

} // namespace tributary::cli
