#include "pktgen/traffic/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace tributary::pktgen::traffic {

using scenario::Pattern;

namespace {

std::uint32_t largest_square_within(std::uint32_t nodes) {
  std::uint32_t side = 1;
  while (std::uint64_t{side + 1} * (side + 1) <= nodes) {
    ++side;
  }
  return side;
}

} // namespace

Destinations::Destinations(Pattern pattern, std::uint32_t nodes, std::uint32_t ports,
                           std::uint32_t target, double hot_share, std::uint64_t seed)
    : nodes_(nodes), ports_(std::min(ports, nodes)), target_(target), hot_share_(hot_share) {
  if (ports_ < 2) {
    throw std::invalid_argument(
        fmt::format("{} nodes on {} ports: a pattern takes two nodes on two ports at least, for a "
                    "switch sends nothing back where it came from",
                    nodes, ports));
  }
  if ((pattern == Pattern::fixed || pattern == Pattern::hotspot) && target >= nodes) {
    throw std::invalid_argument(
        fmt::format("target {} is not among the {} nodes, which count from 0", target, nodes));
  }
  if (!(hot_share >= 0 && hot_share <= 1)) {
    throw std::invalid_argument(fmt::format("hot_share is {}, not between 0 and 1", hot_share));
  }
  switch (pattern) {
  case Pattern::random: choice_ = Choice::drawn; break;
  case Pattern::hotspot: choice_ = Choice::hot; break;
  case Pattern::all_to_all: choice_ = Choice::in_turn; break;
  case Pattern::permutation: draw_permutation(Random(seed)); break;
  case Pattern::fixed:
  case Pattern::bit_complement:
  case Pattern::transpose: tabulate(pattern); break;
  }
}

void Destinations::tabulate(Pattern pattern) {
  const std::uint32_t side = largest_square_within(nodes_);
  table_.assign(nodes_, no_destination);
  for (std::uint32_t i = 0; i < nodes_; ++i) {
    std::uint32_t to = i;
    if (pattern == Pattern::fixed) {
      to = target_;
    } else if (pattern == Pattern::bit_complement) {
      to = nodes_ - 1 - i;
    } else if (i < side * side) {
      to = i % side * side + i / side;
    }
    if (!share_a_port(i, to)) {
      table_[i] = to;
    }
  }
}

/// A shuffle, in which a node that drew itself or a neighbour swaps with another node that suits
/// both. While no port has more than half of the nodes such a node exists, and is found soon.
void Destinations::draw_permutation(Random random) {
  table_.resize(nodes_);
  std::iota(table_.begin(), table_.end(), 0U);
  random.shuffle(table_);
  for (std::uint32_t i = 0; i < nodes_; ++i) {
    auto j = static_cast<std::uint32_t>(random.below(nodes_));
    for (std::uint32_t tried = 0; share_a_port(i, table_[i]) && tried < nodes_; ++tried) {
      if (!share_a_port(i, table_[j]) && !share_a_port(j, table_[i])) {
        std::swap(table_[i], table_[j]);
      }
      j = j + 1 < nodes_ ? j + 1 : 0;
    }
  }
  for (std::uint32_t i = 0; i < nodes_; ++i) {
    if (share_a_port(i, table_[i])) {
      table_[i] = no_destination;
    }
  }
}

} // namespace tributary::pktgen::traffic
