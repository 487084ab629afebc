// Hosts: when and what they send.
#include "tools/simulator/engine/engine.hpp"
#include "tools/simulator/engine/pipeline.hpp"

#include <algorithm>

namespace tributary::simulator::engine {

void Engine::take_hosts() {
  const auto due = host_events_.due(now_);
  ready_.insert(ready_.end(), due.begin(), due.end()); // after those that got a credit
  in_stages(
      std::span<const std::uint32_t>(ready_),
      [&](std::uint32_t host) {
        fetch(&sources_[host]);
        traffic_.prefetch(host);
      },
      [&](std::uint32_t host) { fetch(&switches_.buffers[sources_[host].buffer]); },
      [&](std::uint32_t host) {
        const std::uint32_t number = sources_[host].buffer;
        if (const Buffer& buffer = switches_.buffers[number]; buffer.free != 0) {
          fetch(&switches_.packet(number, Switches::next_place(buffer)));
        }
      },
      [&](std::uint32_t host) { send_from_host(host); });
  ready_.clear();
  host_events_.forget(now_);
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
  if (destination == Traffic::no_host) {
    source.created = Traffic::never;
    return;
  }
  const std::uint8_t place = Switches::take_place(switches_.buffers[source.buffer]);
  switches_.packet(source.buffer, place) = {.created = static_cast<std::uint32_t>(source.created),
                                            .entered = static_cast<std::uint32_t>(now_),
                                            .source = host,
                                            .destination = destination};
  ++counters_.injected;
  if (!pauses_) {
    --source.credits;
  }
  head_events_.at(now_ + parameters_.send).push_back(source.buffer * 64 + place);
  source.free_at = now_ + parameters_.flits;
  source.created = traffic_.next(host, source.created);
  wake_host(host, std::max(source.created, source.free_at));
}

void Engine::wake_host(std::uint32_t host, std::uint64_t at) {
  if (at != Traffic::never) {
    host_events_.at(std::clamp(at, now_ + 1, now_ + longest_sleep)).push_back(host);
  }
}

std::uint64_t Engine::lag_of_hosts() const {
  std::uint64_t lag = 0;
  for (const Source& source : sources_) {
    lag += now_ - std::min(now_, source.created); // Traffic::never is later than now
  }
  return lag;
}

void Engine::stop_sources() {
  for (Source& source : sources_) {
    source.created = Traffic::never;
    source.waits = false;
  }
}

} // namespace tributary::simulator::engine
