#include "tools/simulator/engine/router.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace tributary::simulator::engine {

Router::Router(const unicast::TableSet& tables, unicast::PortStates up)
    : tables_(tables.switches.size()), memory_(tables.switches.size()), up_(std::move(up)) {
  for (std::uint32_t s = 0; s < tables.switches.size(); ++s) {
    use_table(s, tables.switches[s]);
  }
}

Input Router::input(std::uint32_t s, forwarding_table::Port port, std::uint8_t vc) {
  const forwarding_table::SwitchTable& table = *tables_[s];
  if (table.row_of.empty()) { // a switch that routes nothing
    return {nullptr, nullptr, 0, s, port, vc};
  }
  const std::size_t line = std::size_t{table.class_of(port)} * table.vcs + vc;
  return {table.rows.data() + std::size_t{table.row_of[line]} * table.destinations,
          memory_[s].data() + line * table.actions.size(),
          table.destinations,
          s,
          port,
          vc};
}

void Router::use_table(std::uint32_t s, const forwarding_table::SwitchTable& table) {
  assert(table.self == s);
  tables_[s] = &table;
  memory_[s].assign(table.row_of.size() * table.actions.size(), {});
}

void Router::port_is_down(unicast::Network::End end) {
  up_.set(end.at, end.port, false);
  std::ranges::fill(memory_[end.at], Remembered{});
}

forwarding_table::Decision Router::decide_uncached(const Input& in, std::uint32_t destination,
                                                   std::uint32_t entropy) {
  const forwarding_table::SwitchTable& table = *tables_[in.at];
  if (destination >= table.destinations) {
    return {};
  }
  const auto up = up_.of(in.at);
  if (table.words == 1) {
    const forwarding_table::Candidates found =
        forwarding_table::candidates(table, in.port, in.vc, destination, up);
    if (!found.spare) {
      const std::uint64_t ports = found.group.empty() ? 0 : found.word(0, up);
      const auto first = static_cast<std::uint8_t>(std::countr_zero(ports));
      const auto count = static_cast<std::uint8_t>(std::popcount(ports));
      const bool in_a_row = count == std::countr_one(ports >> (first % 64));
      in.remembered[in.row[destination]] = {ports, found.outcome, found.lowest_vc, found.highest_vc,
                                            count, first,         in_a_row,        true};
    }
  }
  return forwarding_table::decide(table, in.port, in.vc, destination, up, entropy);
}

} // namespace tributary::simulator::engine
