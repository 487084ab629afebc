// Arbitration: outputs choose, and packets move.
//
// While at most one packet leaves a port's buffers at a time, the effects of a transfer on its
// switch beyond those of `reserve` are not visible before it is over. So first all outputs choose,
// using sets alone, and then all transfers are carried out, with their buffers and packets
// prefetched.
#include "tools/simulator/engine/engine.hpp"
#include "tools/simulator/engine/pipeline.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tributary::simulator::engine {

/// Takes a credit for the virtual channel with most credits, of those that the packet may take.
inline void Engine::begin(Grant& grant) {
  Output& output = switches_.outputs[grant.port];
  const Packet& p = switches_.packet(grant.buffer, grant.place);
  output.sent += measuring_ ? 1 : 0;
  grant.behind = p.behind;
  if (p.behind != no_place) {
    fetch(&switches_.packet(grant.buffer, p.behind));
  }
  if (output.buffer == nothing) {
    return;
  }
  auto vc = static_cast<unsigned>(std::countr_zero(p.vcs));
  for (unsigned left = p.vcs & (p.vcs - 1U); left != 0; left &= left - 1) {
    const auto other = static_cast<unsigned>(std::countr_zero(left));
    vc = output.credits[other] > output.credits[vc] ? other : vc;
  }
  assert(output.credits[vc] != 0);
  if (!pauses_ && --output.credits[vc] == 0) {
    output.ready &= static_cast<std::uint8_t>(~(1U << vc));
  }
  grant.next = output.buffer + vc;
  fetch(&switches_.buffers[grant.next]);
}

inline void Engine::go(const Grant& grant) {
  Buffer& buffer = switches_.buffers[grant.buffer];
  Switch& s = switches_.all[buffer.input.at];
  const Packet p = switches_.packet(grant.buffer, grant.place);
  switches_.leave(buffer, s, p);
  transfer_events_.at(now_ + parameters_.flits)
      .push_back({grant.buffer * 64 + grant.place, p.out, grant.next == nothing});
  if (grant.next == nothing) {
    return;
  }
  Packet& moved = switches_.packet(grant.next, grant.next_place);
  moved = p;
  counters_.most_links = std::max(counters_.most_links, ++moved.links);
  head_events_.at(now_ + parameters_.hop).push_back(grant.next * 64 + grant.next_place);
}

void Engine::carry_out() {
  in_stages(
      std::span<Grant>(granted_),
      [&](Grant& g) {
        g.place =
            switches_.queue(switches_.buffers[g.buffer], switches_.outputs[g.port].local).head;
        fetch(&switches_.packet(g.buffer, g.place));
      },
      [&](Grant& g) { begin(g); },
      [&](Grant& g) {
        if (g.next != nothing) {
          g.next_place = Switches::take_place(switches_.buffers[g.next]);
          fetch(&switches_.packet(g.next, g.next_place));
        }
        if (g.behind != no_place) {
          const std::uint32_t first_port = g.port - switches_.outputs[g.port].local;
          fetch(&switches_.outputs[first_port + switches_.packet(g.buffer, g.behind).out]);
        }
      },
      [&](const Grant& g) { go(g); });
  counters_.grants += granted_.size();
  granted_.clear();
}

inline void Engine::choose(Switch& s, std::uint32_t number) {
  Output& output = switches_.outputs[s.first_port + number];
  const std::uint64_t* const readable = switches_.readable(s);
  const std::uint64_t* const requests = switches_.requests(output);
  const std::uint32_t buffer = first_from(output.turn, s.buffer_words(), [&](std::size_t i) {
    std::uint64_t asking = 0;
    for (unsigned left = output.ready; left != 0; left &= left - 1) {
      asking |= requests[i * vcs_ + static_cast<std::size_t>(std::countr_zero(left))];
    }
    return asking & readable[i];
  });
  if (buffer == nothing) {
    return;
  }
  output.turn = static_cast<std::uint16_t>(buffer + 1U < s.buffers ? buffer + 1U : 0);
  switches_.reserve(s, output.local, buffer);
  fetch(&switches_.buffers[s.first_buffer + buffer]);
  granted_.push_back({.buffer = s.first_buffer + buffer, .port = s.first_port + number});
  if (parameters_.reads > 1) {
    carry_out();
  }
}

inline void Engine::choose(Switch& s) {
  std::uint64_t* const to_choose = switches_.to_choose(s);
  for (;;) {
    const std::uint32_t output =
        first_from(s.turn, s.port_words, [&](std::size_t i) { return to_choose[i]; });
    if (output == nothing) {
      break;
    }
    clear_bit(to_choose, output);
    choose(s, output);
  }
  s.turn = static_cast<std::uint16_t>(s.turn + 1 < s.ports ? s.turn + 1 : 0);
  s.listed = false;
}

void Engine::arbitrate() {
  in_stages(
      std::span<const std::uint32_t>(switches_.changed),
      [&](std::uint32_t number) {
        Switch& s = switches_.all[number];
        for (std::size_t w = 0; w < s.port_words; ++w) {
          for (std::uint64_t left = switches_.to_choose(s)[w]; left != 0; left &= left - 1) {
            fetch(&switches_.outputs[s.first_port + w * 64 +
                                     static_cast<std::size_t>(std::countr_zero(left))]);
          }
        }
      },
      [&](std::uint32_t number) { choose(switches_.all[number]); });
  switches_.changed.clear();
  carry_out();
}

} // namespace tributary::simulator::engine
