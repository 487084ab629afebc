// Says to the switch which host this node is, before any rank does: hellos (wire/hello.hpp) through
// each interface that is up and whose address is made for the fabric (02:00:00:0H:HH:HH).
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"
#include "tributary/wire/hello.hpp"

#include <chrono>

namespace tributary::launch::node {

/// How often it is to be said while a job runs; a switch remembers it for several times as long.
inline constexpr std::chrono::milliseconds announcement_interval{wire::host_hello_interval / 2};

/// Never blocks. A node that may not open raw sockets says nothing, and is known when a rank says
/// so.
void announce(const messages::Hello& node);

} // namespace tributary::launch::node
