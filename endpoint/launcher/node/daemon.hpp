// The node daemon: one for each node of a job. tributary-run starts it and sends it the job through
// a channel (messages/launch.proto), and it runs the node's ranks: their PMIx server, PMI-1, their
// output, their ends.
//
// No process of a rank may outlive the job. So: ranks die with this
// daemon; it is the reaper of whatever they start; when its channel ends, for whatever reason, it
// kills all of them and ends; an alarm guards the clean-up, so that a library that hangs cannot
// hold it; and if the daemon is killed, a keeper above it does the rest (keeper.hpp).
//
// One thread besides the PMIx library's.
#pragma once

#include <string>

namespace tributary::launch::node {

struct DaemonSettings {
  int channel = -1;    ///< a connected stream socket, unless `address`
  std::string address; ///< "host:port" of tributary-run, to connect to
  std::string name;    ///< name of the node
  std::string secret;  ///< to be shown there
};

/// Runs until the job has ended. Returns the exit code.
[[nodiscard]] int run_daemon(const DaemonSettings& settings);

} // namespace tributary::launch::node
