// Who acts on pause frames: the NIC or the switch. The switch pauses by class, and has to see the
// pause frames for that. A NIC would keep them to itself, and, as many do unless told otherwise,
// stop everything it sends for a pause of the whole link.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::port {

/// Has the NIC pass MAC control frames on, and neither obey nor send pauses itself. Of a device
/// that has been started. Says what kept it from that; "" when nothing did.
[[nodiscard]] std::string leave_pauses_to_the_switch(std::uint16_t port_id);

} // namespace tributary::port
