// The multicast tree of a job, as the control plane plans it, rooted at the first rank's host.
#pragma once

#include "tools/simulator/allreduce/paths.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tributary::simulator::allreduce {

struct JobTree {
  static constexpr std::uint32_t no_node = 0xFFFFFFFF;
  /// A switch of the tree.
  struct Node {
    std::uint32_t parent = no_node; ///< node; no_node next to the root host
    std::vector<std::uint32_t> children;
    std::uint32_t members = 0; ///< hosts here except the root
  };
  std::vector<Node> nodes;            ///< the one next to the root host first
  std::vector<std::uint32_t> node_of; ///< by rank
  std::uint32_t height = 0;           ///< links from the first node to the farthest
};

/// Throws AllreduceError when no tree exists.
[[nodiscard]] JobTree plan_tree(const Paths& paths, std::span<const topology::HostId> ranks,
                                std::uint64_t seed);

} // namespace tributary::simulator::allreduce
