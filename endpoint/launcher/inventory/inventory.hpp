// What a node has: processors, memory and devices as hwloc sees them; network interfaces, software
// ones among them (veth, tap, memif), as rtnetlink reports them, because hwloc does not see those.
// All of the network namespace of the caller.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"

#include <vector>

namespace tributary::launch::inventory {

[[nodiscard]] messages::Machine machine();

/// In the kernel's order, loopback left out.
[[nodiscard]] std::vector<messages::Interface> interfaces();

} // namespace tributary::launch::inventory
