#include "bench/routing/draws.hpp"

#include "bench/algorithms/strands.hpp"
#include "controlplane/unicast/vtftr.hpp"
#include "controlplane/unicast/vtftr_plus.hpp"

namespace tributary::bench {

Stranding draw_sets(const unicast::Shape& shape, std::uint32_t dead_leaves, std::uint64_t draws,
                    std::uint64_t seed) {
  const unicast::Vtftr clean_column(shape, {}, unicast::Detours::rows);
  const unicast::Vtftr vtftr(shape, {});
  const unicast::VtftrPlus vtftr_plus(shape, {});
  Random random(seed);
  Stranding found;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const unicast::Faults dead = unicast::draw_faults(shape, {.leaves = dead_leaves}, random);
    found.clean_column += unicast::strands(shape, *clean_column.rules(dead), dead) ? 1 : 0;
    found.vtftr += unicast::strands(shape, *vtftr.rules(dead), dead) ? 1 : 0;
    found.vtftr_plus += unicast::strands(shape, *vtftr_plus.rules(dead), dead) ? 1 : 0;
  }
  return found;
}

} // namespace tributary::bench
