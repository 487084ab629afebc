// Whether the NIC or the switch acts on pause frames. The switch pauses by class, and must receive
// the pause frames for that. A NIC would consume them, and many NICs by default stop all
// transmission for a pause of the whole link.
#pragma once

#include <cstdint>
#include <string>

struct rte_eth_fc_conf;

namespace tributary::port {

/// New settings for a driver with `settings`: no pauses either way, MAC control frames passed on.
/// All other values stay, including whether pauses are negotiated: drivers refuse values that
/// differ from the link's own, or from the one they support.
[[nodiscard]] rte_eth_fc_conf without_pauses(rte_eth_fc_conf settings);

/// Makes the NIC pass MAC control frames on, and neither obey nor send pauses itself. Requires a
/// started device. Returns what prevented it; "" on success.
[[nodiscard]] std::string leave_pauses_to_the_switch(std::uint16_t port_id);

} // namespace tributary::port
