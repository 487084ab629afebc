// The number of workers that may send on a port, each by a transmit queue of its own. Pure.
#pragma once

#include "dataplane/config/config.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::port {

/// True: each worker runs whole switches. False: the ports of each switch are spread over all
/// workers.
constexpr bool runs_whole_switches(std::uint32_t workers, std::size_t switches) {
  return switches >= workers;
}

/// Whether several workers may send on a port at the same time: no decision needs all its waiting
/// frames in one place, neither pauses nor classes with an order, and the device can have transmit
/// queues without as many receive queues, or (AF_XDP) a pair for each worker.
inline bool may_share(const config::Port& port) {
  switch (port.kind) {
  case config::PortKind::pci:
  case config::PortKind::af_xdp:
  case config::PortKind::ring:
  case config::PortKind::null: return !port.has_edge() && port.classes.set.empty();
  case config::PortKind::pcap:
    return port.has_queue_files() && !port.has_edge() && port.classes.set.empty();
  case config::PortKind::af_packet:
  case config::PortKind::memif: break;
  }
  return false;
}

/// The number of transmit queues requested from a port's device, and of receive queues if frames
/// can be steered to them.
inline std::uint16_t wanted_senders(const config::Port& port, std::uint32_t workers,
                                    std::size_t switches) {
  return static_cast<std::uint16_t>(
      runs_whole_switches(workers, switches) || !may_share(port) ? 1 : workers);
}

/// All transmit queues of a NIC's port together hold as much as one; but each has room for at least
/// a few bursts.
constexpr std::uint16_t transmit_descriptors(std::uint16_t of_one_queue, std::uint16_t senders) {
  constexpr std::uint16_t fewest = 256;
  const auto shared = static_cast<std::uint16_t>(of_one_queue / senders);
  return shared < fewest ? fewest : shared;
}

} // namespace tributary::port
