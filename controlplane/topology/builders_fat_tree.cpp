// Three levels: leaves, the middle switches of each pod, tops.
//
//   top     every top of a plane is joined to every middle switch of that plane, in all pods
//   middle  every middle switch of a pod is joined to every leaf of that pod
//   leaf    hosts
//
// A full fat tree of K-port switches is the case of K/2 planes with one middle switch a pod.

#include "controlplane/topology/builders_parts.hpp"

#include <fmt/format.h>

namespace tributary::topology {

Model build_trimmed_fat_tree(const TrimmedFatTree& shape) {
  const auto [pods, leaves, hosts, middles, tops, uplinks] = shape;
  if (uplinks == 0 || tops % uplinks != 0 || middles % (tops / uplinks) != 0) {
    throw ModelError(
        fmt::format("a trimmed fat tree of {0} tops, {1} middle switches a pod and {2} "
                    "uplinks each has no even planes: {2} must divide {0}, and the "
                    "number of planes {0}/{2} must divide {1}",
                    tops, middles, uplinks));
  }
  const std::uint32_t planes = tops / uplinks;
  const std::uint32_t middles_in_plane = middles / planes;
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
    const SwitchId s = model.graph.add_switch(
        {.name = fmt::format("top{}", top), .ports = as_port(pods * middles_in_plane)});
    model.regions.push_back(Model::no_region);
    const std::uint32_t plane = top / uplinks;
    for (std::uint32_t pod = 0; pod < pods; ++pod) {
      for (std::uint32_t i = 0; i < middles_in_plane; ++i) {
        const SwitchId middle{pods * leaves + pod * middles + plane * middles_in_plane + i};
        model.graph.connect({middle, as_port(leaves + top % uplinks)},
                            {s, as_port(pod * middles_in_plane + i)});
      }
    }
  }
  return model;
}

} // namespace tributary::topology
