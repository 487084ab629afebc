// Several packet sockets on one interface that share what comes in (PACKET_FANOUT): the lanes of a
// raw port.
//
// The kernel's own hash knows IP and ports, and would bring all of the fabric's frames to the first
// socket. So a classic BPF program says where a frame goes: by a hash of its source and destination
// fabric addresses, so that one flow stays on one socket, in order.
#pragma once

#include <span>
#include <string>

namespace tributary::pktgen {

/// Makes a group of these sockets, which are bound to the interface. From then on each frame comes
/// in at one of them; what they received before is discarded. Throws transport::TransportError when
/// the kernel refuses.
void fan_out(std::span<const int> sockets, const std::string& interface);

} // namespace tributary::pktgen
