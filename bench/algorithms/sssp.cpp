#include "bench/algorithms/sssp.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace tributary::multicast::published {
namespace {

/// Costs are hops above this bit, and the sum of loads below.
constexpr unsigned hop_shift = 40;
constexpr std::uint64_t one_hop = std::uint64_t{1} << hop_shift;
constexpr std::uint64_t not_reached = std::numeric_limits<std::uint64_t>::max();

} // namespace

Sssp::Sssp(Distances& distances, RootRule rule, RootScan scan, SsspSearch search)
    : view_(&distances.view()), root_choice_(distances, rule, scan), search_(search),
      reached_(view_->switch_count()), in_tree_(view_->switch_count()) {}

Tree Sssp::grow(SwitchId root, std::span<const SwitchId> members, const Loads& loads) {
  std::ranges::fill(reached_, Reached{not_reached, {}});
  reached_[root.value].cost = 0;
  if (search_ == SsspSearch::heap) {
    search_with_heap(root, loads);
  } else {
    search_by_layers(root, loads);
  }
  Tree tree{root, {}, 0};
  in_tree_[root.value] = ++tree_;
  for (const SwitchId member : members) {
    const auto hops = static_cast<std::uint32_t>(reached_[member.value].cost >> hop_shift);
    tree.height = std::max(tree.height, hops);
    for (SwitchId at = member; in_tree_[at.value] != tree_; at = reached_[at.value].back.to) {
      in_tree_[at.value] = tree_;
      tree.links.push_back(reached_[at.value].back.link);
    }
  }
  return tree;
}

void Sssp::search_with_heap(SwitchId root, const Loads& loads) {
  heap_.assign(1, {0, root});
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater{});
    const auto [cost, at] = heap_.back();
    heap_.pop_back();
    if (cost != reached_[at.value].cost) {
      continue; // a cheaper path was found later
    }
    for (const Arc& arc : view_->arcs(at)) {
      const std::uint64_t there = cost + one_hop + loads[arc.link];
      if (there < reached_[arc.to.value].cost) {
        reached_[arc.to.value] = {there, {at, arc.link}};
        heap_.push_back({there, arc.to});
        std::ranges::push_heap(heap_, std::greater{});
      }
    }
  }
}

void Sssp::search_by_layers(SwitchId root, const Loads& loads) {
  queue_.assign(1, root);
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const SwitchId at = queue_[next]; // the whole previous layer was visited: its cost is final
    const std::uint64_t cost = reached_[at.value].cost;
    for (const Arc& arc : view_->arcs(at)) {
      const std::uint64_t there = cost + one_hop + loads[arc.link];
      Reached& to = reached_[arc.to.value];
      if (to.cost == not_reached) {
        queue_.push_back(arc.to);
      }
      if (there < to.cost) {
        to = {there, {at, arc.link}};
      }
    }
  }
}

} // namespace tributary::multicast::published
