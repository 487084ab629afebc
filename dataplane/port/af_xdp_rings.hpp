// The buffers that DPDK's AF_XDP driver leaks when it closes a socket: those that it gave to the
// kernel and has not got back. They are read from the rings that the socket shares with the kernel,
// which this process has mapped.
//
//   receiving   a buffer leaves by the fill ring and comes back by the receive ring
//   sending     it leaves by the transmit ring and comes back by the completion ring
//
//   const std::vector<rte_mbuf*> left = left_in_rings(opened, pool);   // everything else drained
//   ... the driver closes the device ...
//   close_forgotten(opened);
//   free `left`                                  // the kernel may write into them until then
//
// Both counts are exact if the kernel copies: it takes buffers in order, and only for frames that
// it gives to the socket. A NIC that receives into the buffers directly may reuse a buffer before
// it comes back; one whose order the rings do not show is not returned.
//
// Control thread only; no worker may be on the port.
#pragma once

#include "dataplane/port/driver_descriptors.hpp"

#include <cstdint>
#include <span>
#include <vector>

struct rte_mbuf;
struct rte_mempool;

namespace tributary::port {

/// Buffers that the driver puts into the fill ring of each queue when it opens it.
inline constexpr std::uint32_t af_xdp_buffers_per_queue = 2048;

/// Whether the kernel delivers all queues' frames without copying, as it reported when the sockets
/// were bound. False if `opened` has no socket.
[[nodiscard]] bool is_zero_copy(std::span<const DriverDescriptor> opened);

/// Each once. `opened`: by the driver; the AF_XDP sockets among them use the pool as their memory.
[[nodiscard]] std::vector<rte_mbuf*> left_in_rings(std::span<const DriverDescriptor> opened,
                                                   const rte_mempool& pool);

/// Closes the descriptors that the driver has left open, and unmaps the rings of sockets among
/// them; otherwise the kernel would keep the interface's queue for them.
void close_forgotten(std::span<const DriverDescriptor> opened);

} // namespace tributary::port
