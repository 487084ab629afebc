#include "controlplane/multicast/prism_grower.hpp"

#include <algorithm>
#include <array>

namespace tributary::multicast {

PrismGrower::PrismGrower(const RoutingView& view)
    : view_(view), marks_(view.switch_count(), 0), visits_(view.switch_count()) {}

bool PrismGrower::grow(SwitchId center, std::span<const SwitchId> members,
                       const std::uint8_t* distances, const PriceBook& book, float limit) {
  ++growth_;
  sort_by_distance(members, distances);
  tree_.center = center;
  tree_.height = distances[order_.front().value];
  tree_.cables.clear();
  price_ = 0;
  for (const SwitchId member : order_) {
    mark(member, State::joins_later);
  }
  mark(center, State::inside);
  for (const SwitchId member : order_) {
    if (member != center) {
      join(member, distances, book);
      if (price_ >= limit) {
        return false;
      }
    }
  }
  return true;
}

void PrismGrower::sort_by_distance(std::span<const SwitchId> members,
                                   const std::uint8_t* distances) {
  std::array<std::uint32_t, 257> first{};
  const auto nearness = [&](SwitchId s) { return 255U - distances[s.value]; };
  for (const SwitchId member : members) {
    ++first[nearness(member) + 1];
  }
  for (std::size_t d = 1; d < first.size(); ++d) {
    first[d] += first[d - 1];
  }
  order_.resize(members.size());
  for (const SwitchId member : members) {
    order_[first[nearness(member)]++] = member;
  }
}

void PrismGrower::join(SwitchId member, const std::uint8_t* distances, const PriceBook& book) {
  const auto dearer = [](const Candidate& a, const Candidate& b) { return a.price > b.price; };
  ++search_;
  open_.assign(1, {0, member});
  visits_[member.value] = {search_, 0, member, {}};
  SwitchId met = member;
  for (std::uint32_t expanded = 0;; ++expanded) {
    std::pop_heap(open_.begin(), open_.end(), dearer);
    const Candidate next = open_.back();
    open_.pop_back();
    met = next.at;
    if (met != member && state(met) != State::outside) {
      break;
    }
    if (expanded == expansions) {
      met = go_straight(met, distances, book);
      break;
    }
    const std::uint8_t nearer = static_cast<std::uint8_t>(distances[met.value] - 1);
    if (next.price > visits_[met.value].price) {
      continue;
    }
    for (const Arc& arc : view_.arcs(met)) {
      if (distances[arc.to.value] == nearer) {
        const float price = next.price + book[arc.cable];
        Visit& visit = visits_[arc.to.value];
        if (visit.search != search_ || price < visit.price) {
          visit = {search_, price, met, arc.cable};
          open_.push_back({price, arc.to});
          std::push_heap(open_.begin(), open_.end(), dearer);
        }
      }
    }
  }
  price_ += visits_[met.value].price;
  for (SwitchId s = met; s != member;) {
    const Visit& visit = visits_[s.value];
    tree_.cables.push_back(visit.by);
    s = visit.from;
    mark(s, State::inside);
  }
}

SwitchId PrismGrower::go_straight(SwitchId from, const std::uint8_t* distances,
                                  const PriceBook& book) {
  SwitchId at = from;
  do {
    const Arc* best = nullptr;
    for (const Arc& arc : view_.arcs(at)) {
      if (distances[arc.to.value] + 1 == distances[at.value] &&
          (best == nullptr || book[arc.cable] < book[best->cable])) {
        best = &arc;
      }
    }
    visits_[best->to.value] = {search_, visits_[at.value].price + book[best->cable], at,
                               best->cable};
    at = best->to;
  } while (state(at) == State::outside);
  return at;
}

} // namespace tributary::multicast
