// Announces this node to the switch before any rank does: hellos (wire/hello.hpp) through each
// interface that is up and whose address is made for the fabric (02:00:00:0H:HH:HH).
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"

#include <chrono>
#include <optional>

namespace tributary::launch::node {

/// Interval of announcements while a job runs; a switch remembers a host for several of them.
inline constexpr std::chrono::milliseconds announcement_interval{wire::host_hello_interval / 2};

/// Never blocks. A node that may not open raw sockets sends nothing, and is known once a rank
/// announces it. `announced`: a host that another program announces.
void announce(const messages::Hello& node, std::optional<Nid> announced);

} // namespace tributary::launch::node
