#include "controlplane/unicast/phase_search.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::unicast {
namespace {

using routing::Action;
using routing::Outcome;

constexpr std::uint8_t unreachable = 220; // and no sum of it and a segment is more than a byte
constexpr std::uint8_t segment = 8;
constexpr std::uint8_t turns_of = segment - 1;
constexpr std::uint32_t most_phases = 24;

} // namespace

PhaseSearch::PhaseSearch(const Shape& shape, const RouteOptions& options)
    : shape_(shape), options_(options), known_(shape), phases_(shape.dimensions() * options.vcs) {
  if (options.vcs == 0 || phases_ > most_phases || options.vcs > turns_of) {
    throw RouteError(fmt::format("phase_search takes at most {} virtual channels, and {} of all "
                                 "dimensions together: {} dimensions with {} are {}",
                                 turns_of, most_phases, shape.dimensions(), options.vcs, phases_));
  }
  if (shape.leaf_ports() > 64) {
    throw RouteError(fmt::format("phase_search takes leaves of at most 64 ports to roots: {} "
                                 "dimensions with {} planes are {}",
                                 shape.dimensions(), shape.planes(), shape.leaf_ports()));
  }
  const std::uint32_t k = shape.dimensions();
  next_.resize(phases_ + 1);
  for (std::uint32_t p = 0; p <= phases_; ++p) {
    for (std::uint32_t d = 0; d < k; ++d) {
      const bool from_host = p == phases_;
      const std::uint32_t step = from_host || d > p % k ? 0 : 1;
      const std::uint32_t vc = (from_host ? 0 : p / k) + step;
      if (vc < options.vcs) {
        next_[p].push_back({vc * k + d, static_cast<std::uint8_t>(step)});
      }
    }
  }
  for (std::uint32_t d = 0; d < k; ++d) {
    line_.emplace_back(shape.leaves());
    for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
      line_.back()[leaf] = shape.line(leaf, d);
    }
  }
  cost_.assign(phases_ + 1, Costs(shape.leaves()));
  up_.assign(phases_, Costs(shape.leaves()));
  for (std::uint32_t p = 0; p < phases_; ++p) {
    root_.emplace_back(std::size_t{shape.lines(p % k)} * shape.planes());
  }
}

void PhaseSearch::know(const Faults& faults) {
  known_ = faults;
  dead_.assign(shape_.leaf_ports(), Costs(shape_.leaves()));
  for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
    for (std::uint32_t port = 0; port < shape_.leaf_ports(); ++port) {
      dead_[port][leaf] = faults.alive(shape_, leaf, port / shape_.planes(), port % shape_.planes())
                              ? 0
                              : unreachable;
    }
  }
}

void PhaseSearch::begin(const Faults& known) {
  know(known);
  recent_.assign(shape_.leaves(), {});
  builders_.clear();
  builders_.reserve(shape_.switches());
  const std::uint32_t k = shape_.dimensions();
  for (std::uint32_t s = 0; s < shape_.switches(); ++s) {
    const bool is_leaf = s < shape_.leaves();
    const std::uint32_t ports =
        is_leaf ? shape_.leaf_ports() : shape_.size(shape_.root(s - shape_.leaves()).dimension);
    TableBuilder& b = builders_.emplace_back(TableBuilder::Frame{
        s, shape_.leaves(), options_.vcs, ports, static_cast<std::uint16_t>(is_leaf ? k + 1 : 1)});
    // Rows have the numbers of phases, and the row for hosts comes behind them.
    for (std::uint32_t row = 0; row < (is_leaf ? phases_ + 1 : options_.vcs); ++row) {
      const std::uint16_t number = b.add_row();
      if (!is_leaf) {
        b.use_row(0, static_cast<std::uint8_t>(row), number);
      } else if (row == phases_) {
        b.use_row(0, number);
      } else {
        b.use_row(static_cast<std::uint16_t>(row % k + 1), static_cast<std::uint8_t>(row / k),
                  number);
      }
    }
    for (std::uint32_t port = 0; is_leaf && port < ports; ++port) {
      b.put_in_class(static_cast<routing::Port>(port),
                     static_cast<std::uint16_t>(port / shape_.planes() + 1));
    }
  }
  for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
    compute(to);
  }
}

TableSet PhaseSearch::tables(const Faults& known) {
  begin(known);
  TableSet set;
  set.vcs = options_.vcs;
  set.switches.reserve(builders_.size());
  for (TableBuilder& b : builders_) {
    set.switches.push_back(std::move(b).finish());
  }
  builders_.clear();
  return set;
}

TableSet PhaseSearch::snapshot() const {
  TableSet set;
  set.vcs = options_.vcs;
  for (const TableBuilder& b : builders_) {
    set.switches.push_back(b.table());
  }
  return set;
}

void PhaseSearch::compute(std::uint32_t destination) {
  search(destination);
  write_leaves(destination);
  write_roots(destination);
}

void PhaseSearch::search(std::uint32_t destination) {
  const std::uint32_t k = shape_.dimensions();
  const std::uint32_t leaves = shape_.leaves();
  const std::uint32_t planes = shape_.planes();
  for (std::uint32_t p = phases_ + 1; p-- > 0;) {
    // From a host the costs are those of the first segments: it comes last.
    const std::uint32_t from = p == 0 ? phases_ : p - 1;
    Costs& cost = cost_[from];
    std::ranges::fill(cost, unreachable);
    for (const Next& one : next(from)) {
      const std::uint8_t* const up = up_[one.phase].data();
      const auto more = static_cast<std::uint8_t>(segment + one.step);
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        cost[leaf] = std::min(cost[leaf], static_cast<std::uint8_t>(up[leaf] + more));
      }
    }
    cost[destination] = known_.leaves.contains(destination) ? unreachable : 0;
    if (from == phases_) {
      return;
    }
    const std::uint32_t d = from % k;
    Costs& root = root_[from];
    std::ranges::fill(root, unreachable);
    Costs& up = up_[from];
    std::ranges::fill(up, unreachable);
    const std::uint32_t* const line = line_[d].data();
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
      const std::uint8_t* const dead = dead_[shape_.leaf_port(d, plane)].data();
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        std::uint8_t& least = root[line[leaf] * planes + plane];
        least = std::min(least, std::max(cost[leaf], dead[leaf]));
      }
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        up[leaf] = std::min(up[leaf], std::max(root[line[leaf] * planes + plane], dead[leaf]));
      }
    }
  }
}

/// `rest` with these groups of ports.
std::uint16_t PhaseSearch::leaf_action(std::uint32_t leaf, std::uint64_t first,
                                       std::uint64_t others, const Action& rest) {
  constexpr std::uint32_t most_ports = 28; // of which two sets and the rest fit into a key
  const std::uint64_t key = first | others << most_ports | std::uint64_t{rest.step} << 56 |
                            std::uint64_t{rest.rises} << 57 |
                            static_cast<std::uint64_t>(rest.otherwise) << 58;
  Recent& recent = recent_[leaf][key * 0x9E3779B97F4A7C15ULL >> (64 - recent_bits)];
  if (recent.key == key && shape_.leaf_ports() <= most_ports) {
    return recent.action;
  }
  TableBuilder& b = builders_[leaf];
  Action action = rest;
  action.ports = b.group({&first, 1});
  action.spares = b.group({&others, 1});
  recent = {key, b.action(action)};
  return recent.action;
}

void PhaseSearch::write_leaves(std::uint32_t destination) {
  const std::uint32_t k = shape_.dimensions();
  const std::uint32_t planes = shape_.planes();
  const bool plus = options_.policy != Policy::safe;
  const bool fast = options_.policy == Policy::fast;
  // Phase by phase, whose costs are in a row.
  for (std::uint32_t p = 0; p <= phases_; ++p) {
    const bool from_host = p == phases_;
    for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
      Action action{.otherwise = from_host ? Outcome::no_route : Outcome::no_vc};
      const std::uint8_t cost = cost_[p][leaf];
      std::uint64_t first = 0;
      std::uint64_t others = 0;
      if (cost < unreachable && leaf != destination) {
        // Of equals one that keeps its virtual channel: who was sent here round a dead corner must
        // not be sent back to it (the input-dimension rule).
        const Next* best = nullptr;
        for (const Next& one : next(p)) {
          if (up_[one.phase][leaf] + segment + one.step == cost &&
              (best == nullptr || one.step < best->step)) {
            best = &one;
          }
        }
        for (const Next& one : next(p)) {
          const std::uint32_t d = one.phase % k;
          const std::uint8_t* const root = &root_[one.phase][std::size_t{line_[d][leaf]} * planes];
          for (std::uint32_t plane = 0; one.step == best->step && plane < planes; ++plane) {
            const std::uint32_t port = shape_.leaf_port(d, plane);
            const std::uint8_t through = std::max(root[plane], dead_[port][leaf]);
            const bool is_first = &one == best && through == up_[one.phase][leaf];
            (is_first ? first : others) |= through < unreachable ? std::uint64_t{1} << port : 0;
          }
        }
        action.step = best->step;
        action.rises =
            (plus && up_[best->phase][leaf] == 0) || (fast && from_host && (cost & turns_of) == 0);
      }
      builders_[leaf].set(static_cast<std::uint16_t>(p), destination,
                          leaf_action(leaf, first, others, action));
    }
  }
}

void PhaseSearch::write_roots(std::uint32_t destination) {
  const std::uint32_t k = shape_.dimensions();
  Bitmap first;
  Bitmap others;
  for (std::uint32_t r = 0; r < shape_.roots(); ++r) {
    const Shape::Root of = shape_.root(r);
    const std::uint32_t d = of.dimension;
    const bool last = line_[d][destination] == of.line;
    const std::uint8_t* const dead = dead_[shape_.leaf_port(d, of.plane)].data();
    const std::uint32_t first_leaf = shape_.leaf_on(d, of.line, 0);
    TableBuilder& b = builders_[shape_.switch_of_root(r)];
    for (std::uint8_t vc = 0; vc < options_.vcs; ++vc) {
      const std::uint32_t p = vc * k + d;
      const std::uint8_t least = root_[p][of.line * shape_.planes() + of.plane];
      first.reset(shape_.size(d));
      others.reset(shape_.size(d));
      for (std::uint32_t i = 0; i < shape_.size(d); ++i) {
        const std::uint32_t leaf = first_leaf + i * shape_.stride(d);
        const std::uint8_t cost = std::max(cost_[p][leaf], dead[leaf]);
        if (cost < unreachable) {
          (cost == least ? first : others).insert(i);
        }
      }
      // Nobody is sent round a destination that may be dead: only its own switch could tell.
      const bool down = last && least == 0;
      b.set(vc, destination,
            b.action({.ports = b.group(first.words()),
                      .spares = down ? std::uint16_t{0} : b.group(others.words()),
                      .otherwise = last ? Outcome::dest_dead : Outcome::no_vc,
                      .u_turn = !last,
                      .rises = down && options_.policy != Policy::safe}));
    }
  }
}

bool PhaseSearch::leads_over(std::uint32_t s, std::uint32_t destination, std::uint32_t port) const {
  const routing::SwitchTable& table = builders_[s].table();
  for (std::size_t row = 0; row * table.destinations < table.rows.size(); ++row) {
    const Action& action = table.actions[table.rows[row * table.destinations + destination]];
    if ((table.group(action.ports)[port / 64] >> (port % 64) & 1U) != 0) {
      return true;
    }
  }
  return false;
}

bool PhaseSearch::touches(const Faults& more, std::uint32_t destination) const {
  if (more.leaves.contains(destination)) {
    return true;
  }
  bool touched = false;
  const auto link = [&](std::uint32_t leaf, std::uint32_t port) {
    const std::uint32_t d = port / shape_.planes();
    const std::uint32_t root = shape_.root({d, line_[d][leaf], port % shape_.planes()});
    touched = touched || leads_over(leaf, destination, port) ||
              leads_over(shape_.switch_of_root(root), destination, shape_.coordinate(leaf, d));
  };
  more.leaves.for_each([&](std::size_t leaf) {
    for (std::uint32_t port = 0; port < shape_.leaf_ports() && !touched; ++port) {
      const std::uint32_t d = port / shape_.planes();
      const auto here = static_cast<std::uint32_t>(leaf);
      const std::uint32_t root = shape_.root({d, line_[d][here], port % shape_.planes()});
      // What the dead leaf itself would send does not matter any more.
      touched = leads_over(shape_.switch_of_root(root), destination, shape_.coordinate(here, d));
    }
  });
  more.links.for_each([&](std::size_t uplink) {
    link(static_cast<std::uint32_t>(uplink / shape_.leaf_ports()),
         static_cast<std::uint32_t>(uplink % shape_.leaf_ports()));
  });
  more.roots.for_each([&](std::size_t r) {
    const Shape::Root of = shape_.root(static_cast<std::uint32_t>(r));
    for (std::uint32_t i = 0; i < shape_.size(of.dimension) && !touched; ++i) {
      touched = leads_over(shape_.leaf_on(of.dimension, of.line, i), destination,
                           shape_.leaf_port(of.dimension, of.plane));
    }
  });
  return touched;
}

std::vector<std::uint32_t> PhaseSearch::add(const Faults& more) {
  std::vector<std::uint32_t> changed;
  for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
    if (touches(more, to)) {
      changed.push_back(to);
    }
  }
  Faults all = known_;
  more.leaves.for_each([&](std::size_t i) { all.leaves.insert(i); });
  more.roots.for_each([&](std::size_t i) { all.roots.insert(i); });
  more.links.for_each([&](std::size_t i) { all.links.insert(i); });
  know(all);
  for (const std::uint32_t to : changed) {
    compute(to);
  }
  return changed;
}

} // namespace tributary::unicast
