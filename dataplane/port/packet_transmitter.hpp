// Sends the frames of a kernel interface by a packet socket, a burst a system call, from where they
// lie: the kernel copies each once. DPDK's driver copies a frame to a ring first, and the kernel
// copies that again wherever the frame is received on this machine.
//
// Past the interface's queueing, as the driver does; so no packet socket here hears the frames,
// DPDK's own among them. A frame that the interface will never take, because it is longer than the
// MTU allows, is dropped, and counted as refused.
//
// One for each transmit queue of a port. It belongs to whoever owns the queue, and never blocks.
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
  /// Throws link::LinkError: no such interface, or no raw sockets for this process.
  explicit PacketTransmitter(const std::string& interface);

  /// As rte_eth_tx_burst(): frees the first frames, which were sent or dropped, and says how many;
  /// the others remain the caller's. Fewer than `count` when the interface takes no more now, or is
  /// down.
  std::uint16_t transmit(rte_mbuf* const* frames, std::uint16_t count);

  /// Any thread: how many frames were dropped because the interface never takes them.
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

private:
  static constexpr std::uint16_t burst = 32;
  static constexpr std::size_t most_pieces = 4; ///< of a frame, on average

  [[nodiscard]] std::uint16_t prepare(rte_mbuf* const* frames, std::uint16_t count);

  link::PacketSocket socket_;
  std::array<iovec, burst * most_pieces> pieces_{};
  std::array<mmsghdr, burst> messages_{};
  std::atomic<std::uint64_t> refused_{0};
};

} // namespace tributary::port
