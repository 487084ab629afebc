#include "controlplane/unicast/faults.hpp"

#include <numeric>
#include <vector>

namespace tributary::unicast {
namespace {

/// Draws by the first steps of a shuffle.
void draw(Bitmap& from, std::uint32_t count, Random& random) {
  std::vector<std::uint32_t> all(from.size());
  std::iota(all.begin(), all.end(), 0U);
  for (std::size_t i = 0; i < count && i < all.size(); ++i) {
    std::swap(all[i], all[i + random.below(all.size() - i)]);
    from.insert(all[i]);
  }
}

} // namespace

Faults draw_faults(const Shape& shape, const FaultCounts& counts, Random& random) {
  Faults faults(shape);
  draw(faults.leaves, counts.leaves, random);
  draw(faults.links, counts.links, random);
  draw(faults.roots, counts.roots, random);
  return faults;
}

Network network_of(const Shape& shape) {
  Network network;
  for (std::uint32_t s = 0; s < shape.switches(); ++s) {
    network.add_switch(shape.name(s), s < shape.leaves()
                                          ? shape.leaf_ports()
                                          : shape.size(shape.root(s - shape.leaves()).dimension));
  }
  for (std::uint32_t r = 0; r < shape.roots(); ++r) {
    const Shape::Root root = shape.root(r);
    for (std::uint32_t i = 0; i < shape.size(root.dimension); ++i) {
      network.connect(
          {shape.leaf_on(root.dimension, root.line, i),
           static_cast<forwarding_table::Port>(shape.leaf_port(root.dimension, root.plane))},
          {shape.switch_of_root(r), static_cast<forwarding_table::Port>(i)});
    }
  }
  return network;
}

PortStates port_states(const Shape& shape, const Network& network, const Faults& faults) {
  PortStates states(network, true);
  const auto down = [&](std::uint32_t s, std::uint32_t port) {
    const Network::End there = *network.peer({s, static_cast<forwarding_table::Port>(port)});
    states.set(s, port, false);
    states.set(there.at, there.port, false);
  };
  faults.leaves.for_each([&](std::size_t leaf) {
    for (std::uint32_t p = 0; p < shape.leaf_ports(); ++p) {
      down(static_cast<std::uint32_t>(leaf), p);
    }
  });
  faults.roots.for_each([&](std::size_t number) {
    const auto r = static_cast<std::uint32_t>(number);
    for (std::uint32_t i = 0; i < shape.size(shape.root(r).dimension); ++i) {
      down(shape.switch_of_root(r), i);
    }
  });
  faults.links.for_each([&](std::size_t uplink) {
    down(static_cast<std::uint32_t>(uplink / shape.leaf_ports()),
         static_cast<std::uint32_t>(uplink % shape.leaf_ports()));
  });
  return states;
}

std::vector<std::uint32_t> live_leaves(const Shape& shape, const Faults& faults) {
  std::vector<std::uint32_t> alive;
  for (std::uint32_t leaf = 0; leaf < shape.leaves(); ++leaf) {
    if (!faults.leaves.contains(leaf)) {
      alive.push_back(leaf);
    }
  }
  return alive;
}

} // namespace tributary::unicast
