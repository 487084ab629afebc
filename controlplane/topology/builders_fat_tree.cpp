// Three levels: leaves, the middle switches of each pod, tops.
//
//   top     every top of a plane is joined to every middle switch of that plane, in all pods
//   middle  every middle switch of a pod is joined to every leaf of that pod
//   leaf    hosts
//
// A full fat tree of K-port switches is the case of K/2 planes with one middle switch a pod.
//
// The order of the tops matters to algorithms that take them one after another as roots: plane by
// plane, neighbouring groups share middle switches; interleaved, they do not.

#include "controlplane/topology/builders_parts.hpp"

#include <fmt/format.h>

namespace tributary::topology {

Model build_trimmed_fat_tree(const TrimmedFatTree& shape) {
  const auto [pods, leaves, hosts, middles, tops, paths, order] = shape;
  const std::uint32_t planes = paths == 0 ? 0 : middles / paths;
  if (planes == 0 || middles % paths != 0 || tops % planes != 0) {
    throw ModelError(fmt::format(
        "a trimmed fat tree of {0} middle switches a pod, {1} tops and {2} paths has no even "
        "planes: {2} must divide {0}, and the number of planes, {0}/{2}, must divide {1}",
        middles, tops, paths));
  }
  const std::uint32_t uplinks = tops / planes;
  const bool in_turn = order == PlaneOrder::in_turn;
  Model model;
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
      const SwitchId s = model.graph.add_switch(
          {.name = fmt::format("leaf{}.{}", pod, leaf), .ports = as_port(hosts + middles)});
      model.regions.push_back(pod);
      add_hosts(model.graph, s, hosts);
    }
  }
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    for (std::uint32_t middle = 0; middle < middles; ++middle) {
      const SwitchId s = model.graph.add_switch(
          {.name = fmt::format("middle{}.{}", pod, middle), .ports = as_port(leaves + uplinks)});
      model.regions.push_back(pod);
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        model.graph.connect({SwitchId{pod * leaves + leaf}, as_port(hosts + middle)},
                            {s, as_port(leaf)});
      }
    }
  }
  for (std::uint32_t top = 0; top < tops; ++top) {
    const SwitchId s =
        model.graph.add_switch({.name = fmt::format("top{}", top), .ports = as_port(pods * paths)});
    model.regions.push_back(Model::no_region);
    const std::uint32_t plane = in_turn ? top % planes : top / uplinks;
    const std::uint32_t place = in_turn ? top / planes : top % uplinks;
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      for (std::uint32_t i = 0; i < paths; ++i) {
        const SwitchId middle{pods * leaves + pod * middles + i * planes + plane};
        model.graph.connect({middle, as_port(leaves + place)}, {s, as_port(pod * paths + i)});
      }
    }
  }
  return model;
}

} // namespace tributary::topology
