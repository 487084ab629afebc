// Processes below this one.
#pragma once

#include <set>

#include <sys/types.h>

namespace tributary::launch::descendants {

/// Children of this process.
[[nodiscard]] std::set<pid_t> children();

/// Kills all that is below this process, also what comes meanwhile, and collects it. For a process
/// that is a subreaper (PR_SET_CHILD_SUBREAPER): whatever loses its parent becomes a child here, so
/// that no descendant can escape. Spares some children. Gives up after two seconds: what is left
/// then is in the kernel.
void kill_descendants(const std::set<pid_t>& spared = {});

} // namespace tributary::launch::descendants
