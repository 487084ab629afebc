// Several packet sockets on one interface that share what comes in (PACKET_FANOUT): the lanes of a
// raw socket.
//
// The kernel's own hash knows IP and ports, and would bring all frames of another protocol to the
// first socket. So a classic BPF program says where a frame goes: by a hash of two of its words, so
// that what agrees in both stays on one socket, in order.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tributary::link {

/// By which words of a frame it is told for whom it is.
struct Spread {
  std::size_t first_word = 0; ///< where one of four bytes is, behind the Ethernet header
  std::size_t second_word = 0;
  std::string by; ///< what they are, for a person: "source and destination"
};

/// Makes a group of these sockets, which are bound to the interface. From then on each frame comes
/// in at one of them; what they received before is discarded. Throws LinkError when
/// the kernel refuses.
void fan_out(std::span<const int> sockets, const std::string& interface, const Spread& spread);

} // namespace tributary::link
