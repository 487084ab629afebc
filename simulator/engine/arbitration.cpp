// Who goes next: outputs choose, and packets go.
//
// While one packet at most leaves a port's buffers at a time, what a transfer changes in its switch
// beyond what `reserve` says concerns nobody before it is over. So first all outputs choose, on
// sets alone, and then all transfers are carried out, with their buffers and packets asked for in
// time.
#include "simulator/engine/engine.hpp"
#include "simulator/engine/pipeline.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::simulator::engine {

void Engine::arbitrate() {
  in_stages(
      std::span<const std::uint32_t>(switches_.changed),
      [&](std::uint32_t number) {
        Switch& s = switches_.all[number];
        for (std::size_t w = 0; w < s.port_words; ++w) {
          std::uint64_t left = switches_.to_choose(s)[w] & switches_.idle(s)[w];
          for (; left != 0; left &= left - 1) {
            fetch(&switches_.outputs[s.first_port + w * 64 +
                                     static_cast<std::size_t>(std::countr_zero(left))]);
          }
        }
      },
      [&](std::uint32_t number) { choose(switches_.all[number]); });
  switches_.changed.clear();
  carry_out();
}

void Engine::choose(Switch& s) {
  std::uint64_t* const to_choose = switches_.to_choose(s);
  const std::uint64_t* const idle = switches_.idle(s);
  for (;;) {
    const std::uint32_t output =
        first_from(s.turn, s.port_words, [&](std::size_t i) { return to_choose[i] & idle[i]; });
    if (output == nothing) {
      break;
    }
    clear_bit(to_choose, output);
    choose(s, output);
  }
  // Busy ones choose when they are free again.
  std::fill_n(to_choose, s.port_words, 0);
  s.turn = static_cast<std::uint16_t>(s.turn + 1 < s.ports ? s.turn + 1 : 0);
  s.listed = false;
}

void Engine::choose(Switch& s, std::uint32_t number) {
  Output& output = switches_.outputs[s.first_port + number];
  const std::uint64_t* const readable = switches_.readable(s);
  const std::uint64_t* const requests = switches_.requests(output);
  const std::uint32_t buffer = first_from(output.turn, s.buffer_words(), [&](std::size_t i) {
    std::uint64_t asking = 0;
    for (std::size_t vc = 0; vc < vcs_; ++vc) {
      asking |= requests[i * vcs_ + vc] & -std::uint64_t{output.ready >> vc & 1U};
    }
    return asking & readable[i];
  });
  if (buffer == nothing) {
    return;
  }
  output.turn = static_cast<std::uint16_t>(buffer + 1U < s.buffers ? buffer + 1U : 0);
  switches_.reserve(s, output.local, buffer);
  fetch(&switches_.buffers[s.first_buffer + buffer]);
  granted_.push_back({s.first_buffer + buffer, s.first_port + number});
  if (parameters_.reads > 1) {
    carry_out();
  }
}

void Engine::carry_out() {
  const auto first = [&](const Grant& g) -> Packet& {
    Buffer& buffer = switches_.buffers[g.buffer];
    return switches_.packet(g.buffer,
                            switches_.queue(buffer, switches_.outputs[g.port].local).head);
  };
  const auto next = [&](const Grant& g) {
    const Output& output = switches_.outputs[g.port];
    return output.buffer + static_cast<std::uint32_t>(vc_of(first(g), output));
  };
  in_stages(
      std::span<const Grant>(granted_), [&](const Grant& g) { fetch(&first(g)); },
      [&](const Grant& g) {
        const Packet& p = first(g);
        if (p.behind != no_place) {
          fetch(&switches_.packet(g.buffer, p.behind));
        }
        if (switches_.outputs[g.port].buffer != nothing) {
          fetch(&switches_.buffers[next(g)]);
        }
      },
      [&](const Grant& g) {
        if (switches_.outputs[g.port].buffer != nothing) {
          const std::uint32_t to = next(g);
          fetch(&switches_.packet(to, Switches::next_place(switches_.buffers[to])));
        }
      },
      [&](const Grant& g) { grant(g); });
  granted_.clear();
}

void Engine::grant(const Grant& granted) {
  Output& output = switches_.outputs[granted.port];
  Buffer& buffer = switches_.buffers[granted.buffer];
  Switch& s = switches_.all[buffer.input.at];
  const std::uint8_t place = switches_.queue(buffer, output.local).head;
  const Packet p = switches_.packet(granted.buffer, place);
  switches_.leave(buffer, s, p);
  const bool leaves = output.buffer == nothing;
  transfer_events_.add(now_ + parameters_.flits,
                       {granted.buffer * 64 + place, output.local, leaves});
  ++counters_.grants;
  if (measuring_) {
    ++output.sent;
  }
  if (leaves) {
    return;
  }
  const std::size_t vc = vc_of(p, output);
  assert(output.credits[vc] != 0);
  if (!pauses_ && --output.credits[vc] == 0) {
    output.ready &= static_cast<std::uint8_t>(~(1U << vc));
  }
  const std::uint32_t to = output.buffer + static_cast<std::uint32_t>(vc);
  const std::uint8_t next_place = Switches::take_place(switches_.buffers[to]);
  Packet& moved = switches_.packet(to, next_place);
  moved = p;
  counters_.most_links = std::max(counters_.most_links, ++moved.links);
  head_events_.add(now_ + parameters_.hop, to * 64 + next_place);
}

/// Of those that it may take, the one with most credits.
std::size_t Engine::vc_of(const Packet& packet, const Output& output) {
  std::size_t vc = packet.lowest_vc;
  for (std::size_t other = vc + 1; other <= packet.highest_vc; ++other) {
    vc = output.credits[other] > output.credits[vc] ? other : vc;
  }
  return vc;
}

} // namespace tributary::simulator::engine
