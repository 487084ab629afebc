#include "controlplane/unicast/phase_search.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace tributary::unicast {
namespace {

using forwarding_table::Action;
using forwarding_table::Outcome;

constexpr std::uint8_t unreachable = 220; // the sum with any segment still fits a byte
constexpr std::uint8_t segment = 8;
constexpr std::uint8_t turns_of = segment - 1;
constexpr std::uint32_t most_phases = 24;

/// One plane of one dimension in one phase.
struct Plane {
  const std::uint8_t* cost; ///< by leaf
  const std::uint8_t* dead; ///< by leaf
  std::uint8_t* root;       ///< by line
  std::uint8_t* up;         ///< by leaf
};

/// The least costs of the plane's roots, and from them those of the leaves below. Leaves of
/// adjacent lines are adjacent in memory; where a line's own are, it forms a block.
void pass_roots(const Plane& plane, std::uint32_t leaves, std::uint32_t size,
                std::uint32_t stride) {
  for (std::uint32_t block = 0; block < leaves; block += size * stride) {
    std::uint8_t* const root = plane.root + block / size;
    if (stride == 1) {
      std::uint8_t least = unreachable;
      for (std::uint32_t leaf = block; leaf < block + size; ++leaf) {
        least = std::min(least, std::max(plane.cost[leaf], plane.dead[leaf]));
      }
      *root = least;
      for (std::uint32_t leaf = block; leaf < block + size; ++leaf) {
        plane.up[leaf] = std::min(plane.up[leaf], std::max(least, plane.dead[leaf]));
      }
      continue;
    }
    for (std::uint32_t row = block; row < block + size * stride; row += stride) {
      for (std::uint32_t i = 0; i < stride; ++i) {
        root[i] = std::min(root[i], std::max(plane.cost[row + i], plane.dead[row + i]));
      }
    }
    for (std::uint32_t row = block; row < block + size * stride; row += stride) {
      for (std::uint32_t i = 0; i < stride; ++i) {
        plane.up[row + i] = std::min(plane.up[row + i], std::max(root[i], plane.dead[row + i]));
      }
    }
  }
}

/// A mark is not 0 once the values have differed.
void add_difference(std::uint8_t& mark, std::uint8_t a, std::uint8_t b) {
  mark = static_cast<std::uint8_t>(mark | (a ^ b));
}

} // namespace

PhaseSearch::PhaseSearch(const Shape& shape, const RouteOptions& options)
    : shape_(shape), options_(options),
      phases_(shape.dimensions() * options.vcs), now_{.known = Faults(shape)}, before_{
                                                                                   .known = Faults(
                                                                                       shape)} {
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
}

PhaseSearch::World PhaseSearch::world(const Faults& known) const {
  World world{.known = known};
  world.dead.assign(shape_.leaf_ports(), Bytes(shape_.leaves()));
  for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
    for (std::uint32_t port = 0; port < shape_.leaf_ports(); ++port) {
      world.dead[port][leaf] =
          known.alive(shape_, leaf, port / shape_.planes(), port % shape_.planes()) ? 0
                                                                                    : unreachable;
    }
  }
  world.cost.assign(phases_ + 1, Bytes(shape_.leaves()));
  world.up.assign(phases_, Bytes(shape_.leaves()));
  for (std::uint32_t p = 0; p < phases_; ++p) {
    world.root.emplace_back(std::size_t{shape_.lines(p % shape_.dimensions())} * shape_.planes());
  }
  return world;
}

void PhaseSearch::begin(const Faults& known) {
  now_ = world(known);
  marks_.assign(shape_.leaves(), 1);
  recent_.assign(std::size_t{phases_ + 1} * shape_.leaves(), {});
  builders_.clear();
  builders_.reserve(shape_.switches());
  const std::uint32_t k = shape_.dimensions();
  for (std::uint32_t s = 0; s < shape_.switches(); ++s) {
    const bool is_leaf = s < shape_.leaves();
    const std::uint32_t ports =
        is_leaf ? shape_.leaf_ports() : shape_.size(shape_.root(s - shape_.leaves()).dimension);
    TableBuilder& b = builders_.emplace_back(TableBuilder::Frame{
        s, shape_.leaves(), options_.vcs, ports, static_cast<std::uint16_t>(is_leaf ? k + 1 : 1)});
    // Row numbers are phases, followed by the row for hosts.
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
      b.put_in_class(static_cast<forwarding_table::Port>(port),
                     static_cast<std::uint16_t>(port / shape_.planes() + 1));
    }
  }
  leaf_rows_.clear();
  for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
    leaf_rows_.push_back(builders_[leaf].rows());
  }
  for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
    search(now_, to);
    write_leaves(to);
    write_roots(to);
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

void PhaseSearch::search(World& world, std::uint32_t destination) const {
  const std::uint32_t k = shape_.dimensions();
  const std::uint32_t leaves = shape_.leaves();
  const std::uint32_t planes = shape_.planes();
  for (std::uint32_t p = phases_ + 1; p-- > 0;) {
    // From a host the costs are those of the first segments: it is last.
    const std::uint32_t from = p == 0 ? phases_ : p - 1;
    Bytes& cost = world.cost[from];
    std::ranges::fill(cost, unreachable);
    for (const Next& one : next(from)) {
      const std::uint8_t* const up = world.up[one.phase].data();
      const auto more = static_cast<std::uint8_t>(segment + one.step);
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        cost[leaf] = std::min(cost[leaf], static_cast<std::uint8_t>(up[leaf] + more));
      }
    }
    cost[destination] = world.known.leaves.contains(destination) ? unreachable : 0;
    if (from == phases_) {
      return;
    }
    const std::uint32_t d = from % k;
    std::ranges::fill(world.root[from], unreachable);
    std::ranges::fill(world.up[from], unreachable);
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
      pass_roots({cost.data(), world.dead[shape_.leaf_port(d, plane)].data(),
                  world.root[from].data() + std::size_t{plane} * shape_.lines(d),
                  world.up[from].data()},
                 leaves, shape_.size(d), shape_.stride(d));
    }
  }
}

void PhaseSearch::mark_changes(std::uint32_t destination) {
  search(before_, destination);
  search(now_, destination);
  marks_ = dead_marks_;
  const auto mark = [&](const std::vector<Bytes>& before, const std::vector<Bytes>& now) {
    for (std::size_t p = 0; p < now.size(); ++p) {
      for (std::size_t leaf = 0; leaf < marks_.size(); ++leaf) {
        add_difference(marks_[leaf], before[p][leaf], now[p][leaf]);
      }
    }
  };
  mark(before_.cost, now_.cost);
  mark(before_.up, now_.up);
  for (std::uint32_t p = 0; p < phases_; ++p) {
    if (before_.root[p] == now_.root[p]) {
      continue;
    }
    const std::uint32_t d = p % shape_.dimensions();
    for (std::uint32_t plane = 0; plane < shape_.planes(); ++plane) {
      const std::size_t first = std::size_t{plane} * shape_.lines(d);
      for (std::size_t leaf = 0; leaf < marks_.size(); ++leaf) {
        const std::size_t root = first + line_[d][leaf];
        add_difference(marks_[leaf], before_.root[p][root], now_.root[p][root]);
      }
    }
  }
}

/// `rest` with these groups of ports.
std::uint16_t PhaseSearch::leaf_action(std::uint32_t leaf, std::uint64_t first,
                                       std::uint64_t others, const Action& rest) {
  TableBuilder& b = builders_[leaf];
  Action action = rest;
  action.ports = b.group({&first, 1});
  action.spares = b.group({&others, 1});
  return b.action(action);
}

void PhaseSearch::write_leaves(std::uint32_t destination) {
  const bool plus = options_.policy != Policy::safe;
  const bool fast = options_.policy == Policy::fast;
  const std::uint32_t planes = shape_.planes();
  // Two sets of ports and the rest of an action fit into a key.
  constexpr std::uint32_t most_ports = 28;
  const bool has_key = shape_.leaf_ports() <= most_ports;
  struct Way {
    const std::uint8_t* up;    ///< by leaf
    const std::uint8_t* root;  ///< by plane and line
    const std::uint32_t* line; ///< by leaf
    std::uint32_t lines;
    std::uint32_t first_port;
    std::uint8_t step;
  };
  std::array<Way, most_phases> ways{};
  // Phase by phase, in which costs are contiguous.
  for (std::uint32_t p = 0; p <= phases_; ++p) {
    const bool from_host = p == phases_;
    std::size_t count = 0;
    for (const Next& one : next(p)) {
      const std::uint32_t d = one.phase % shape_.dimensions();
      ways[count++] = {now_.up[one.phase].data(), now_.root[one.phase].data(), line_[d].data(),
                       shape_.lines(d),           shape_.leaf_port(d, 0),      one.step};
    }
    const std::span<const Way> here(ways.data(), count);
    const std::uint8_t* const costs = now_.cost[p].data();
    const std::size_t at = std::size_t{p} * shape_.leaves() + destination;
    for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
      if (marks_[leaf] == 0) {
        continue;
      }
      Action action{.otherwise = from_host ? Outcome::no_route : Outcome::no_vc};
      const std::uint8_t cost = costs[leaf];
      std::uint64_t first = 0;
      std::uint64_t others = 0;
      if (cost < unreachable && leaf != destination) {
        // Among equals, one that keeps its virtual channel: a frame that was sent here around a
        // dead corner must not be sent back to it (the input-dimension rule).
        const Way* best = nullptr;
        for (const Way& one : here) {
          if (one.up[leaf] + segment + one.step == cost &&
              (best == nullptr || one.step < best->step)) {
            best = &one;
          }
        }
        for (const Way& one : here) {
          if (one.step != best->step) {
            continue;
          }
          for (std::uint32_t plane = 0; plane < planes; ++plane) {
            const std::uint32_t port = one.first_port + plane;
            const std::uint8_t through = std::max(
                one.root[std::size_t{plane} * one.lines + one.line[leaf]], now_.dead[port][leaf]);
            const bool is_first = &one == best && through == one.up[leaf];
            (is_first ? first : others) |= std::uint64_t{through < unreachable} << port;
          }
        }
        action.step = best->step;
        action.rises =
            (plus && best->up[leaf] == 0) || (fast && from_host && (cost & turns_of) == 0);
      }
      const std::uint64_t key = first | others << most_ports | std::uint64_t{action.step} << 56 |
                                std::uint64_t{action.rises} << 57 |
                                static_cast<std::uint64_t>(action.otherwise) << 58;
      Recent& recent = recent_[std::size_t{p} * shape_.leaves() + leaf];
      if (recent.last.key != key || !has_key) {
        std::swap(recent.last, recent.before);
        if (recent.last.key != key || !has_key) {
          recent.last = {key, leaf_action(leaf, first, others, action)};
        }
      }
      leaf_rows_[leaf][at] = recent.last.number;
    }
  }
}

void PhaseSearch::write_roots(std::uint32_t destination) {
  const std::uint32_t k = shape_.dimensions();
  const auto any_marked = [&](std::uint32_t leaf, std::uint32_t count, std::uint32_t stride) {
    bool any = false;
    for (; count != 0; --count, leaf += stride) {
      any |= marks_[leaf] != 0;
    }
    return any;
  };
  Bitmap first;
  Bitmap others;
  for (std::uint32_t r = 0; r < shape_.roots(); ++r) {
    const Shape::Root of = shape_.root(r);
    const std::uint32_t d = of.dimension;
    const std::uint32_t first_leaf = shape_.leaf_on(d, of.line, 0);
    if (!any_marked(first_leaf, shape_.size(d), shape_.stride(d))) {
      continue;
    }
    const bool last = line_[d][destination] == of.line;
    const std::uint8_t* const dead = now_.dead[shape_.leaf_port(d, of.plane)].data();
    TableBuilder& b = builders_[shape_.switch_of_root(r)];
    for (std::uint8_t vc = 0; vc < options_.vcs; ++vc) {
      const std::uint32_t p = vc * k + d;
      const std::uint8_t least = now_.root[p][of.plane * shape_.lines(d) + of.line];
      first.reset(shape_.size(d));
      others.reset(shape_.size(d));
      for (std::uint32_t i = 0; i < shape_.size(d); ++i) {
        const std::uint32_t leaf = first_leaf + i * shape_.stride(d);
        const std::uint8_t cost = std::max(now_.cost[p][leaf], dead[leaf]);
        if (cost < unreachable) {
          (cost == least ? first : others).insert(i);
        }
      }
      // No detour around a destination that may be dead: only its own switch could know.
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
  const forwarding_table::SwitchTable& table = builders_[s].table();
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
      // Frames that the dead leaf itself would send do not matter any more.
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

std::vector<std::uint32_t> PhaseSearch::update(const Faults& now) {
  const bool is_repair = !(now_.known - now).none();
  const Faults more = now - now_.known;
  std::vector<std::uint32_t> changed;
  for (std::uint32_t to = 0; to < shape_.leaves(); ++to) {
    if (is_repair || touches(more, to)) {
      changed.push_back(to);
    }
  }
  before_ = std::exchange(now_, world(now));
  dead_marks_.assign(shape_.leaves(), 0);
  for (std::uint32_t port = 0; port < shape_.leaf_ports(); ++port) {
    for (std::uint32_t leaf = 0; leaf < shape_.leaves(); ++leaf) {
      add_difference(dead_marks_[leaf], before_.dead[port][leaf], now_.dead[port][leaf]);
    }
  }
  std::erase_if(changed, [&](std::uint32_t to) {
    mark_changes(to);
    if (std::ranges::all_of(marks_, [](std::uint8_t mark) { return mark == 0; })) {
      return true;
    }
    write_leaves(to);
    write_roots(to);
    return false;
  });
  return changed;
}

} // namespace tributary::unicast
