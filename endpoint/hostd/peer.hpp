// Who is at the other end of a Unix socket, by the kernel's word.
#pragma once

#include "endpoint/agent/job.hpp"

#include <string>
#include <string_view>

namespace tributary::hostd {

/// The process as of its connecting: user and groups in this process's user namespace; its cgroup
/// and whether it is confined as of now. One that has ended has no cgroup, and is confined: its
/// number may be another's. Throws std::runtime_error if the kernel does not say who it is.
[[nodiscard]] host_agent::Peer peer_of(int unix_socket);

/// Whether a process of user 0 may administer the network of this process's machine, by the texts
/// of its /proc/PID/status and uid_map, and of this process's uid_map: it has CAP_NET_ADMIN, and
/// not by a user namespace of its own.
[[nodiscard]] bool administers_network(std::string_view status, std::string_view uid_map,
                                       std::string_view own_uid_map);

/// The cgroup in the text of /proc/PID/cgroup: of the unified hierarchy where there is one,
/// otherwise systemd's; "" if there is neither.
[[nodiscard]] std::string cgroup_in(std::string_view text);

} // namespace tributary::hostd
