#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::simulator::engine {
namespace {

std::uint32_t hash_of_flow(const Packet& packet, std::uint32_t at) {
  std::uint64_t h = (std::uint64_t{packet.source} << 32 | packet.destination) + at;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9ULL;
  h = (h ^ h >> 27) * 0x94D049BB133111EBULL;
  return static_cast<std::uint32_t>(h >> 32);
}

/// Hosts that have nothing to send for longer look at the clock in between.
constexpr std::uint64_t longest_sleep = 1'023;

} // namespace

Engine::Engine(const Fabric& fabric, const Parameters& parameters, const unicast::TableSet& tables,
               unicast::PortStates up, Traffic& traffic, std::uint64_t seed)
    : fabric_(fabric), parameters_(parameters), traffic_(traffic), up_(std::move(up)),
      random_(seed), vcs_(fabric.vcs()), voq_(parameters.queueing == Queueing::voq),
      pauses_(parameters.flow_control == FlowControl::pause),
      credit_events_(parameters.flits + parameters.credit), transfer_events_(parameters.flits),
      head_events_(std::max(parameters.hop, parameters.send)), host_events_(longest_sleep) {
  pause_above_ =
      static_cast<std::uint8_t>(pauses_ ? parameters_.buffer - parameters_.headroom() : 0);
  for (const routing::SwitchTable& table : tables.switches) {
    tables_.push_back(&table);
  }
  const auto set = [&](std::size_t count) {
    const auto at = static_cast<std::uint32_t>(sets_.size());
    sets_.resize(sets_.size() + count);
    return at;
  };
  const std::uint64_t all_free = ~std::uint64_t{0} >> (64 - parameters_.buffer);
  std::uint32_t queues = 0;
  for (const Fabric::Switch& of : fabric.switches()) {
    Switch& s = switches_.emplace_back();
    static_cast<Fabric::Switch&>(s) = of;
    s.port_words = static_cast<std::uint16_t>(words_for(of.ports));
    s.buffer_words = static_cast<std::uint16_t>(words_for(of.buffers));
    s.idle = set(s.port_words);
    s.changed = set(s.port_words);
    s.readable = set(s.buffer_words);
    for (std::uint32_t p = 0; p < of.ports; ++p) {
      Output& output = outputs_.emplace_back();
      static_cast<Fabric::Port&>(output) = fabric.ports()[of.first_port + p];
      output.requests = set(std::size_t{vcs_} * s.buffer_words);
      set_bit(words(s.idle), p);
    }
    for (std::uint32_t b = 0; b < of.buffers; ++b) {
      Buffer& buffer = buffers_.emplace_back();
      static_cast<Fabric::Buffer&>(buffer) = fabric.buffers()[of.first_buffer + b];
      buffer.free = all_free;
      buffer.wants = set(s.port_words);
      buffer.first_queue = queues;
      queues += voq_ ? of.ports : 1U;
      set_bit(words(s.readable), b);
    }
  }
  const auto capacity = static_cast<std::uint8_t>(pauses_ ? 1 : parameters_.buffer);
  credits_.assign(outputs_.size() * vcs_, capacity);
  reads_.assign(buffers_.size(), 0);
  packets_.resize(buffers_.size() * parameters_.buffer);
  behind_.assign(packets_.size(), no_place);
  queues_.resize(queues);
  sent_.resize(outputs_.size());
  for (std::uint32_t h = 0; h < fabric.hosts(); ++h) {
    sources_.push_back({traffic_.first(h), 0, fabric.buffer_of_host(h), capacity, false});
    wake_host(h, sources_.back().created);
  }
}

void Engine::run(std::uint64_t ticks) {
  for (const std::uint64_t end = now_ + ticks; now_ < end && !goes_round();) {
    tick();
  }
}

void Engine::tick() {
  ++now_;
  credit_events_.take(now_, [this](std::uint32_t channel) { credit_back(channel); });
  transfer_events_.take(now_, [this](const Transfer& done) { transfer_done(done); });
  host_events_.take(now_, [this](std::uint32_t host) { send_from_host(host); });
  head_events_.take(now_, [this](std::uint32_t place) { head_arrives(place); });
  for (const std::uint32_t s : changed_switches_) {
    arbitrate(s);
  }
  changed_switches_.clear();
}

void Engine::start_measuring() {
  before_ = counters_;
  measuring_ = true;
}

void Engine::credit_back(std::uint32_t channel) {
  ++counters_.events;
  if ((channel & Fabric::host_flag) != 0) {
    const std::uint32_t host = channel & ~(Fabric::host_flag | pause_flag);
    Source& source = sources_[host];
    source.credits = static_cast<std::uint8_t>(pauses_ ? ((channel & pause_flag) != 0 ? 0 : 1)
                                                       : source.credits + 1);
    if (source.waits && source.credits != 0) {
      source.waits = false;
      send_from_host(host);
    }
    return;
  }
  if ((channel & pause_flag) != 0) {
    credits_[channel & ~pause_flag] = 0;
    return;
  }
  std::uint8_t& credits = credits_[channel];
  if (credits != 0) {
    credits = static_cast<std::uint8_t>(pauses_ ? 1 : credits + 1);
    return;
  }
  credits = 1;
  const Output& output = outputs_[channel / vcs_];
  changed(output.owner, output.local);
}

void Engine::send_from_host(std::uint32_t host) {
  Source& source = sources_[host];
  const std::uint64_t ready = std::max(source.created, source.free_at);
  if (ready > now_) {
    wake_host(host, ready);
    return;
  }
  if (source.credits == 0) {
    source.waits = true;
    return;
  }
  const std::uint32_t destination = traffic_.destination(host);
  if (destination == Traffic::nobody) {
    source.created = Traffic::never;
    return;
  }
  Buffer& buffer = buffers_[source.buffer];
  assert(buffer.free != 0);
  const auto place = static_cast<std::uint8_t>(std::countr_zero(buffer.free));
  buffer.free &= buffer.free - 1;
  packet(buffer, place) = {.created = static_cast<std::uint32_t>(source.created),
                           .entered = static_cast<std::uint32_t>(now_),
                           .source = host,
                           .destination = destination};
  ++counters_.injected;
  if (!pauses_) {
    --source.credits;
  }
  head_events_.add(now_ + parameters_.send, source.buffer * 64 + place);
  source.free_at = now_ + parameters_.flits;
  source.created = traffic_.next(host, source.created);
  wake_host(host, std::max(source.created, source.free_at));
}

void Engine::wake_host(std::uint32_t host, std::uint64_t at) {
  if (at != Traffic::never) {
    host_events_.add(std::clamp(at, now_ + 1, now_ + longest_sleep), host);
  }
}

void Engine::head_arrives(std::uint32_t place_number) {
  ++counters_.events;
  Buffer& buffer = buffers_[place_number / 64];
  const auto place = static_cast<std::uint8_t>(place_number % 64);
  if (buffer.dead) {
    buffer.free |= std::uint64_t{1} << place;
    ++counters_.dropped[static_cast<std::size_t>(Drop::lost_on_dead_link)];
    return;
  }
  ++buffer.arrived;
  if (pauses_ && !buffer.paused && buffer.arrived >= pause_above_ && buffer.channel != nothing) {
    buffer.paused = true;
    credit_events_.add(now_ + parameters_.credit, buffer.channel | pause_flag);
  }
  if (route(buffer, packet(buffer, place))) {
    join_queue(place_number / 64, place);
  } else {
    // The place is free when all of it has come and was thrown away.
    free_place(buffer, place, parameters_.flits + parameters_.credit);
  }
}

bool Engine::route(const Buffer& in, Packet& packet) {
  const std::uint32_t destination = fabric_.switch_of_host(packet.destination);
  const std::uint32_t entropy = parameters_.spread == Spread::flow
                                    ? hash_of_flow(packet, in.owner)
                                    : static_cast<std::uint32_t>(random_.next() >> 32);
  const routing::Decision decision = decide(in, packet, destination, entropy);
  if (observer_) {
    observer_({now_, in.owner, in.in, in.vc, entropy, packet, decision});
  }
  switch (decision.outcome) {
  case routing::Outcome::deliver:
    packet.out = fabric_.port_of_host(packet.destination);
    packet.lowest_vc = packet.highest_vc = 0;
    return true;
  case routing::Outcome::forward:
    packet.out = decision.port;
    packet.lowest_vc = decision.lowest_vc;
    packet.highest_vc = decision.highest_vc;
    return true;
  case routing::Outcome::dest_dead:
    ++counters_.dropped[static_cast<std::size_t>(Drop::dest_dead)];
    break;
  case routing::Outcome::no_vc: ++counters_.dropped[static_cast<std::size_t>(Drop::no_vc)]; break;
  case routing::Outcome::no_route:
    ++counters_.dropped[static_cast<std::size_t>(Drop::no_route)];
    break;
  }
  return false;
}

routing::Decision Engine::decide(const Buffer& in, const Packet& packet, std::uint32_t destination,
                                 std::uint32_t entropy) const {
  const routing::SwitchTable& table = *tables_[in.owner];
  if (destination >= table.destinations && destination != table.self) {
    return {};
  }
  const auto up = up_.of(in.owner);
  routing::Decision decision = routing::decide(table, in.in, in.vc, destination, up, entropy);
  if (parameters_.spread == Spread::credits && decision.outcome == routing::Outcome::forward) {
    decision.port =
        most_credits(in.owner, routing::candidates(table, in.in, in.vc, destination, up), entropy);
  }
  static_cast<void>(packet);
  return decision;
}

routing::Port Engine::most_credits(std::uint32_t s, const routing::Candidates& may,
                                   std::uint32_t entropy) const {
  routing::Port best = 0;
  std::uint64_t best_score = 0;
  may.for_each(up_.of(s), [&](routing::Port port) {
    const std::size_t channel = (std::size_t{switches_[s].first_port} + port) * vcs_;
    std::uint64_t credits = 0;
    for (std::size_t vc = may.lowest_vc; vc <= may.highest_vc; ++vc) {
      credits += credits_[channel + vc];
    }
    // Among equals the entropy says; never 0, so that there is always a best one.
    const std::uint64_t score =
        (credits << 32 | ((entropy ^ port * 0x9E3779B9U) * 0x85EBCA6BU)) + 1;
    if (score > best_score) {
      best_score = score;
      best = port;
    }
  });
  return best;
}

void Engine::join_queue(std::uint32_t buffer_number, std::uint8_t place) {
  Buffer& buffer = buffers_[buffer_number];
  const Packet& p = packet(buffer, place);
  Queue& queue = queues_[queue_of(buffer, p)];
  ++buffer.waiting;
  behind_[std::size_t{buffer_number} * parameters_.buffer + place] = no_place;
  if (queue.head != no_place) {
    behind_[std::size_t{buffer_number} * parameters_.buffer + queue.tail] = place;
    queue.tail = place;
    return;
  }
  queue.head = queue.tail = place;
  ask(buffer, p);
  changed(buffer.owner, p.out);
}

void Engine::ask(const Buffer& buffer, const Packet& p) {
  const Switch& s = switches_[buffer.owner];
  std::uint64_t* const requests = words(outputs_[s.first_port + p.out].requests);
  for (std::size_t vc = p.lowest_vc; vc <= p.highest_vc; ++vc) {
    set_bit(requests + vc * s.buffer_words, buffer.local);
  }
  set_bit(words(buffer.wants), p.out);
}

void Engine::withdraw(const Buffer& buffer, const Packet& p) {
  const Switch& s = switches_[buffer.owner];
  std::uint64_t* const requests = words(outputs_[s.first_port + p.out].requests);
  for (std::size_t vc = p.lowest_vc; vc <= p.highest_vc; ++vc) {
    clear_bit(requests + vc * s.buffer_words, buffer.local);
  }
  clear_bit(words(buffer.wants), p.out);
}

void Engine::free_place(Buffer& buffer, std::uint8_t place, std::uint32_t delay) {
  buffer.free |= std::uint64_t{1} << place;
  --buffer.arrived;
  if (buffer.channel == nothing || buffer.dead) {
    return;
  }
  if (!pauses_) {
    credit_events_.add(now_ + delay, buffer.channel);
  } else if (buffer.paused && buffer.arrived < pause_above_) {
    buffer.paused = false;
    credit_events_.add(now_ + delay, buffer.channel);
  }
}

void Engine::changed(std::uint32_t s, std::uint32_t output) {
  Switch& at = switches_[s];
  set_bit(words(at.changed), output);
  if (!at.listed) {
    at.listed = true;
    changed_switches_.push_back(s);
  }
}

std::uint64_t Engine::count_inside() const {
  std::uint64_t inside = 0;
  head_events_.for_each([&](std::uint32_t) { ++inside; });
  transfer_events_.for_each([&](const Transfer& transfer) {
    inside += outputs_[transfer.port].buffer == nothing ? 1U : 0U;
  });
  for (const Buffer& buffer : buffers_) {
    inside += buffer.waiting;
  }
  return inside;
}

void Engine::stop_sources() {
  for (Source& source : sources_) {
    source.created = Traffic::never;
    source.waits = false;
  }
}

} // namespace tributary::simulator::engine
