// What a departing packet frees, here and at its sender.
#include "tools/simulator/engine/engine.hpp"
#include "tools/simulator/engine/pipeline.hpp"

namespace tributary::simulator::engine {

inline void Engine::transfer_done(const Transfer& done) {
  Buffer& buffer = switches_.buffers[done.place / 64];
  const auto place = static_cast<std::uint8_t>(done.place % 64);
  Switch& at = switches_.all[buffer.input.at];
  if (done.leaves) {
    if (at.dead) {
      ++counters_.dropped[static_cast<std::size_t>(Drop::lost_in_dead_switch)];
    } else {
      const Packet& p = switches_.packet(done.place / 64, place);
      ++counters_.delivered;
      if (measuring_) {
        const std::uint64_t arrives = now_ + parameters_.receive - 1;
        latencies_.from_creation.record(static_cast<std::uint32_t>(arrives - p.created));
        latencies_.from_entry.record(static_cast<std::uint32_t>(arrives - p.entered));
      }
    }
  }
  free_place(buffer, place, parameters_.credit);
  if (!at.dead) {
    switches_.release(at, done.output, buffer);
  }
}

void Engine::take_transfers() {
  in_stages(
      transfer_events_.due(now_),
      [&](const Transfer& done) {
        fetch(&switches_.buffers[done.place / 64]);
        if (done.leaves) {
          fetch(&switches_.packet(done.place / 64, done.place % 64));
        }
      },
      [&](const Transfer& done) { transfer_done(done); });
  counters_.events += transfer_events_.due(now_).size();
  transfer_events_.forget(now_);
}

inline void Engine::credit_back(std::uint32_t sender) {
  const bool stop = Sender::stops(sender);
  if (Sender::is_host(sender)) {
    Source& source = sources_[Sender::host(sender)];
    source.credits = static_cast<std::uint8_t>(pauses_ ? (stop ? 0 : 1) : source.credits + 1);
    if (source.waits && source.credits != 0) {
      source.waits = false;
      ready_.push_back(Sender::host(sender));
    }
    return;
  }
  Output& output = switches_.outputs[Sender::port(sender)];
  std::uint8_t& credits = output.credits[Sender::vc(sender)];
  const auto bit = static_cast<std::uint8_t>(1U << Sender::vc(sender));
  if (stop) {
    credits = 0;
    output.ready &= static_cast<std::uint8_t>(~bit);
    return;
  }
  if (credits != 0) {
    credits = static_cast<std::uint8_t>(pauses_ ? 1 : credits + 1);
    return;
  }
  credits = 1;
  output.ready |= bit;
  switches_.may_choose(switches_.all[output.owner], output.local);
}

void Engine::take_credits() {
  in_stages(
      credit_events_.due(now_),
      [&](std::uint32_t sender) {
        if (Sender::is_host(sender)) {
          fetch(&sources_[Sender::host(sender)]);
        } else {
          fetch(&switches_.outputs[Sender::port(sender)]);
        }
      },
      [&](std::uint32_t sender) { credit_back(sender); });
  counters_.events += credit_events_.due(now_).size();
  credit_events_.forget(now_);
}

} // namespace tributary::simulator::engine
