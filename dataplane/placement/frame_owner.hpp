// The worker that must process a frame, from the frame's bytes alone. Hot path; pure.
//
//   a multicast     the worker of its tree's bucket, whatever the tree is: a NIC knows no tables
//                   either
//   a hello         the worker of the port, which watches the link
//   any other       the worker that received it
//
// A frame that only looks like one of these is processed wherever it comes: the decision about it
// is the same at all workers.
#pragma once

#include "dataplane/placement/placement.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <cstddef>

namespace tributary::placement {

/// The fewest bytes of a frame that has a destination address.
inline constexpr std::size_t addressed_frame_bytes =
    wire::ethernet_header_bytes + wire::fabric_header_bytes;

/// `self`: the worker that has the frame. `of_port`: that of its ingress port.
inline std::size_t worker_of(const std::byte* frame, std::size_t length, const Placement& placement,
                             std::size_t self, std::size_t of_port) {
  if (length < addressed_frame_bytes) [[unlikely]] {
    return self;
  }
  const std::byte* const packet = frame + wire::ethernet_header_bytes;
  const wire::FabricAddress destination = wire::dfa_of(packet);
  if (destination.is_multicast()) [[likely]] {
    return placement.worker_of(destination.tree());
  }
  return packet[0] == std::byte{0} ? of_port : self; // hello.hpp: no other packet begins with 0
}

} // namespace tributary::placement
