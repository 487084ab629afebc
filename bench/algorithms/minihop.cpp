#include "bench/algorithms/minihop.hpp"

#include <algorithm>

namespace tributary::multicast::published {

Tree Minihop::grow(SwitchId root, std::span<const SwitchId> members, const Loads& /*loads*/) {
  const RoutingView& view = distances_->view();
  Tree tree{root, {}, 0};
  reached_[root.value] = ++tree_;
  for (const SwitchId member : members) {
    const std::uint8_t* const to_member = distances_->row(member);
    tree.height = std::max<std::uint32_t>(tree.height, to_member[root.value]);
    for (SwitchId at = root; at != member;) {
      const auto arcs = view.arcs(at);
      const Arc& lowest = *std::ranges::find_if(
          arcs, [&](const Arc& arc) { return to_member[arc.to.value] + 1 == to_member[at.value]; });
      if (reached_[lowest.to.value] != tree_) {
        reached_[lowest.to.value] = tree_;
        tree.links.push_back(lowest.link);
      }
      at = lowest.to;
    }
  }
  return tree;
}

} // namespace tributary::multicast::published
