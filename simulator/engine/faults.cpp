// What dies while packets are on their way, and what the neighbours do then.
#include "simulator/engine/engine.hpp"

namespace tributary::simulator::engine {

void Engine::kill_link(unicast::Network::End end) {
  const unicast::Network::End far = fabric_.network().peer(end);
  for (const unicast::Network::End e : {end, far}) {
    if (e.at == unicast::Network::nowhere) {
      continue;
    }
    for (std::uint32_t vc = 0; vc < vcs_; ++vc) {
      buffers_[switches_[e.at].first_buffer + std::uint32_t{e.port} * vcs_ + vc].dead = true;
    }
  }
}

void Engine::kill_switch(std::uint32_t s) {
  Switch& at = switches_[s];
  at.dead = true;
  for (std::uint16_t port = 0; port < at.links; ++port) {
    kill_link({s, static_cast<routing::Port>(port)});
  }
  std::vector<std::uint8_t> lost;
  for (std::uint32_t b = 0; b < at.buffers; ++b) {
    Buffer& buffer = buffers_[at.first_buffer + b];
    buffer.dead = true;
    empty_queues(buffer, lost);
    counters_.dropped[static_cast<std::size_t>(Drop::lost_in_dead_switch)] += lost.size();
    for (const std::uint8_t place : lost) {
      free_place(buffer, place, 0);
    }
  }
  for (std::size_t w = 0; w < at.port_words; ++w) {
    words(at.idle)[w] = 0;
  }
  for (std::uint32_t h = at.first_host; h < at.first_host + at.ports - at.links; ++h) {
    sources_[h].created = Traffic::never;
    sources_[h].waits = false;
  }
}

void Engine::notice(unicast::Network::End end) {
  up_.set(end.at, end.port, false);
  const Switch& at = switches_[end.at];
  if (at.dead) {
    return;
  }
  std::vector<std::uint8_t> places;
  for (std::uint32_t b = at.first_buffer; b < at.first_buffer + at.buffers; ++b) {
    Buffer& buffer = buffers_[b];
    empty_queues(buffer, places);
    for (const std::uint8_t place : places) {
      Packet& p = packet(buffer, place);
      if (p.out != end.port || route(buffer, p)) {
        join_queue(b, place);
      } else {
        free_place(buffer, place, parameters_.credit);
      }
    }
  }
}

void Engine::empty_queues(Buffer& buffer, std::vector<std::uint8_t>& places) {
  places.clear();
  const std::uint32_t first = number(buffer);
  const std::uint32_t count = voq_ ? switches_[buffer.owner].ports : 1U;
  for (std::uint32_t q = buffer.first_queue; q < buffer.first_queue + count; ++q) {
    if (queues_[q].head != no_place) {
      withdraw(buffer, packet(buffer, queues_[q].head));
    }
    for (std::uint8_t place = queues_[q].head; place != no_place;
         place = behind_[std::size_t{first} * parameters_.buffer + place]) {
      places.push_back(place);
    }
    queues_[q] = {};
  }
  buffer.waiting = 0;
}

} // namespace tributary::simulator::engine
