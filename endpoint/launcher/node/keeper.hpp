// The process above a node daemon: if the daemon is killed, it kills what the daemon's ranks have
// started. The ranks die with the daemon, but their children do not. A signal to the whole group,
// as Slurm sends it, ends the daemon alone.
#pragma once

namespace tributary::launch::node {

/// Call it before any thread exists: forks. Returns in the daemon, which dies with the keeper. The
/// keeper waits for the daemon's end, kills whatever is left below it, and ends the same way.
void keep();

} // namespace tributary::launch::node
