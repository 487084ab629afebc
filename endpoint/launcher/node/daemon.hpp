// The node daemon: one for each node of a job. tributary-run starts it, tells it of the job through
// a channel (messages/launch.proto), and it runs the node's ranks: their PMIx server, PMI-1, their
// output, their ends.
//
// What must never happen is a process of a rank that outlives the job. So: ranks die with this
// daemon; it is the reaper of whatever they start; when its channel ends, for whatever reason, it
// kills all of them and ends; while it clears up an alarm stands behind it, so that a library that
// hangs cannot hold it; and if it is killed itself, a keeper above it does the rest (keeper.hpp).
//
// One thread beside the PMIx library's.
#pragma once

#include <string>

namespace tributary::launch::node {

struct DaemonSettings {
  int channel = -1;    ///< a connected stream socket, unless `address`
  std::string address; ///< "host:port" of tributary-run, to be dialled
  std::string name;    ///< of the node
  std::string secret;  ///< to be shown there
};

/// Until the job has ended. The exit code.
[[nodiscard]] int run_daemon(const DaemonSettings& settings);

} // namespace tributary::launch::node
