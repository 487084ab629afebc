// A head has arrived: routing.
#include "tools/simulator/engine/engine.hpp"
#include "tools/simulator/engine/pipeline.hpp"

namespace tributary::simulator::engine {
namespace {

std::uint32_t hash_of_flow(const Packet& packet, std::uint32_t at) {
  std::uint64_t h = (std::uint64_t{packet.source} << 32 | packet.destination) + at;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9ULL;
  h = (h ^ h >> 27) * 0x94D049BB133111EBULL;
  return static_cast<std::uint32_t>(h >> 32);
}

} // namespace

bool Engine::route(const Buffer& in, Packet& packet) {
  const std::uint32_t destination = fabric_.switch_of_host(packet.destination);
  const std::uint32_t entropy = parameters_.spread == Spread::flow
                                    ? hash_of_flow(packet, in.input.at)
                                    : static_cast<std::uint32_t>(random_.next() >> 32);
  forwarding_table::Decision decision = router_.decide(in.input, destination, entropy);
  if (parameters_.spread == Spread::credits &&
      decision.outcome == forwarding_table::Outcome::forward) {
    decision.port =
        better_of_two(in.input, router_.candidates(in.input, destination), decision.port);
  }
  if (observer_) {
    observer_({now_, in.input.at, in.input.port, in.input.vc, entropy, packet, decision});
  }
  if (decision.outcome == forwarding_table::Outcome::forward) {
    packet.out = decision.port;
    packet.vcs =
        static_cast<std::uint8_t>((2U << decision.highest_vc) - (1U << decision.lowest_vc));
    return true;
  }
  if (decision.outcome == forwarding_table::Outcome::deliver) {
    packet.out = fabric_.port_of_host(packet.destination);
    packet.vcs = 1;
    return true;
  }
  const Drop reason = decision.outcome == forwarding_table::Outcome::dest_dead ? Drop::dest_dead
                      : decision.outcome == forwarding_table::Outcome::no_vc   ? Drop::no_vc
                                                                               : Drop::no_route;
  ++counters_.dropped[static_cast<std::size_t>(reason)];
  return false;
}

forwarding_table::Port Engine::better_of_two(const Input& in,
                                             const forwarding_table::Candidates& may,
                                             forwarding_table::Port first) {
  const auto credits = [&](forwarding_table::Port port) {
    const Output& output = switches_.outputs[switches_.all[in.at].first_port + port];
    unsigned sum = 0;
    for (std::size_t vc = may.lowest_vc; vc <= may.highest_vc; ++vc) {
      sum += output.credits[vc];
    }
    return sum;
  };
  unsigned others = 0;
  may.for_each(router_.up(in.at),
               [&](forwarding_table::Port port) { others += port != first ? 1U : 0U; });
  if (others == 0) {
    return first;
  }
  std::uint64_t left = random_.below(others);
  forwarding_table::Port second = first;
  may.for_each(router_.up(in.at), [&](forwarding_table::Port port) {
    if (port != first && left-- == 0) {
      second = port;
    }
  });
  return credits(second) > credits(first) ? second : first;
}

inline void Engine::head_arrives(std::uint32_t place_number) {
  Buffer& buffer = switches_.buffers[place_number / 64];
  const auto place = static_cast<std::uint8_t>(place_number % 64);
  Packet& packet = switches_.packet(place_number / 64, place);
  if (buffer.dead) {
    buffer.free |= std::uint64_t{1} << place;
    ++counters_.dropped[static_cast<std::size_t>(Drop::lost_on_dead_link)];
    packet.out = no_output;
    return;
  }
  ++buffer.arrived;
  if (pauses_ && !buffer.paused && buffer.arrived >= pause_above_ && buffer.sender != nothing) {
    buffer.paused = true;
    credit_events_.at(now_ + parameters_.credit).push_back(buffer.sender | Sender::pause_flag);
  }
  if (!route(buffer, packet)) {
    packet.out = no_output;
    // The place is free when the whole packet has arrived and was thrown away.
    free_place(buffer, place, parameters_.flits + parameters_.credit);
  }
}

void Engine::take_heads() {
  in_stages(
      head_events_.due(now_),
      [&](std::uint32_t place) {
        fetch(&switches_.buffers[place / 64]);
        fetch(&switches_.packet(place / 64, place % 64));
      },
      [&](std::uint32_t place) {
        const Input& in = switches_.buffers[place / 64].input;
        const std::uint32_t destination =
            fabric_.switch_of_host(switches_.packet(place / 64, place % 64).destination);
        if (destination < in.destinations) {
          fetch(&in.row[destination]);
        }
        switches_.fetch_tail(place / 64);
      },
      [&](std::uint32_t place) {
        head_arrives(place);
        const std::uint16_t out = switches_.packet(place / 64, place % 64).out;
        if (out != no_output) {
          const Switch& s = switches_.all[switches_.buffers[place / 64].input.at];
          fetch(&switches_.outputs[s.first_port + out]);
        }
      },
      [&](std::uint32_t place) {
        if (switches_.packet(place / 64, place % 64).out != no_output) {
          switches_.join(place / 64, place % 64);
        }
      });
  counters_.events += head_events_.due(now_).size();
  head_events_.forget(now_);
}

} // namespace tributary::simulator::engine
