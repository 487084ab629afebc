#include "bench/algorithms/fulb.hpp"

#include <algorithm>

namespace tributary::multicast::published {

Tree Fulb::grow(SwitchId root, std::span<const SwitchId> members, const Loads& loads) {
  const std::uint8_t* const to_root = distances_->row(root);
  Tree tree{root, {}, 0};
  marks_[root.value] = ++tree_;
  for (const SwitchId member : members) {
    tree.height = std::max<std::uint32_t>(tree.height, to_root[member.value]);
    for (SwitchId at = member; marks_[at.value] != tree_;) {
      marks_[at.value] = tree_;
      const Arc& chosen = least_loaded(at, to_root, loads);
      tree.links.push_back(chosen.link);
      at = chosen.to;
    }
  }
  return tree;
}

const Arc& Fulb::least_loaded(SwitchId at, const std::uint8_t* to_root, const Loads& loads) const {
  const Arc* best = nullptr;
  for (const Arc& arc : distances_->view().arcs(at)) {
    if (to_root[arc.to.value] + 1 == to_root[at.value] &&
        (best == nullptr || loads[arc.link] < loads[best->link])) {
      best = &arc;
    }
  }
  return *best; // every switch of its part reaches the root
}

} // namespace tributary::multicast::published
