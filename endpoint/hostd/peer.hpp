// Who is at the other end of a Unix socket, by the kernel's word.
#pragma once

#include "endpoint/agent/job.hpp"

#include <string>
#include <string_view>

namespace tributary::hostd {

/// The process as of its connecting: user and groups in this process's user namespace, and its
/// cgroup now. Throws std::runtime_error if the kernel does not say.
[[nodiscard]] host_agent::Peer peer_of(int unix_socket);

/// The cgroup in the text of /proc/PID/cgroup: of the unified hierarchy where there is one,
/// otherwise systemd's; "" if there is neither.
[[nodiscard]] std::string cgroup_in(std::string_view text);

} // namespace tributary::hostd
