#include "endpoint/launcher/job/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::launch::job {

std::vector<PlacedNode> place(const std::vector<NodeSlots>& nodes,
                              const PlacementRequest& request) {
  const auto slots_of = [&](const NodeSlots& node) {
    return request.per_node.value_or(node.slots);
  };
  std::uint64_t room = 0;
  for (const NodeSlots& node : nodes) {
    room += slots_of(node);
  }
  const std::uint64_t wanted = request.ranks.value_or(std::min<std::uint64_t>(room, most_ranks));
  if (wanted == 0 || wanted > most_ranks) {
    throw NodeListError(fmt::format("{} ranks; a job has 1 to {}", wanted, most_ranks));
  }
  if (wanted > room) {
    throw NodeListError(fmt::format(
        "{} ranks do not fit: the {} take{} {}; give nodes more ranks (NAME:RANKS), or use --ppn "
        "{}",
        wanted, nodes.size() == 1 ? "node" : fmt::format("{} nodes", nodes.size()),
        nodes.size() == 1 ? "s" : "", room, (wanted + nodes.size() - 1) / nodes.size()));
  }
  std::vector<PlacedNode> placed;
  std::uint32_t next = 0;
  for (const NodeSlots& node : nodes) {
    const auto here =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(slots_of(node), wanted - next));
    if (here > 0) {
      placed.push_back({node.name, next, here});
      next += here;
    }
  }
  return placed;
}

std::string ranks_text(std::uint32_t first, std::uint32_t count) {
  return count == 1 ? fmt::format("rank {}", first)
                    : fmt::format("ranks {} to {}", first, first + count - 1);
}

} // namespace tributary::launch::job
