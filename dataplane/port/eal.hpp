// The process's one DPDK environment, and the buffer pool that all of its ports share: one for each
// NUMA node that has ports (dataplane/placement/nodes.hpp).
//
// How to use it:
//
//   1. Eal eal(configuration);                   once per process, on the main thread, before any
//                                                port; throws PortError
//   2. PortDevice port(configuration_port, eal); see port_device.hpp
//   3. Destroy the ports and the workers before the Eal.
//
// DPDK can be started only once in a process, so a second Eal in one process throws.
//
// Memory. A port receives into its node's pool, and a worker's emissions come from its own; a frame
// received at one port leaves at any other without a copy, and a multicast is sent by reference
// count. A
// buffer holds the longest frame that the configuration allows (frame_room.hpp).
//
// Log. DPDK's, libbpf's and libxdp's messages go to spdlog's default logger.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/port/eal_plan.hpp"
#include "dataplane/port/port_error.hpp"
#include "dataplane/port/ring_links.hpp"
#include "dataplane/port/wake_up.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct rte_mempool;

namespace tributary::port {

class Eal {
public:
  /// Starts DPDK as `plan_eal` decides for this configuration and this machine, and logs that.
  /// Throws HugepagesTaken (start_again.hpp) if it could run without the pages it did not get.
  explicit Eal(const config::Config& configuration);
  ~Eal();
  Eal(const Eal&) = delete;
  Eal& operator=(const Eal&) = delete;

  /// The node's, else the first.
  [[nodiscard]] rte_mempool* pool(placement::Node node = placement::any_node) const {
    return pools_[placement::pool_of(plan_.pools, node)];
  }
  /// The node that a worker is pinned to, as far as known.
  [[nodiscard]] placement::Node node_of_worker(std::size_t index) const {
    return index < plan_.nodes_of_workers.size() ? plan_.nodes_of_workers[index]
                                                 : placement::any_node;
  }
  [[nodiscard]] const EalPlan& plan() const { return plan_; }
  /// The in-process links that `ring` ports open; used by PortDevice.
  [[nodiscard]] RingLinks& ring_links() { return ring_links_; }
  /// Signalled when a driver reports that a link has changed or a NIC is being removed; for the
  /// control thread, which then checks the ports.
  [[nodiscard]] WakeUp& device_events() { return device_events_; }
  /// Buffers that are neither in use by a port nor held anywhere. Any thread; for tests and
  /// statistics.
  [[nodiscard]] std::uint32_t free_buffers() const;

private:
  EalPlan plan_;
  std::vector<rte_mempool*> pools_; ///< as `plan_.pools`
  RingLinks ring_links_;
  WakeUp device_events_;
};

} // namespace tributary::port
