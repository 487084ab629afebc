// Processes below this one.
#pragma once

#include <set>

#include <sys/types.h>

namespace tributary::launch::descendants {

/// Children of this process.
[[nodiscard]] std::set<pid_t> children();

/// Kills all processes below this one, also those that appear meanwhile, and reaps them. For a
/// process that is a subreaper (PR_SET_CHILD_SUBREAPER): orphans become its children, so that no
/// descendant can escape. Spares some children. Gives up after two seconds: what is left then is in
/// the kernel.
void kill_descendants(const std::set<pid_t>& spared = {});

} // namespace tributary::launch::descendants
