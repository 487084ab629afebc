// A grid of leaves; the leaves of every line along every dimension are joined by that line's roots.
//
// Each line is a two-level fat tree of its own, and every leaf is in as many of them as the grid
// has dimensions. Ports of a leaf after the hosts': the roots of its line along the first
// dimension, then along the second, and so on. Port of a root: the leaf's place in the line.

#include "controlplane/topology/builders_parts.hpp"

#include <fmt/format.h>

namespace tributary::topology {

Model build_k_dimension_fat_tree(std::span<const std::uint32_t> shape, std::uint32_t hosts,
                                 std::uint32_t roots) {
  Model model;
  const auto dimensions = static_cast<std::uint32_t>(shape.size());
  std::vector<std::uint32_t> place(dimensions);
  do {
    const SwitchId s = model.graph.add_switch(
        {.name = "leaf" + name_of(place), .ports = as_port(hosts + roots * dimensions)});
    add_hosts(model.graph, s, hosts);
  } while (next_place(shape, place));
  do {
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      if (place[d] != 0) {
        continue; // each line once, from its first leaf
      }
      for (std::uint32_t r = 0; r < roots; ++r) {
        const SwitchId root =
            model.graph.add_switch({.name = fmt::format("root{}:{}:{}", d, name_of(place), r),
                                    .ports = as_port(shape[d])});
        std::vector<std::uint32_t> leaf = place;
        for (leaf[d] = 0; leaf[d] < shape[d]; ++leaf[d]) {
          model.graph.connect({SwitchId{number_of(shape, leaf)}, as_port(hosts + d * roots + r)},
                              {root, as_port(leaf[d])});
        }
      }
    }
  } while (next_place(shape, place));
  model.regions.assign(model.graph.switches().size(), Model::no_region);
  return model;
}

} // namespace tributary::topology
