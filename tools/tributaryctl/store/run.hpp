// The commands of `tributaryctl store`.
#pragma once

#include "tools/tributaryctl/store/command.hpp"

namespace tributary::cli {

/// Returns the exit code. Throws std::runtime_error when the store cannot be read or filled.
[[nodiscard]] int run_store(const StoreCommand& command, bool json);

} // namespace tributary::cli
