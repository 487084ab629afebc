// The process above a node daemon: if the daemon is killed, somebody has to see to what its ranks
// have started. Ranks die with the daemon by themselves, but not their children. A signal to the
// whole group, as Slurm sends it, ends the daemon alone.
#pragma once

namespace tributary::launch::node {

/// Before there is any thread: forks. Returns in the daemon, which dies with the keeper. The keeper
/// waits for the daemon's end, kills whatever is left below it, and ends the same way.
void keep();

} // namespace tributary::launch::node
