// How node daemons are started. Each is this program again, as `tributary-run daemon`.
//
//   here                a child, on one end of a socket pair
//   stand-in nodes      the same in an existing network namespace (ip netns add), with a host
//                       name, a mount table, /dev/shm, /sys and System V IPC of its own: MPI
//                       libraries name their shared memory by host name and local rank, so
//                       stand-ins that shared those would collide
//   other machines      through ssh: its standard input and output are the channel, so nothing
//                       listens anywhere, and ssh's end is the daemon's end
//   a Slurm allocation  one srun for all nodes; daemons dial back, and show a secret
//
// A child is in a process group of its own: a terminal's interrupt reaches tributary-run alone.
#pragma once

#include "lib/net/file_descriptor.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tributary::launch::start {

class StartFailed : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct StartedProcess {
  pid_t pid = 0;
  net::FileDescriptor channel; ///< none with srun
};

/// All throw StartFailed.
[[nodiscard]] StartedProcess start_here(const std::string& name);
[[nodiscard]] StartedProcess start_in_namespace(const std::string& name);
/// `command`: the words in front of the host, "ssh" with options. `program`: tributary-run there.
[[nodiscard]] StartedProcess start_through_ssh(const std::vector<std::string>& command,
                                               const std::string& host, const std::string& program);
/// On all nodes of the list; each dials `address` and shows `secret`.
[[nodiscard]] StartedProcess start_through_srun(const std::vector<std::string>& nodes,
                                                const std::string& program,
                                                const std::string& address,
                                                const std::string& secret);

/// Path of this program.
[[nodiscard]] std::string own_program();

} // namespace tributary::launch::start
