// The state of a switch while packets pass: a buffer, an output and a switch are a cache line each,
// with all that a hop needs of them.
//
// Sets of ports or buffers are in the line where they are small: a switch of up to 64 ports and 128
// buffers, two virtual channels. Those of larger ones are elsewhere (`far`, switches.hpp).
#pragma once

#include "tools/simulator/engine/bits.hpp"
#include "tools/simulator/engine/fabric.hpp"
#include "tools/simulator/engine/router.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::simulator::engine {

inline constexpr std::size_t most_vcs = Fabric::most_vcs;
inline constexpr std::uint8_t no_place = 0xFF;
inline constexpr std::uint16_t no_output = 0xFFFF;

struct Queue {
  std::uint8_t head = no_place; ///< places in the buffer
  std::uint8_t tail = no_place;
};

struct alignas(64) Buffer {
  Input input;                    ///< `local_port` for hosts
  std::uint64_t free = 0;         ///< places
  std::uint32_t sender = nothing; ///< the side that fills it, see `Sender`
  std::uint32_t first_queue = 0;  ///< voq: one for each port of the switch
  std::uint32_t wants = 0;        ///< voq: index of the set of outputs that its queues ask
  std::uint16_t local = 0;        ///< number in its switch
  std::uint16_t asks = no_output; ///< fifo: the output that its first packet asks
  Queue queue;                    ///< fifo
  std::uint8_t waiting = 0;       ///< packets in queues
  std::uint8_t arrived = 0;       ///< packets here, also those that are leaving
  std::uint8_t reads = 0;         ///< for its port's first buffer: transfers under way
  std::uint8_t vcs_waiting = 0;   ///< for its port's first buffer: channels with packets in queues
  bool paused = false;            ///< its sender received a stop
  bool dead = false;              ///< the link that fills it
};
static_assert(sizeof(Buffer) == 64);

struct alignas(64) Output {
  std::array<std::uint8_t, most_vcs> credits{}; ///< by virtual channel; with pauses 1: may send
  std::uint32_t owner = 0;                      ///< switch
  std::uint32_t buffer = nothing; ///< at the other end, of vc 0; `nothing`: a host, no link
  std::uint32_t far = 0;
  std::uint32_t sent = 0;   ///< packets, while measuring
  std::uint16_t local = 0;  ///< number in its switch
  std::uint16_t turn = 0;   ///< the buffer that is first next time
  std::uint16_t asking = 0; ///< queues that ask for it
  std::uint8_t ready = 0;   ///< virtual channels with credits
  /// Buffers that ask for a virtual channel: by word of the set, by virtual channel.
  std::array<std::uint64_t, 4> near{};
};
static_assert(sizeof(Output) == 64);

struct alignas(64) Switch {
  std::uint32_t first_port = 0;
  std::uint32_t first_buffer = 0;
  std::uint32_t far = 0;
  std::uint16_t ports = 0;
  std::uint16_t links = 0; ///< ports of the network
  std::uint16_t buffers = 0;
  std::uint16_t turn = 0; ///< the output that is first next time
  std::uint8_t port_words = 1;
  bool listed = false; ///< in Switches::changed
  bool dead = false;
  /// Outputs: free; to choose; that are asked. Then buffers that can be read.
  std::array<std::uint64_t, 5> near{};

  [[nodiscard]] std::size_t buffer_words() const { return words_for(buffers); }
};
static_assert(sizeof(Switch) == 64);

/// The side that fills a buffer and gets its credits, in four bytes: a host, or a virtual channel
/// of a port.
struct Sender {
  static constexpr std::uint32_t host_flag = 0x80000000;
  static constexpr std::uint32_t pause_flag = 0x40000000; ///< to the sender: stop
  [[nodiscard]] static std::uint32_t of_channel(std::uint32_t port, std::uint32_t vc) {
    return port * static_cast<std::uint32_t>(most_vcs) + vc;
  }
  [[nodiscard]] static bool is_host(std::uint32_t sender) { return (sender & host_flag) != 0; }
  [[nodiscard]] static bool stops(std::uint32_t sender) { return (sender & pause_flag) != 0; }
  [[nodiscard]] static std::uint32_t host(std::uint32_t sender) {
    return sender & ~(host_flag | pause_flag);
  }
  [[nodiscard]] static std::uint32_t port(std::uint32_t sender) {
    return (sender & ~pause_flag) / static_cast<std::uint32_t>(most_vcs);
  }
  [[nodiscard]] static std::uint32_t vc(std::uint32_t sender) {
    return sender % static_cast<std::uint32_t>(most_vcs);
  }
};

} // namespace tributary::simulator::engine
