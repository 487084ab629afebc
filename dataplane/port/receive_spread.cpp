#include "dataplane/port/receive_spread.hpp"

#include <rte_ethdev.h>

namespace tributary::port {

ReceiveSpread receive_spread(std::uint64_t offered) {
  constexpr std::uint64_t addresses = RTE_ETH_RSS_ETH;
  constexpr std::uint64_t payload = RTE_ETH_RSS_L2_PAYLOAD;
  constexpr std::uint64_t ip = RTE_ETH_RSS_IP;
  if ((offered & addresses) != 0) {
    return {addresses, "Ethernet addresses", true};
  }
  if ((offered & payload) != 0) {
    return {payload, "Ethernet payload", true};
  }
  if ((offered & ip) != 0) {
    return {offered & ip, "IP addresses alone", false};
  }
  return {0, "nothing", false};
}

} // namespace tributary::port
