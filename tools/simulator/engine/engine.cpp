#include "tools/simulator/engine/engine.hpp"

#include <algorithm>
#include <utility>

namespace tributary::simulator::engine {

Engine::Engine(const Fabric& fabric, const Parameters& parameters, const unicast::TableSet& tables,
               unicast::PortStates up, Traffic& traffic, std::uint64_t seed)
    : fabric_(fabric), parameters_(parameters), traffic_(traffic), router_(tables, std::move(up)),
      switches_(fabric, parameters), random_(seed), vcs_(fabric.vcs()),
      pauses_(parameters.flow_control == FlowControl::pause),
      credit_events_(parameters.flits + parameters.credit), transfer_events_(parameters.flits),
      head_events_(std::max(parameters.hop, parameters.send)), host_events_(longest_sleep) {
  pause_above_ =
      static_cast<std::uint8_t>(pauses_ ? parameters_.buffer - parameters_.headroom() : 0);
  for (std::uint32_t s = 0; s < tables.switches.size(); ++s) {
    use_table(s, tables.switches[s]);
  }
  const auto capacity = static_cast<std::uint8_t>(pauses_ ? 1 : parameters_.buffer);
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
  take_credits();
  take_transfers();
  take_hosts();
  take_heads();
  arbitrate();
}

void Engine::start_measuring() {
  before_ = counters_;
  measuring_ = true;
}

void Engine::use_table(std::uint32_t s, const forwarding_table::SwitchTable& table) {
  router_.use_table(s, table);
  const Switch& at = switches_.all[s];
  for (std::uint32_t b = at.first_buffer; b < at.first_buffer + at.buffers; ++b) {
    Input& input = switches_.buffers[b].input;
    input = router_.input(s, input.port, input.vc);
  }
}

std::uint64_t Engine::count_inside() const {
  std::uint64_t inside = 0;
  head_events_.for_each([&](std::uint32_t) { ++inside; });
  transfer_events_.for_each([&](const Transfer& transfer) { inside += transfer.leaves ? 1U : 0U; });
  for (const Buffer& buffer : switches_.buffers) {
    inside += buffer.waiting;
  }
  return inside;
}

} // namespace tributary::simulator::engine
