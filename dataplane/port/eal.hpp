// The process's one DPDK environment, and the one buffer pool all of its ports share.
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
// Memory. All ports receive into one pool, and all emissions come from it, so that a frame received
// at one port leaves at any other without a copy, and a multicast is sent by reference count. A
// buffer holds the longest frame that the configuration allows (frame_room.hpp).
//
// Log. DPDK's, libbpf's and libxdp's messages go to spdlog's default logger.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/port/eal_plan.hpp"
#include "dataplane/port/port_error.hpp"
#include "dataplane/port/ring_links.hpp"
#include "dataplane/port/wake_up.hpp"

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

  [[nodiscard]] rte_mempool* pool() const { return pool_; }
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
  rte_mempool* pool_ = nullptr;
  RingLinks ring_links_;
  WakeUp device_events_;
};

} // namespace tributary::port
