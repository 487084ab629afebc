// Several packet sockets on one interface that share the received frames (PACKET_FANOUT): the
// queues of a raw socket.
//
// The kernel's own hash covers IP and ports, and would assign all frames of another protocol to the
// first socket. So a classic BPF program assigns frames: by a hash of two of their words, so that
// frames which agree in both stay on one socket, in order.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tributary::link {

/// The words of a frame that determine its socket.
struct Spread {
  std::size_t first_word = 0; ///< offset of a four-byte word, after the Ethernet header
  std::size_t second_word = 0;
  std::string by; ///< their names, for operators: "source and destination"
};

/// Makes a group of these sockets, which are bound to the interface. From then on each frame
/// arrives at one of them; frames received before are discarded. Throws LinkError if the kernel
/// refuses.
void fan_out(std::span<const int> sockets, const std::string& interface, const Spread& spread);

} // namespace tributary::link
