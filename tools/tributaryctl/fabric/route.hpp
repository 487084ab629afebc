// `tributaryctl fabric route`: algorithms side by side on a model of a fabric, without any manager.
#pragma once

#include "tools/tributaryctl/fabric/command.hpp"

namespace tributary::cli {

/// Exit code: 1 when a tree is wrong, 2 when there is no such model, pattern or algorithm, which
/// standard error says.
[[nodiscard]] int compare_routes(const FabricCommand& command, bool json);

} // namespace tributary::cli
