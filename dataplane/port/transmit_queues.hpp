// By how many workers frames of a port may leave, each by a transmit queue of its own. Pure.
#pragma once

#include "dataplane/config/config.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::port {

/// Each worker runs whole switches; or the ports of each switch are dealt out to all workers.
constexpr bool runs_whole_switches(std::uint32_t workers, std::size_t switches) {
  return switches >= workers;
}

/// Whether several workers may send by a port at once: nothing looks at all that waits there
/// together, neither pauses nor classes that are served in an order, and the device can have
/// transmit queues without as many receive queues.
inline bool may_share(const config::Port& port) {
  switch (port.kind) {
  case config::PortKind::pci:
  case config::PortKind::ring:
  case config::PortKind::null: return !port.has_edge() && port.classes.set.empty();
  case config::PortKind::af_xdp:
  case config::PortKind::af_packet:
  case config::PortKind::memif:
  case config::PortKind::pcap: break;
  }
  return false;
}

/// How many transmit queues a port's device is asked for.
inline std::uint16_t wanted_senders(const config::Port& port, std::uint32_t workers,
                                    std::size_t switches) {
  return static_cast<std::uint16_t>(
      runs_whole_switches(workers, switches) || !may_share(port) ? 1 : workers);
}

/// What a NIC has not sent yet of all queues of a port is to be as much as of one; but no queue is
/// to have less than a few bursts.
constexpr std::uint16_t transmit_descriptors(std::uint16_t of_one_queue, std::uint16_t senders) {
  constexpr std::uint16_t fewest = 256;
  const auto shared = static_cast<std::uint16_t>(of_one_queue / senders);
  return shared < fewest ? fewest : shared;
}

} // namespace tributary::port
