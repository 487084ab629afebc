// One port: a DPDK ethernet device of any kind, or one end of a ring link.
//
// How to use it:
//
//   1. PortDevice port(configuration_port, eal);   opens, configures, starts; throws PortError
//   2. Its one worker calls receive() and transmit() (see worker.hpp).
//   3. The control thread polls link() and, when the interface, the NIC or the memif's server
//      came back, calls reopen() while the worker stays off the port; let_go() when the NIC was
//      removed. PortMonitor (worker/port_monitor.hpp) does all of this.
//   4. The destructor stops and closes it, and restores the kernel interface: our XDP
//      program detached, promiscuous mode and the up flag as before.
//
//   kind       opened as                             link is up when
//   af_xdp     net_af_xdp + XdpSteering               the interface is up and running
//   af_packet  net_af_packet, PacketTransmitter       the interface is up and running
//   pci        the NIC's own driver                   the driver reports it when polled
//   memif      net_memif; a client once its server    the peer is connected
//              is reachable
//   ring       an end of RingLinks, no device         both ends are open
//   pcap       net_pcap                               always
//   null       net_null, receives nothing             always
//
// A switch's port has one owner, which polls all receive queues, as many as the kernel interface
// spreads frames over (1 for all other kinds), and sends on one transmit queue. But where no
// decision needs all waiting frames in one place (transmit_queues.hpp), each worker has queues of
// its own: a transmit queue, if the device has that many beside the receive queues
// (queue_plan.hpp); and a receive queue, if the device can bring the frames of a worker's trees
// there (dataplane/placement/port_steering.hpp). The generator shares a port among several owners,
// each with queues of its own: pci, af_xdp, af_packet and null can have several pairs.
//
// Closing a port returns all buffers that its device held, including those that DPDK's AF_XDP
// driver leaks (af_xdp_rings.hpp), so that a port can be reopened any number of times.
#pragma once

#include "dataplane/config/config.hpp"
#include "dataplane/placement/nodes.hpp"
#include "dataplane/placement/placement.hpp"
#include "dataplane/placement/port_steering.hpp"
#include "dataplane/port/driver_descriptors.hpp"
#include "dataplane/port/eal.hpp"
#include "dataplane/port/kernel_interface.hpp"
#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/port/packet_transmitter.hpp"
#include "dataplane/port/port_error.hpp"
#include "dataplane/port/tree_steering.hpp"
#include "lib/link/xdp/xdp_steering.hpp"
#include "tributary/wire/ethernet.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rte_dev.h>
#include <rte_ethdev.h>

namespace tributary::port {

enum class LinkState : std::uint8_t {
  up,
  down, ///< present, but nothing can be sent
  away, ///< the kernel interface or the NIC does not exist any more
};

constexpr std::string_view name_of(LinkState s) {
  switch (s) {
  case LinkState::up: return "up";
  case LinkState::down: return "down";
  case LinkState::away: return "away";
  }
  return "unknown";
}

class PortDevice {
public:
  /// `queues`: pairs of a receive and a transmit queue, one per owner. `workers`: those that
  /// request a transmit and a receive queue each; see `transmit_queues` and `steering`. `sorted`: a
  /// ring port's receive queues are the other end's lanes, whose sender knows the workers. Throws
  /// PortError: a missing interface, a missing privilege, an interface that another XDP program
  /// holds, a device that DPDK cannot open or that has too few queues.
  PortDevice(const config::Port& configuration, Eal& eal, std::uint16_t queues = 1,
             std::uint16_t workers = 1, bool sorted = false);
  ~PortDevice();
  PortDevice(const PortDevice&) = delete;
  PortDevice& operator=(const PortDevice&) = delete;

  // By the worker that owns the queue only.

  /// Up to `capacity` frames; the caller owns them.
  std::uint16_t receive_from(std::uint16_t queue, rte_mbuf** frames, std::uint16_t capacity) {
    const std::uint16_t count = on_ring() ? receive_from_ring(queue, frames, capacity)
                                          : rte_eth_rx_burst(port_id_, queue, frames, capacity);
    for (std::uint16_t i = 0; i < count; ++i) {
      takes_ownership(frames[i]);
    }
    return count;
  }
  /// Sends the first frames of the burst and returns their number; the others remain the caller's.
  std::uint16_t transmit_on(std::uint16_t queue, rte_mbuf** frames, std::uint16_t count) {
    for (std::uint16_t i = 0; i < count; ++i) {
      gives_ownership(frames[i]);
    }
    if (on_ring()) {
      return ring_end_.transmit(queue, frames, count);
    }
    return transmitters_.empty() ? rte_eth_tx_burst(port_id_, queue, frames, count)
                                 : transmitters_[queue]->transmit(frames, count);
  }

  // By the worker that owns the whole port only.

  /// As receive_from, over the receive queues in turn.
  std::uint16_t receive(rte_mbuf** frames, std::uint16_t capacity) {
    const std::uint16_t count = receive_from(next_queue_, frames, capacity);
    if (++next_queue_ == receive_queues_) {
      next_queue_ = 0;
    }
    return count;
  }
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) {
    return transmit_on(0, frames, count);
  }
  /// The state last seen by `refresh_link`: whether frames can leave. Any thread.
  [[nodiscard]] LinkState link() const { return link_.load(std::memory_order_relaxed); }

  // By the control thread only.

  /// Whether the port has a device: workers stay off a port without one. It may be missing after a
  /// `reopen` that failed, and on a memif client without a server.
  [[nodiscard]] bool is_open() const { return on_ring() || port_id_ != RTE_MAX_ETHPORTS; }
  /// Queries the kernel or the driver and stores the answer. Never blocks.
  LinkState refresh_link();
  /// Speed of the link, as far as the kernel or the driver knows; 0 if unknown.
  [[nodiscard]] std::uint32_t speed_mbps() const;
  /// Frames that the device dropped before they could be received, or the kernel for lack of room
  /// in the shared ring, as far as those count them.
  [[nodiscard]] std::uint64_t missed_frames() const;
  /// Frames dropped because the interface never accepts them, such as longer than its MTU.
  [[nodiscard]] std::uint64_t refused_frames() const;
  /// Whether `reopen` makes sense: an interface that had gone away exists again under its name, a
  /// NIC exists at its PCI address and is bound, or a server listens to which a memif client is not
  /// connected; and the last attempt is not too recent. As of the last `refresh_link`.
  [[nodiscard]] bool came_back() const;
  /// Whether the NIC was removed while its device is open, and the kernel waits for `let_go`; or
  /// was reset, and comes back after it.
  [[nodiscard]] bool was_removed() const { return removed_.load(std::memory_order_acquire); }
  /// Whether it was reset. Requires `was_removed`.
  [[nodiscard]] bool was_reset() const { return reset_.load(std::memory_order_relaxed); }
  /// Steers the trees to their workers from now on; logs what the device refuses.
  void place(const placement::Placement& placement);
  /// Why frames are handed over between workers, all or those of which trees, for operators; empty
  /// if they are not, or need not be.
  [[nodiscard]] std::string why_handed_over() const;
  /// Closes the device of a removed NIC. No worker may be on the port.
  void let_go();
  /// Closes the device and opens it again. No worker may be on the port. Throws PortError; the port
  /// is then closed and away, and may be reopened again.
  void reopen();

  // Any thread.

  [[nodiscard]] const config::Port& configuration() const { return configuration_; }
  [[nodiscard]] const std::string& name() const { return configuration_.name; }
  /// The NUMA node of its NIC, whose pool it receives into.
  [[nodiscard]] placement::Node node() const { return node_; }
  [[nodiscard]] const wire::MacAddress& mac() const { return mac_; }
  /// The longest frame that the port can send and receive, in bytes without the FCS.
  [[nodiscard]] std::uint32_t longest_frame() const { return longest_frame_; }
  /// At least the number of requested pairs.
  [[nodiscard]] std::uint16_t receive_queues() const { return receive_queues_; }
  /// Number of transmit queues for the workers: one each, or 1.
  [[nodiscard]] std::uint16_t transmit_queues() const { return senders_; }
  /// Whether receive queue n is worker n's; otherwise one worker has all. Once opened, it stays so.
  [[nodiscard]] bool steered() const { return steered_; }
  /// How frames come to their trees' workers.
  [[nodiscard]] placement::Steering steering() const { return choice_.how; }
  /// Description for operators, e.g. "af_xdp eth1 (native)".
  [[nodiscard]] std::string description() const;

private:
  static constexpr unsigned least_poll_limit = 5;
  static constexpr unsigned most_poll_limit = 25;

  void open();
  void close() noexcept;
  void probe();
  void find_nic();
  void configure();
  void set_up_and_steer(const rte_eth_dev_info& info);
  void set_up(const rte_eth_dev_info& info);
  [[nodiscard]] placement::DeviceAbilities abilities(const rte_eth_dev_info& info) const;
  [[nodiscard]] placement::DeviceAbilities abilities_of_interface();
  bool steer(placement::DeviceAbilities& device);
  void report_refused();
  [[nodiscard]] std::string words_on_refused() const;
  void spread(const rte_eth_dev_info& info, rte_eth_conf& settings);
  std::uint16_t receive_from_ring(std::uint16_t queue, rte_mbuf** frames, std::uint16_t capacity) {
    return choice_.how == placement::Steering::sorted
               ? ring_end_.receive_lane(queue, frames, capacity)
               : ring_end_.receive(frames, capacity);
  }
  void listen_to_driver();
  void stop_listening() noexcept;
  static int notify_removal(std::uint16_t port, rte_eth_event_type event, void* device,
                            void* of_event);
  static int notify_reset(std::uint16_t port, rte_eth_event_type event, void* device,
                          void* of_event);
  static void notify_vfio_removal(const char* name, rte_dev_event_type event, void* device);
  void look_at_mtu();
  /// Between `open` and `close` of a ring port.
  [[nodiscard]] bool on_ring() const { return ring_end_.incoming != nullptr; }
  [[nodiscard]] std::string words_on_queues() const;
  void must(int error, std::string_view step) const;
  [[nodiscard]] bool strips_tags(const rte_eth_dev_info& info) const;
  void set_receive_queues_up(std::uint16_t descriptors);
  [[nodiscard]] bool on_kernel_interface() const;
  [[nodiscard]] bool is_memif(std::string_view role) const;
  [[nodiscard]] LinkState state_of_device();

  config::Port configuration_;
  Eal& eal_;
  placement::Node node_;
  std::uint16_t queues_;      ///< pairs asked for
  std::uint16_t workers_;     ///< that may have queues of their own
  std::uint16_t senders_ = 1; ///< with transmit queues of their own
  placement::SteeringChoice choice_;
  placement::Placement placement_{workers_};
  std::vector<std::uint8_t> hash_key_;          ///< the driver keeps a pointer
  std::unique_ptr<TreeSteering> tree_steering_; ///< with `rules` and `hash`
  std::string reported_;                        ///< about rules that it refuses
  std::uint16_t port_id_ = RTE_MAX_ETHPORTS;
  std::uint16_t receive_queues_ = 1;
  std::uint16_t next_queue_ = 0;
  RingLinks::End ring_end_;
  /// One for each transmit queue; none if DPDK's driver sends.
  std::vector<std::unique_ptr<PacketTransmitter>> transmitters_;
  std::string_view spread_by_; ///< how frames are spread over several queues, for operators
  std::atomic<LinkState> link_{LinkState::down};
  wire::MacAddress mac_{};
  std::uint32_t longest_frame_ = 0;
  std::uint64_t missed_before_ = 0;            ///< before the last reopen
  mutable std::uint64_t missed_by_kernel_ = 0; ///< since then: a packet socket resets its count
  std::uint64_t refused_before_ = 0;           ///< before the last reopen
  bool listens_ = false;                       ///< registered for driver events
  bool zero_copy_ = false;                     ///< for AF_XDP, as the kernel reported
  std::atomic<bool> removed_{false};           ///< the NIC; set by DPDK's interrupt thread
  std::atomic<bool> reset_{false};             ///< likewise, before `removed_`
  bool failed_ = false;                        ///< the last attempt to open failed
  bool opened_ = false;                        ///< at least once: workers know its queues
  bool steered_ = false;                       ///< since then
  /// Number of polls with the link not up before the port is reopened, and how many of them remain:
  /// attempts that bring no link become ever rarer.
  unsigned poll_limit_ = least_poll_limit;
  unsigned polls_left_ = 0;
  std::string device_name_;
  /// The sockets of an af_xdp or af_packet port, and related descriptors.
  std::vector<DriverDescriptor> opened_by_driver_;
  std::unique_ptr<InterfaceGuard> interface_guard_;
  std::unique_ptr<link::xdp::XdpSteering> steering_;
};

} // namespace tributary::port
