// A grid of switches whose lines are closed to rings along every dimension.
//
// Ports after the hosts': ahead and back along the first dimension, ahead and back along the
// second, and so on. A ring of two is one link, ahead for the first switch and back for the second.

#include "controlplane/topology/builders_parts.hpp"

#include <fmt/format.h>

namespace tributary::topology {

Model build_torus(std::span<const std::uint32_t> shape, std::uint32_t hosts) {
  Model model;
  model.torus_shape.assign(shape.begin(), shape.end());
  const auto dimensions = static_cast<std::uint32_t>(shape.size());
  std::vector<std::uint32_t> place(dimensions);
  do {
    const SwitchId s = model.graph.add_switch(
        {.name = "s" + name_of(place), .ports = as_port(hosts + 2 * dimensions)});
    model.regions.push_back(Model::no_region);
    add_hosts(model.graph, s, hosts);
  } while (next_place(shape, place));
  do {
    const SwitchId here{number_of(shape, place)};
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const bool closes = place[d] + 1 == shape[d];
      if (shape[d] == 1 || (shape[d] == 2 && closes)) {
        continue;
      }
      std::vector<std::uint32_t> ahead = place;
      ahead[d] = closes ? 0 : place[d] + 1;
      model.graph.connect({here, as_port(hosts + 2 * d)},
                          {SwitchId{number_of(shape, ahead)}, as_port(hosts + 2 * d + 1)});
    }
  } while (next_place(shape, place));
  return model;
}

} // namespace tributary::topology
