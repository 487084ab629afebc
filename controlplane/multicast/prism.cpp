#include "controlplane/multicast/prism.hpp"

#include <algorithm>
#include <iterator>

namespace tributary::multicast {

namespace {

/// Wider fabrics get fewer root switches: their trees are expensive to grow.
constexpr std::uint8_t wide = 8;
/// Candidates examined for each root switch that is tried.
constexpr std::size_t candidates_per_root_switch = 4;
/// Cost factor that a lower tree may have.
constexpr float lower_is_worth = 4;

/// A root switch that is not a member and has one link only is a detour: the next switch replaces
/// it. That occurs where root switches need not be as near as possible. Requires two members or
/// more.
void trim(const RoutingView& view, std::span<const SwitchId> members, Tree& tree) {
  while (!std::binary_search(members.begin(), members.end(), tree.root_switch)) {
    const auto at_root_switch = [&](LinkId c) {
      const auto [a, b] = view.ends(c);
      return a == tree.root_switch || b == tree.root_switch;
    };
    const auto only = std::find_if(tree.links.begin(), tree.links.end(), at_root_switch);
    if (std::find_if(std::next(only), tree.links.end(), at_root_switch) != tree.links.end()) {
      return;
    }
    const auto [a, b] = view.ends(*only);
    tree.root_switch = a == tree.root_switch ? b : a;
    --tree.height;
    tree.links.erase(only);
  }
}

} // namespace

Prism::Prism(const RoutingView& view, Distances& distances, std::uint64_t seed)
    : view_(view), distances_(distances), book_(view), grower_(view), random_(seed),
      damaged_(view.usable_link_count() < view.link_count()) {
  if (ClosFabric::fits(view)) {
    fabric_.emplace(view);
    router_.emplace(*fabric_);
    detour_ = 2;
  }
}

std::optional<Tree> Prism::route(std::span<const SwitchId> members, const Loads& loads) {
  if (members.size() == 1) {
    return view_.usable(members.front()) ? std::optional(Tree{members.front(), {}, 0})
                                         : std::nullopt;
  }
  extra_root_switches_.clear();
  return route_below(CostTable::unusable, members, loads);
}

std::optional<Tree> Prism::route_cheaper(std::span<const SwitchId> members, const Loads& loads,
                                         SwitchId root_switch, float limit) {
  if (members.size() == 1) {
    return std::nullopt;
  }
  extra_root_switches_.assign(1, root_switch);
  auto tree = route_below(limit, members, loads);
  if (!tree && fabric_ && damaged_) {
    // The choice that is exact for whole pods is not for damaged ones: random root switches may be
    // better.
    tree = route_general(limit, members);
  }
  return tree;
}

std::optional<Tree> Prism::route_below(float limit, std::span<const SwitchId> members,
                                       const Loads& loads) {
  follow(loads);
  harmless_ = book_.of_load(std::max(loads.max(), 1U) - 1);
  const auto is_leaf = [&](SwitchId s) { return view_.level(s) == 0; };
  if (fabric_ && std::all_of(members.begin(), members.end(), is_leaf)) {
    const auto root_switch = router_->choose(members, detour_cost(loads));
    auto tree = root_switch ? router_->build() : std::nullopt;
    if (root_switch && !tree && router_->choose(members, CostTable::unusable)) {
      extra_root_switches_.push_back(*root_switch);
      if (auto low = router_->build()) {
        return go_round(limit, std::move(*low), members);
      }
    }
    if (tree) {
      // Without a limit no comparison is needed.
      const bool cheaper = limit == CostTable::unusable || cost(*tree) < limit;
      return cheaper ? std::move(tree) : std::nullopt;
    }
  }
  return view_.connected(members) ? route_general(limit, members) : std::nullopt;
}

std::optional<Tree> Prism::go_round(float limit, Tree low, std::span<const SwitchId> members) {
  const float cost_low = cost(low);
  std::optional<Tree> best = cost_low < limit ? std::optional(low) : std::nullopt;
  limit = std::min(limit, cost_low / lower_is_worth);
  bool found = false;
  grower_.begin(members, book_);
  for (const SwitchId root_switch : extra_root_switches_) {
    if (grower_.grow(root_switch, distances_.row(root_switch), limit) &&
        grower_.tree().height <= low.height + detour_) {
      limit = grower_.cost();
      best = grower_.tree();
      trim(view_, members, *best);
      found = true;
    }
  }
  if (!found) {
    if (auto other = route_general(limit, members)) {
      return other;
    }
  }
  return best;
}

float Prism::cost(const Tree& tree, const Loads& loads) {
  follow(loads);
  return cost(tree);
}

void Prism::follow(const Loads& loads) {
  book_.follow(loads, [this](LinkId c) {
    if (fabric_) {
      fabric_->update_costs(c, book_);
    }
  });
}

float Prism::cost(const Tree& tree) const {
  float sum = 0;
  for (const LinkId c : tree.links) {
    sum += book_[c];
  }
  return sum;
}

float Prism::detour_cost(const Loads& loads) const {
  if (!damaged_) {
    return CostTable::unusable;
  }
  // At least two links, to avoid a value that is too small.
  const std::uint32_t links = std::max(view_.usable_link_count(), 1U);
  const auto mean = static_cast<std::uint32_t>(loads.total() / links);
  return 2 * lower_is_worth * book_.of_load(mean);
}

std::optional<Tree> Prism::route_general(float limit, std::span<const SwitchId> members) {
  eccentricities_.resize(distances_.row_bytes());
  eccentricities(distances_, members, eccentricities_);
  const std::uint8_t least = radius(std::span(eccentricities_).first(view_.switch_count()));
  grower_.begin(members, book_);
  std::optional<Tree> best;
  const auto grow = [&](SwitchId root_switch) {
    if (grower_.grow(root_switch, distances_.row(root_switch), limit)) {
      limit = grower_.cost();
      best = grower_.tree();
    }
  };
  const auto grow_extra = [&](std::uint8_t farthest) {
    for (const SwitchId root_switch : extra_root_switches_) {
      if (eccentricities_[root_switch.value] <= farthest) {
        grow(root_switch);
      }
    }
  };
  const bool plenty = draw_root_switches(least);
  for (const RootSwitch& root_switch : root_switches_) {
    grow(root_switch.at);
    // With many root switches, a tree that avoids the full links is good enough.
    if (plenty && best && costliest(*best) < harmless_) {
      break;
    }
  }
  if (!damaged_ || plenty) {
    grow_extra(least);
    return best;
  }
  limit = best ? limit / lower_is_worth : limit;
  const auto farthest = static_cast<std::uint8_t>(least + detour_);
  draw_root_switches(farthest);
  std::for_each(root_switches_.begin(), root_switches_.end(),
                [&](const RootSwitch& c) { grow(c.at); });
  grow_extra(farthest);
  if (best) {
    trim(view_, members, *best);
  }
  return best;
}

float Prism::costliest(const Tree& tree) const {
  float most = 0;
  for (const LinkId c : tree.links) {
    most = std::max(most, book_[c]);
  }
  return most;
}

bool Prism::draw_root_switches(std::uint8_t farthest) {
  if (root_switches_tried_ == 0) {
    const std::uint8_t* const row = distances_.row(SwitchId{0});
    const bool is_wide = std::any_of(row, row + view_.switch_count(), [](std::uint8_t distance) {
      return distance > wide && distance != Distances::unreachable;
    });
    root_switches_tried_ = is_wide ? 2 : 4;
  }
  const std::size_t wanted = candidates_per_root_switch * root_switches_tried_;
  root_switches_.clear();
  const bool plenty = hit_candidates(farthest, wanted);
  if (!plenty) {
    list_candidates(farthest, wanted);
  }
  const std::size_t kept = std::min(root_switches_tried_, root_switches_.size());
  std::partial_sort(root_switches_.begin(),
                    root_switches_.begin() + static_cast<std::ptrdiff_t>(kept),
                    root_switches_.end(),
                    [](const RootSwitch& a, const RootSwitch& b) { return a.cost < b.cost; });
  root_switches_.resize(kept);
  return plenty;
}

bool Prism::hit_candidates(std::uint8_t farthest, std::size_t wanted) {
  const std::uint32_t switches = view_.switch_count();
  const std::size_t draws = 4 * wanted;
  for (std::size_t draw = 0; switches > draws && draw < draws && root_switches_.size() < wanted;
       ++draw) {
    if (const SwitchId s{random_below(switches)}; eccentricities_[s.value] <= farthest) {
      root_switches_.push_back({mean_cost_at(s), s});
    }
  }
  return root_switches_.size() == wanted;
}

void Prism::list_candidates(std::uint8_t farthest, std::size_t wanted) {
  root_switches_.clear();
  for (SwitchId s{0}; s.value < view_.switch_count(); ++s.value) {
    if (eccentricities_[s.value] <= farthest) {
      root_switches_.push_back({0, s});
    }
  }
  // All of them are equally likely: neighbours share their links.
  const std::size_t drawn = std::min(wanted, root_switches_.size());
  for (std::size_t i = 0; i < drawn; ++i) {
    const auto rest = static_cast<std::uint32_t>(root_switches_.size() - i);
    std::swap(root_switches_[i], root_switches_[i + random_below(rest)]);
    root_switches_[i].cost = mean_cost_at(root_switches_[i].at);
  }
  root_switches_.resize(drawn);
}

std::uint32_t Prism::random_below(std::uint32_t bound) {
  return static_cast<std::uint32_t>((random_() >> 32) * bound >> 32);
}

float Prism::mean_cost_at(SwitchId s) const {
  const auto arcs = view_.arcs(s);
  float sum = 0;
  for (const Arc& arc : arcs) {
    sum += book_[arc.link];
  }
  return sum / static_cast<float>(arcs.size());
}

} // namespace tributary::multicast
