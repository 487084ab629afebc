// Parameters of switches and links; times in ticks. A tick is the time of a flit on a link.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tributary::simulator::engine {

enum class Queueing : std::uint8_t {
  fifo, ///< a buffer has one queue: a packet waits for the one before it
  voq,  ///< a buffer has one for each output
};
enum class FlowControl : std::uint8_t {
  credits, ///< a sender knows how many packets the buffer at the other end can take
  pause,   ///< a buffer that fills up sends a stop, and a resume when it has drained
};
/// Which of the possible ports a switch takes.
enum class Spread : std::uint8_t {
  packet,  ///< any, chosen again for each packet
  flow,    ///< by a hash of source and destination: keeps their order
  credits, ///< of two drawn ports, the one with more credits
};

struct Parameters {
  std::uint32_t flits = 8;        ///< length of a packet: ticks that it takes on a link
  std::uint32_t buffer = 8;       ///< packets for each virtual channel of a port, at most 64
  std::uint32_t reads = 1;        ///< packets that may leave a port's buffers at the same time: the
                                  ///< speed-up
  std::uint32_t hop = 14;         ///< from grant to grant at the next switch, without waiting
  std::uint32_t send = 19;        ///< from a host to the grant at its switch
  std::uint32_t receive = 20;     ///< from the grant at a switch to the host, of the first flit
  std::uint32_t credit = 4;       ///< from a packet's leaving to the credit's arrival
  std::uint32_t most_links = 200; ///< below 255; a packet that crosses more is in a loop
  Queueing queueing = Queueing::fifo;
  FlowControl flow_control = FlowControl::credits;
  Spread spread = Spread::packet;

  /// Packets that may still arrive after a pause was sent. Buffers must hold more.
  [[nodiscard]] std::uint32_t headroom() const {
    return (std::max(hop, send) + credit + flits - 1) / flits + 1;
  }
};

} // namespace tributary::simulator::engine
