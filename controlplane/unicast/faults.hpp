// Dead elements of a k-dimension fat tree: leaves, roots, links.
//
// Two sets of them are distinguished everywhere. *Known* faults are those that tables were made
// for; *real* faults are the actual ones, which switches see by the states of their own ports.
// Between a fault and the new tables the two differ.
#pragma once

#include "controlplane/unicast/bitmap.hpp"
#include "controlplane/unicast/network.hpp"
#include "controlplane/unicast/shape.hpp"
#include "tributary/random.hpp"

#include <cstdint>

namespace tributary::unicast {

struct Faults {
  Bitmap leaves; ///< by leaf
  Bitmap roots;  ///< by root
  Bitmap links;  ///< by uplink: these links themselves, not those of dead switches

  explicit Faults(const Shape& shape)
      : leaves(shape.leaves()), roots(shape.roots()), links(shape.uplinks()) {}

  /// Whether a frame can cross it: the link and the switches at both ends are alive.
  [[nodiscard]] bool alive(const Shape& shape, std::uint32_t leaf, std::uint32_t dimension,
                           std::uint32_t plane) const {
    return !leaves.contains(leaf) && !links.contains(shape.uplink(leaf, dimension, plane)) &&
           !roots.contains(shape.root({dimension, shape.line(leaf, dimension), plane}));
  }
  Faults& operator+=(const Faults& b) {
    leaves |= b.leaves;
    roots |= b.roots;
    links |= b.links;
    return *this;
  }
  friend bool operator==(const Faults&, const Faults&) = default;
};

struct FaultCounts {
  std::uint32_t leaves = 0;
  std::uint32_t links = 0;
  std::uint32_t roots = 0;
};

/// Draws that many of each, every set equally likely; at most as many as exist. The same random
/// numbers give the same faults.
[[nodiscard]] Faults draw_faults(const Shape& shape, const FaultCounts& counts, Random& random);

/// All links of the fabric, as wired.
[[nodiscard]] Network network_of(const Shape& shape);

/// Port states that the switches see: a port is up when the link and the switch behind it are
/// alive.
[[nodiscard]] PortStates port_states(const Shape& shape, const Network& network,
                                     const Faults& faults);

/// Leaves that are alive, ascending: sources and destinations.
[[nodiscard]] std::vector<std::uint32_t> live_leaves(const Shape& shape, const Faults& faults);

} // namespace tributary::unicast
