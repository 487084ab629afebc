// Faults while packets are in flight, and the neighbours' reaction.
#include "tools/simulator/engine/engine.hpp"

#include <algorithm>

namespace tributary::simulator::engine {

void Engine::kill_link(unicast::Network::End end) {
  for (const unicast::Network::Peer e :
       {unicast::Network::Peer(end), fabric_.network().peer(end)}) {
    if (!e) {
      continue;
    }
    const std::uint32_t first =
        switches_.all[e->at].first_buffer + std::uint32_t{e->port} * std::uint32_t{vcs_};
    for (std::uint32_t vc = 0; vc < vcs_; ++vc) {
      switches_.buffers[first + vc].dead = true;
    }
  }
}

void Engine::kill_switch(std::uint32_t s) {
  Switch& at = switches_.all[s];
  at.dead = true;
  for (std::uint16_t port = 0; port < at.links; ++port) {
    kill_link({s, static_cast<forwarding_table::Port>(port)});
  }
  std::vector<std::uint8_t> lost;
  for (std::uint32_t b = 0; b < at.buffers; ++b) {
    Buffer& buffer = switches_.buffers[at.first_buffer + b];
    buffer.dead = true;
    switches_.empty_queues(buffer, lost);
    counters_.dropped[static_cast<std::size_t>(Drop::lost_in_dead_switch)] += lost.size();
    for (const std::uint8_t place : lost) {
      free_place(buffer, place, 0);
    }
  }
  std::fill_n(switches_.idle(at), at.port_words, 0);
  std::fill_n(switches_.to_choose(at), at.port_words, 0);
  const std::uint32_t first_host = fabric_.switches()[s].first_host;
  for (std::uint32_t h = first_host; h < first_host + at.ports - at.links; ++h) {
    sources_[h].created = Traffic::never;
    sources_[h].waits = false;
  }
}

void Engine::notice(unicast::Network::End end) {
  router_.port_is_down(end);
  const Switch& at = switches_.all[end.at];
  if (at.dead) {
    return;
  }
  std::vector<std::uint8_t> places;
  for (std::uint32_t b = at.first_buffer; b < at.first_buffer + at.buffers; ++b) {
    Buffer& buffer = switches_.buffers[b];
    switches_.empty_queues(buffer, places);
    for (const std::uint8_t place : places) {
      Packet& p = switches_.packet(b, place);
      if (p.out != end.port || route(buffer, p)) {
        switches_.join(b, place);
      } else {
        free_place(buffer, place, parameters_.credit);
      }
    }
  }
}

} // namespace tributary::simulator::engine
