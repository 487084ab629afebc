// Which rank runs on which node. Pure.
//
// Ranks fill one node after the other, as mpirun and srun do by default: neighbours in rank are
// mostly neighbours on a node.
#pragma once

#include "endpoint/launcher/job/node_list.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::launch::job {

struct PlacedNode {
  std::string name;
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0; ///< at least 1
  friend bool operator==(const PlacedNode&, const PlacedNode&) = default;
};

struct PlacementRequest {
  std::optional<std::uint32_t> ranks{};    ///< `-n`; without: as many as the nodes take
  std::optional<std::uint32_t> per_node{}; ///< `--ppn`, instead of each node's own number
};

/// Nodes without a rank are left out. Throws NodeListError when the ranks do not fit.
[[nodiscard]] std::vector<PlacedNode> place(const std::vector<NodeSlots>& nodes,
                                            const PlacementRequest& request);

/// "ranks 0 to 3", "rank 7"
[[nodiscard]] std::string ranks_text(std::uint32_t first, std::uint32_t count);

} // namespace tributary::launch::job
