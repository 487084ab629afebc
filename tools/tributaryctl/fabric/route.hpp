// `tributaryctl fabric route`: computes trees on a model of a fabric, without a manager.
#pragma once

#include "tools/tributaryctl/fabric/command.hpp"

namespace tributary::cli {

/// Exit code: 1 when a tree is wrong, 2 for an unknown model or pattern, with a message on standard
/// error.
[[nodiscard]] int route_model(const FabricCommand& command, bool json);

} // namespace tributary::cli
