#include "dataplane/port/pause_frames.hpp"

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <fmt/format.h>

namespace tributary::port {

rte_eth_fc_conf without_pauses(rte_eth_fc_conf settings) {
  settings.mode = RTE_ETH_FC_NONE;
  settings.mac_ctrl_frame_fwd = 1;
  return settings;
}

std::string leave_pauses_to_the_switch(std::uint16_t port_id) {
  rte_eth_fc_conf settings{};
  int error = rte_eth_dev_flow_ctrl_get(port_id, &settings);
  if (error == 0) {
    settings = without_pauses(settings);
    error = rte_eth_dev_flow_ctrl_set(port_id, &settings);
  }
  if (error == 0) {
    return "";
  }
  return fmt::format("its driver cannot change what the NIC does with pause frames ({})",
                     rte_strerror(-error));
}

} // namespace tributary::port
