// tributary-host rdma: serves memory, or writes to and reads from that of another host.
#pragma once

namespace tributary::host {

/// Runs the arguments after "rdma"; returns the exit code.
int rdma_command(int argc, char** argv);

} // namespace tributary::host
