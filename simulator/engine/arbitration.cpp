// Who goes next: outputs choose, and what a packet's leaving sets free.
#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::simulator::engine {

void Engine::arbitrate(std::uint32_t s) {
  Switch& at = switches_[s];
  std::uint64_t* const changed = words(at.changed);
  const std::uint64_t* const idle = words(at.idle);
  for (;;) {
    const std::uint32_t output =
        first_from(at.turn, at.port_words, [&](std::size_t i) { return changed[i] & idle[i]; });
    if (output == nothing) {
      break;
    }
    clear_bit(changed, output);
    choose(at, output);
  }
  // Busy ones choose when they are free again.
  std::fill_n(changed, at.port_words, 0);
  at.turn = static_cast<std::uint16_t>(at.turn + 1 < at.ports ? at.turn + 1 : 0);
  at.listed = false;
}

void Engine::choose(Switch& at, std::uint32_t number) {
  Output& output = outputs_[at.first_port + number];
  const std::uint64_t* const readable = words(at.readable);
  const std::uint64_t* const requests = words(output.requests);
  const std::uint8_t* const credits = &credits_[(std::size_t{at.first_port} + number) * vcs_];
  const std::size_t count = at.buffer_words;
  const bool to_host = number >= at.links;
  const std::uint32_t buffer = first_from(output.turn, count, [&](std::size_t i) {
    std::uint64_t asking = to_host || credits[0] != 0 ? requests[i] : 0;
    for (std::size_t vc = 1; vc < vcs_; ++vc) {
      asking |= credits[vc] != 0 ? requests[vc * count + i] : 0;
    }
    return asking & readable[i];
  });
  if (buffer != nothing) {
    output.turn = static_cast<std::uint16_t>(buffer + 1U < at.buffers ? buffer + 1U : 0);
    grant(at, output, buffers_[at.first_buffer + buffer]);
  }
}

void Engine::grant(Switch& at, Output& output, Buffer& buffer) {
  const std::uint32_t from = number(buffer);
  const std::size_t first_place = std::size_t{from} * parameters_.buffer;
  Queue& queue = queues_[buffer.first_queue + (voq_ ? output.local : 0U)];
  const std::uint8_t place = queue.head;
  const Packet p = packets_[first_place + place];
  withdraw(buffer, p);
  queue.head = behind_[first_place + place];
  --buffer.waiting;

  clear_bit(words(at.idle), output.local);
  const std::uint32_t first_sibling = from - buffer.vc;
  const bool is_last_read = ++reads_[first_sibling] == parameters_.reads;
  if (is_last_read) {
    const std::size_t siblings = buffer.in == routing::local_port ? 1 : vcs_;
    for (std::size_t i = 0; i < siblings; ++i) {
      clear_bit(words(at.readable), buffer.siblings + i);
    }
  }
  if (queue.head != no_place) {
    const Packet& next = packets_[first_place + queue.head];
    ask(buffer, next);
    if (!is_last_read) {
      changed(buffer.owner, next.out);
    }
  }
  transfer_events_.add(now_ + parameters_.flits, {from * 64 + place, at.first_port + output.local});
  ++counters_.grants;
  if (measuring_) {
    ++sent_[at.first_port + output.local];
  }
  if (output.buffer == nothing) {
    return; // to a host
  }
  std::uint8_t* const credits = &credits_[(std::size_t{at.first_port} + output.local) * vcs_];
  std::size_t vc = p.lowest_vc;
  for (std::size_t other = vc + 1; other <= p.highest_vc; ++other) {
    vc = credits[other] > credits[vc] ? other : vc;
  }
  assert(credits[vc] != 0);
  if (!pauses_) {
    --credits[vc];
  }
  Buffer& next = buffers_[output.buffer + vc];
  assert(next.free != 0);
  const auto next_place = static_cast<std::uint8_t>(std::countr_zero(next.free));
  next.free &= next.free - 1;
  Packet& moved = packet(next, next_place);
  moved = p;
  counters_.most_links = std::max(counters_.most_links, ++moved.links);
  head_events_.add(now_ + parameters_.hop,
                   (output.buffer + static_cast<std::uint32_t>(vc)) * 64 + next_place);
}

void Engine::transfer_done(const Transfer& done) {
  ++counters_.events;
  Buffer& buffer = buffers_[done.place / 64];
  const auto place = static_cast<std::uint8_t>(done.place % 64);
  Switch& at = switches_[buffer.owner];
  const Output& output = outputs_[done.port];
  if (output.buffer == nothing) {
    if (at.dead) {
      ++counters_.dropped[static_cast<std::size_t>(Drop::lost_in_dead_switch)];
    } else {
      const Packet& p = packet(buffer, place);
      ++counters_.delivered;
      if (measuring_) {
        const std::uint64_t arrives = now_ + parameters_.receive - 1;
        latencies_.from_creation.record(static_cast<std::uint32_t>(arrives - p.created));
        latencies_.from_entry.record(static_cast<std::uint32_t>(arrives - p.entered));
      }
    }
  }
  free_place(buffer, place, parameters_.credit);
  if (at.dead) {
    return;
  }
  const std::uint32_t first_sibling = done.place / 64 - buffer.vc;
  const std::size_t siblings = buffer.in == routing::local_port ? 1 : vcs_;
  --reads_[first_sibling];
  set_bit(words(at.idle), output.local);
  const std::uint64_t* const idle = words(at.idle);
  std::uint64_t* const changed_outputs = words(at.changed);
  for (std::size_t i = 0; i < siblings; ++i) {
    set_bit(words(at.readable), buffer.siblings + i);
    const std::uint64_t* const wants = words(buffers_[first_sibling + i].wants);
    for (std::size_t w = 0; w < at.port_words; ++w) {
      changed_outputs[w] |= wants[w] & idle[w];
    }
  }
  changed(buffer.owner, output.local);
}

} // namespace tributary::simulator::engine
