#include "controlplane/multicast/prism_grower.hpp"

#include <algorithm>
#include <array>

namespace tributary::multicast {

PrismGrower::PrismGrower(const RoutingView& view)
    : view_(view), marks_(view.switch_count(), 0), visits_(view.switch_count()) {}

void PrismGrower::begin(std::span<const SwitchId> members, const LinkCosts& costs) {
  costs_ = &costs;
  members_.clear();
  least_in_all_ = 0;
  for (const SwitchId member : members) {
    float least = CostTable::unusable;
    for (const Arc& arc : view_.arcs(member)) {
      least = std::min(least, costs[arc.link]);
    }
    members_.push_back({member, least});
    least_in_all_ += least;
  }
}

bool PrismGrower::grow(SwitchId root_switch, const std::uint8_t* distances, float limit) {
  ++growth_;
  sort_by_distance(distances);
  tree_.root_switch = root_switch;
  tree_.height = distances[order_.front().at.value];
  tree_.links.clear();
  cost_ = 0;
  for (const Member& member : order_) {
    mark(member.at, State::joins_later);
  }
  // A root switch that is a member is the nearest one, and does not join.
  const Member& nearest = order_.back();
  float least_to_come = least_in_all_ - (nearest.at == root_switch ? nearest.least : 0);
  mark(root_switch, State::inside);
  for (const Member& member : order_) {
    if (member.at != root_switch) {
      join(member.at, distances);
      least_to_come -= member.least;
      if (cost_ + least_to_come >= limit) {
        return false;
      }
    }
  }
  return true;
}

void PrismGrower::sort_by_distance(const std::uint8_t* distances) {
  // Counting sort by distance: most distances are small.
  std::uint8_t farthest = 0;
  for (const Member& member : members_) {
    farthest = std::max(farthest, distances[member.at.value]);
  }
  std::array<std::uint32_t, 257> first;
  std::fill_n(first.begin(), farthest + 2, 0U);
  const auto nearness = [&](const Member& member) {
    return static_cast<std::size_t>(farthest - distances[member.at.value]);
  };
  for (const Member& member : members_) {
    ++first[nearness(member) + 1];
  }
  for (std::size_t d = 1; d <= farthest; ++d) {
    first[d] += first[d - 1];
  }
  order_.resize(members_.size());
  for (const Member& member : members_) {
    order_[first[nearness(member)]++] = member;
  }
}

void PrismGrower::join(SwitchId member, const std::uint8_t* distances) {
  const LinkCosts& costs = *costs_;
  const auto dearer = [](const Candidate& a, const Candidate& b) { return a.cost > b.cost; };
  const float cheapest = costs.of_load(0);
  ++search_;
  visits_[member.value] = {search_, 0, member, {}};
  open_.assign(1, {0, member});
  Candidate met{CostTable::unusable, member}; // the best place to join so far
  // Any continuation from a candidate costs at least one more link.
  for (std::uint32_t expanded = 0; !open_.empty() && open_.front().cost + cheapest < met.cost;
       ++expanded) {
    const Candidate from = open_.front();
    if (expanded == expansions) {
      met = met.cost < CostTable::unusable ? met : go_straight(from, distances);
      break;
    }
    std::pop_heap(open_.begin(), open_.end(), dearer);
    open_.pop_back();
    if (from.cost > visits_[from.at.value].cost) {
      continue;
    }
    const std::uint8_t nearer = static_cast<std::uint8_t>(distances[from.at.value] - 1);
    for (const Arc& arc : view_.arcs(from.at)) {
      if (distances[arc.to.value] != nearer) {
        continue;
      }
      const float cost = from.cost + costs[arc.link];
      Visit& visit = visits_[arc.to.value];
      if (cost >= met.cost || (visit.search == search_ && cost >= visit.cost)) {
        continue;
      }
      visit = {search_, cost, from.at, arc.link};
      if (state(arc.to) != State::outside) {
        met = {cost, arc.to};
      } else {
        open_.push_back({cost, arc.to});
        std::push_heap(open_.begin(), open_.end(), dearer);
      }
    }
  }
  cost_ += met.cost;
  for (SwitchId s = met.at; s != member;) {
    const Visit& visit = visits_[s.value];
    tree_.links.push_back(visit.by);
    s = visit.from;
    mark(s, State::inside);
  }
}

PrismGrower::Candidate PrismGrower::go_straight(Candidate at, const std::uint8_t* distances) {
  const LinkCosts& costs = *costs_;
  do {
    const Arc* best = nullptr;
    for (const Arc& arc : view_.arcs(at.at)) {
      if (distances[arc.to.value] + 1 == distances[at.at.value] &&
          (best == nullptr || costs[arc.link] < costs[best->link])) {
        best = &arc;
      }
    }
    const float cost = at.cost + costs[best->link];
    visits_[best->to.value] = {search_, cost, at.at, best->link};
    at = {cost, best->to};
  } while (state(at.at) == State::outside);
  return at;
}

} // namespace tributary::multicast
