// Sends the frames of a kernel interface by a packet socket, one burst per system call, in place:
// the kernel copies each once. DPDK's driver copies a frame to a ring first, and the kernel copies
// that again if the frame is received on this machine.
//
// Bypasses the interface's queueing discipline, as the driver does; so local packet sockets do not
// receive the frames, including DPDK's own. A frame that the interface will never accept, because
// it is longer than the MTU allows, is dropped, and counted as refused.
//
// One for each transmit queue of a port. It belongs to the queue's owner, and never blocks.
#pragma once

#include "lib/link/packet_socket.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include <rte_mbuf.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace tributary::port {

class PacketTransmitter {
public:
  /// Throws link::LinkError: the interface does not exist, or this process may not open raw
  /// sockets.
  explicit PacketTransmitter(const std::string& interface);

  /// As rte_eth_tx_burst(): frees the first frames, which were sent or dropped, and returns their
  /// number; the others remain the caller's. Fewer than `count` if the interface takes no more now,
  /// or is down.
  std::uint16_t transmit(rte_mbuf* const* frames, std::uint16_t count);

  /// Any thread: number of frames dropped because the interface never accepts them.
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

private:
  static constexpr std::uint16_t burst = 32;
  static constexpr std::size_t most_pieces = 4; ///< per frame, on average

  [[nodiscard]] std::uint16_t prepare(rte_mbuf* const* frames, std::uint16_t count);

  link::PacketSocket socket_;
  std::array<iovec, burst * most_pieces> pieces_{};
  std::array<mmsghdr, burst> messages_{};
  std::atomic<std::uint64_t> refused_{0};
};

} // namespace tributary::port
