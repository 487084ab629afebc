#include "bench/routing/campaign.hpp"

#include "controlplane/unicast/phase_search.hpp"

#include <numeric>
#include <vector>

namespace tributary::bench {
namespace {

using unicast::Faults;
using unicast::Shape;

bool joined(const Shape& shape, const Faults& dead, std::uint32_t a, std::uint32_t b,
            std::uint32_t d) {
  for (std::uint32_t plane = 0; plane < shape.planes(); ++plane) {
    if (a == b || (dead.alive(shape, a, d, plane) && dead.alive(shape, b, d, plane))) {
      return true;
    }
  }
  return false;
}

/// Number of the part that a leaf is in, by leaf.
std::vector<std::uint32_t> parts(const Shape& shape, const Faults& dead) {
  std::vector<std::uint32_t> above(shape.switches());
  std::iota(above.begin(), above.end(), 0U);
  const auto top = [&](std::uint32_t s) {
    while (above[s] != s) {
      s = above[s] = above[above[s]];
    }
    return s;
  };
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    for (std::uint32_t port = 0; port < shape.leaf_ports(); ++port) {
      const std::uint32_t d = port / shape.planes();
      const std::uint32_t plane = port % shape.planes();
      if (dead.alive(shape, leaf, d, plane)) {
        above[top(leaf)] = top(shape.switch_of_root(shape.root({d, shape.line(leaf, d), plane})));
      }
    }
  }
  for (std::uint32_t s = 0; s < above.size(); ++s) {
    above[s] = top(s);
  }
  return above;
}

bool has_route(const unicast::TableSet& tables, std::uint32_t from, std::uint32_t to) {
  return tables.switches[from].action(forwarding_table::local_port, 0, to).ports != 0;
}

} // namespace

Campaign run_campaign(const Shape& shape, const unicast::FaultCounts& counts, std::uint32_t trials,
                      std::uint64_t seed) {
  Random random(seed);
  unicast::PhaseSearch two(shape, {.vcs = 2});
  unicast::PhaseSearch three(shape, {.vcs = 3});
  Campaign sum;
  double pairs = 0;
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    const Faults dead = unicast::draw_faults(shape, counts, random);
    const auto with_two = two.tables(dead);
    const auto with_three = three.tables(dead);
    const auto part = parts(shape, dead);
    const auto live = unicast::live_leaves(shape, dead);
    for (const std::uint32_t from : live) {
      for (const std::uint32_t to : live) {
        if (from == to) {
          continue;
        }
        const std::uint32_t corner = shape.leaf_on(0, shape.line(from, 0), shape.coordinate(to, 0));
        ++pairs;
        sum.lost_without += (corner != to && corner != from && dead.leaves.contains(corner)) ||
                                    !joined(shape, dead, from, corner, 0) ||
                                    !joined(shape, dead, corner, to, 1)
                                ? 1
                                : 0;
        if (part[from] != part[to]) {
          ++sum.cut;
          continue;
        }
        sum.stranded_2 += has_route(with_two, from, to) ? 0 : 1;
        sum.stranded_3 += has_route(with_three, from, to) ? 0 : 1;
      }
    }
  }
  return {sum.lost_without / pairs, sum.stranded_2 / pairs, sum.stranded_3 / pairs,
          sum.cut / pairs};
}

} // namespace tributary::bench
