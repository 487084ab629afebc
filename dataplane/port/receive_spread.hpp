// The fields by which a NIC spreads received frames over several queues (RSS). Pure.
//
// The fabric's frames carry neither IP nor ports, so a NIC that hashes only those leaves them all
// on its first queue. With Ethernet addresses in the hash, frames of one pair of addresses stay on
// one queue, in order.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::port {

struct ReceiveSpread {
  std::uint64_t hash_fields = 0; ///< RTE_ETH_RSS_*, among those offered; 0: no suitable hash
  std::string_view by;           ///< for operators: "Ethernet addresses"
  bool suits_the_fabric = false; ///< whether frames without IP are spread, too
};

/// The best of what a NIC offers: rte_eth_dev_info's flow_type_rss_offloads.
[[nodiscard]] ReceiveSpread receive_spread(std::uint64_t offered);

} // namespace tributary::port
