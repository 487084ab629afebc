// All that a scenario sends and receives through: its ports, the switch it hosts, and the source of
// the counters of the switch under test.
//
//   scenario says        what is opened
//   raw ports            raw sockets; DPDK is not started
//   other ports          DPDK devices of the switch's port kinds
//   a hosted switch      its workers, and rings to its ports in place of the scenario's ports
//   a switch's socket    a connection to it
//
// DPDK can be started once in a process, and so a Transport that needs it can be made once. It is
// made, used and destroyed on the main thread.
#pragma once

#include "dataplane/config/host_machine.hpp"
#include "lib/configuration/findings.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/transport/hosted_switch.hpp"
#include "pktgen/transport/loop.hpp"
#include "pktgen/transport/port.hpp"
#include "pktgen/transport/switch_probe.hpp"

#include <memory>
#include <vector>

namespace tributary::pktgen::transport {

class Transport {
public:
  /// Opens everything, and lets the hosted switch run. Throws when something cannot be opened:
  /// configuration::ConfigError, link::LinkError, port::PortError, service::SwitchError.
  explicit Transport(const scenario::Scenario& scenario);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// The ports that workers send and receive through, by QueuePairIndex.
  [[nodiscard]] std::vector<Port*> queue_pairs() const;
  /// By QueuePairIndex.
  [[nodiscard]] const std::vector<PortIndex>& port_of_queue_pair() const {
    return port_of_queue_pair_;
  }
  /// By PortIndex: the first queue pair of each, which represents the port (address, description,
  /// errors).
  [[nodiscard]] std::vector<Port*> ports() const;
  /// Null when no switch can be queried.
  [[nodiscard]] SwitchProbe* probe() { return probe_.get(); }

  /// The generator against itself, through the same kind of ports: `scenario` may differ from the
  /// transport's in its traffic. Where no socket can be opened on the loopback interface, through
  /// memory, and its description says so. Destroy it before the transport.
  [[nodiscard]] std::unique_ptr<LoopSwitch> loop(const scenario::Scenario& scenario);

private:
  void open_ports(const scenario::Scenario& scenario);
  void host_switch(const scenario::Scenario& scenario);

  std::unique_ptr<port::Eal> eal_;
  std::vector<std::unique_ptr<Port>> queue_pairs_;
  std::vector<PortIndex> port_of_queue_pair_;
  std::unique_ptr<HostedSwitch> hosted_; ///< stops before the ports at the far ends of its rings go
  std::unique_ptr<SwitchProbe> probe_;
};

/// Ports that the processor does not support (dataplane/config/host_machine.hpp). Pure.
[[nodiscard]] configuration::Findings refused_ports(const scenario::Scenario& scenario,
                                                    config::MemoryOrder order);

/// What DPDK is to be started for, empty of switches when it is not needed: the devices of both
/// ends of all links, the rings of the calibration, and the threads that hold buffers. Pure.
[[nodiscard]] config::Config dpdk_needs(const scenario::Scenario& scenario);

} // namespace tributary::pktgen::transport
