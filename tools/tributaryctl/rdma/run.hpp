// The commands of `tributaryctl rdma`: asks the manager, prints the answer.
#pragma once

#include "tools/tributaryctl/rdma/command.hpp"

namespace tributary::cli {

/// The exit code. Throws manager_client::ManagerError when the manager cannot be reached or
/// refuses.
[[nodiscard]] int run_rdma(const RdmaCommand& command, bool json);

} // namespace tributary::cli
