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

} // namespace

PhaseSearch::PhaseSearch(const Shape& shape, const RouteOptions& options)
    : shape_(shape), options_(options),
      phases_(shape.dimensions() * options.vcs), now_{.known = Faults(shape)} {
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

TableSet PhaseSearch::tables(const Faults& known) {
  now_ = world(known);
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
    search(to);
    write_leaves(to);
    write_roots(to);
  }
  TableSet set;
  set.vcs = options_.vcs;
  set.switches.reserve(builders_.size());
  for (TableBuilder& b : builders_) {
    set.switches.push_back(std::move(b).finish());
  }
  builders_.clear();
  return set;
}

void PhaseSearch::search(std::uint32_t destination) {
  const std::uint32_t k = shape_.dimensions();
  const std::uint32_t leaves = shape_.leaves();
  const std::uint32_t planes = shape_.planes();
  for (std::uint32_t p = phases_ + 1; p-- > 0;) {
    // From a host the costs are those of the first segments: it is last.
    const std::uint32_t from = p == 0 ? phases_ : p - 1;
    Bytes& cost = now_.cost[from];
    std::ranges::fill(cost, unreachable);
    for (const Next& one : next(from)) {
      const std::uint8_t* const up = now_.up[one.phase].data();
      const auto more = static_cast<std::uint8_t>(segment + one.step);
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        cost[leaf] = std::min(cost[leaf], static_cast<std::uint8_t>(up[leaf] + more));
      }
    }
    cost[destination] = now_.known.leaves.contains(destination) ? unreachable : 0;
    if (from == phases_) {
      return;
    }
    const std::uint32_t d = from % k;
    std::ranges::fill(now_.root[from], unreachable);
    std::ranges::fill(now_.up[from], unreachable);
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
      pass_roots({cost.data(), now_.dead[shape_.leaf_port(d, plane)].data(),
                  now_.root[from].data() + std::size_t{plane} * shape_.lines(d),
                  now_.up[from].data()},
                 leaves, shape_.size(d), shape_.stride(d));
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
  Bitmap first;
  Bitmap others;
  for (std::uint32_t r = 0; r < shape_.roots(); ++r) {
    const Shape::Root of = shape_.root(r);
    const std::uint32_t d = of.dimension;
    const std::uint32_t first_leaf = shape_.leaf_on(d, of.line, 0);
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

} // namespace tributary::unicast
