// NUMA nodes: which of them have a pool of buffers, and which worker has which port.
//
//   A NIC writes received frames into memory of its own node, and the worker that polls it is at
//   that node, too: else each frame would cross to the other processor and back.
//
// A frame stays in the buffer it arrived in, so buffers of one node wait at ports of all of them:
// each pool is as large as one for all ports would be. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::placement {

/// A NUMA node's number.
using Node = std::int32_t;
/// Node of what is at none: virtual devices, workers that are not pinned, a machine's only node.
inline constexpr Node any_node = -1;

/// Nodes of what a process uses, in the order of its configuration.
struct Nodes {
  std::vector<Node> ports;
  std::vector<Node> workers;
};

/// Those with a pool each, ascending: where ports are, if that is at several; else one for all,
/// which is at `any_node`.
[[nodiscard]] std::vector<Node> nodes_with_pools(const Nodes& of);

/// Index of the pool that a port or worker at this node uses: the node's, else the first. Requires
/// one.
[[nodiscard]] std::size_t pool_of(std::span<const Node> pools, Node node);

/// By port, its worker: among those at the port's node, else among all, the one with the fewest
/// ports so far. Where nothing is known of nodes: in turn. Requires a worker.
[[nodiscard]] std::vector<std::size_t> deal_out(const Nodes& of);

} // namespace tributary::placement
