// A packet in a buffer. It moves as a whole: its flits only take time.
#pragma once

#include <cstdint>

namespace tributary::simulator::engine {

struct Packet {
  std::uint32_t created = 0;     ///< tick, modulo 2^32
  std::uint32_t entered = 0;     ///< tick at which its host began to send it
  std::uint32_t source = 0;      ///< host
  std::uint32_t destination = 0; ///< host
  std::uint16_t out = 0;         ///< port of the switch it is in, hosts' after those of links
  std::uint8_t vcs = 0;          ///< a bit for each that it may take on the link of that port
  std::uint8_t links = 0;        ///< crossed so far, those of hosts not counted
  std::uint8_t behind = 0;       ///< in the queue: the place of the next one, or `no_place`
};
static_assert(sizeof(Packet) == 24);

} // namespace tributary::simulator::engine
