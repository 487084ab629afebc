// Who acts on pause frames: the NIC or the switch. The switch pauses by class, and has to see the
// pause frames for that. A NIC would keep them to itself, and, as many do unless told otherwise,
// stop everything it sends for a pause of the whole link.
#pragma once

#include <cstdint>
#include <string>

struct rte_eth_fc_conf;

namespace tributary::port {

/// What to set where a driver has `settings`: no pauses either way, MAC control frames passed on.
/// All else stays as the driver has it, also whether pauses are negotiated: drivers refuse another
/// value than the link's own, or than the one that they know.
[[nodiscard]] rte_eth_fc_conf without_pauses(rte_eth_fc_conf settings);

/// Has the NIC pass MAC control frames on, and neither obey nor send pauses itself. Of a device
/// that has been started. Says what kept it from that; "" when nothing did.
[[nodiscard]] std::string leave_pauses_to_the_switch(std::uint16_t port_id);

} // namespace tributary::port
