// The commands of `tributaryctl rdma`: each asks the manager and prints the answer.
#pragma once

#include "tools/tributaryctl/rdma/command.hpp"

namespace tributary::cli {

/// Returns the exit code. Throws manager_client::ManagerError when the manager cannot be reached or
/// refuses.
[[nodiscard]] int run_rdma(const RdmaCommand& command, bool json);

} // namespace tributary::cli
