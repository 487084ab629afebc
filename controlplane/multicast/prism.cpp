#include "controlplane/multicast/prism.hpp"

#include <algorithm>
#include <iterator>

namespace tributary::multicast {

namespace {

/// Fabrics wider than this are worth fewer centers: their trees are dear to grow.
constexpr std::uint8_t wide = 8;
/// Candidates looked at for each center that is tried.
constexpr std::size_t candidates_per_center = 4;
/// How many times as much a tree may cost for being lower.
constexpr float lower_is_worth = 4;

/// A center that is no member and has one cable only is a detour: the next switch takes over, which
/// happens where centers need not be as near as can be. Requires two members or more.
void trim(const RoutingView& view, std::span<const SwitchId> members, Tree& tree) {
  while (!std::binary_search(members.begin(), members.end(), tree.center)) {
    const auto at_center = [&](CableId c) {
      const auto [a, b] = view.ends(c);
      return a == tree.center || b == tree.center;
    };
    const auto only = std::find_if(tree.cables.begin(), tree.cables.end(), at_center);
    if (std::find_if(std::next(only), tree.cables.end(), at_center) != tree.cables.end()) {
      return;
    }
    const auto [a, b] = view.ends(*only);
    tree.center = a == tree.center ? b : a;
    --tree.height;
    tree.cables.erase(only);
  }
}

} // namespace

Prism::Prism(const RoutingView& view, Distances& distances, std::uint64_t seed)
    : view_(view), distances_(distances), book_(view), grower_(view), random_(seed),
      damaged_(view.usable_cable_count() < view.cable_count()) {
  if (LeveledFabric::fits(view)) {
    fabric_.emplace(view);
    router_.emplace(*fabric_);
    way_round_ = 2;
  }
}

std::optional<Tree> Prism::route(std::span<const SwitchId> members, const Loads& loads) {
  if (members.size() == 1) {
    return view_.usable(members.front()) ? std::optional(Tree{members.front(), {}, 0})
                                         : std::nullopt;
  }
  extra_centers_.clear();
  return route_below(PriceTable::unusable, members, loads);
}

std::optional<Tree> Prism::route_cheaper(std::span<const SwitchId> members, const Loads& loads,
                                         SwitchId center, float limit) {
  if (members.size() == 1) {
    return std::nullopt;
  }
  extra_centers_.assign(1, center);
  auto tree = route_below(limit, members, loads);
  if (!tree && fabric_ && damaged_) {
    // What is exact for whole pods is not for what is left of them: random centers may do better.
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
    const auto center = router_->choose(members, way_round_price(loads));
    auto tree = center ? router_->build() : std::nullopt;
    if (center && !tree && router_->choose(members, PriceTable::unusable)) {
      extra_centers_.push_back(*center);
      if (auto low = router_->build()) {
        return go_round(limit, std::move(*low), members);
      }
    }
    if (tree) {
      // Without a limit there is nothing to compare.
      const bool cheaper = limit == PriceTable::unusable || price(*tree) < limit;
      return cheaper ? std::move(tree) : std::nullopt;
    }
  }
  return view_.connected(members) ? route_general(limit, members) : std::nullopt;
}

std::optional<Tree> Prism::go_round(float limit, Tree low, std::span<const SwitchId> members) {
  const float price_low = price(low);
  std::optional<Tree> best = price_low < limit ? std::optional(low) : std::nullopt;
  limit = std::min(limit, price_low / lower_is_worth);
  bool found = false;
  grower_.begin(members, book_);
  for (const SwitchId center : extra_centers_) {
    if (grower_.grow(center, distances_.row(center), limit) &&
        grower_.tree().height <= low.height + way_round_) {
      limit = grower_.price();
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

float Prism::price(const Tree& tree, const Loads& loads) {
  follow(loads);
  return price(tree);
}

void Prism::follow(const Loads& loads) {
  book_.follow(loads, [this](CableId c) {
    if (fabric_) {
      fabric_->reprice(c, book_);
    }
  });
}

float Prism::price(const Tree& tree) const {
  float sum = 0;
  for (const CableId c : tree.cables) {
    sum += book_[c];
  }
  return sum;
}

float Prism::way_round_price(const Loads& loads) const {
  if (!damaged_) {
    return PriceTable::unusable;
  }
  // Two cables, and it should not be taken for little.
  const std::uint32_t cables = std::max(view_.usable_cable_count(), 1U);
  const auto mean = static_cast<std::uint32_t>(loads.total() / cables);
  return 2 * lower_is_worth * book_.of_load(mean);
}

std::optional<Tree> Prism::route_general(float limit, std::span<const SwitchId> members) {
  eccentricities_.resize(distances_.row_bytes());
  eccentricities(distances_, members, eccentricities_);
  const std::uint8_t least = radius(std::span(eccentricities_).first(view_.switch_count()));
  grower_.begin(members, book_);
  std::optional<Tree> best;
  const auto grow = [&](SwitchId center) {
    if (grower_.grow(center, distances_.row(center), limit)) {
      limit = grower_.price();
      best = grower_.tree();
    }
  };
  const auto grow_extra = [&](std::uint8_t farthest) {
    for (const SwitchId center : extra_centers_) {
      if (eccentricities_[center.value] <= farthest) {
        grow(center);
      }
    }
  };
  const bool plenty = draw_centers(least);
  for (const Center& center : centers_) {
    grow(center.at);
    // Where centers are plenty, a tree that keeps off the full cables is good enough.
    if (plenty && best && dearest(*best) < harmless_) {
      break;
    }
  }
  if (!damaged_ || plenty) {
    grow_extra(least);
    return best;
  }
  limit = best ? limit / lower_is_worth : limit;
  const auto farthest = static_cast<std::uint8_t>(least + way_round_);
  draw_centers(farthest);
  std::for_each(centers_.begin(), centers_.end(), [&](const Center& c) { grow(c.at); });
  grow_extra(farthest);
  if (best) {
    trim(view_, members, *best);
  }
  return best;
}

float Prism::dearest(const Tree& tree) const {
  float most = 0;
  for (const CableId c : tree.cables) {
    most = std::max(most, book_[c]);
  }
  return most;
}

bool Prism::draw_centers(std::uint8_t farthest) {
  if (centers_tried_ == 0) {
    const std::uint8_t* const row = distances_.row(SwitchId{0});
    const bool is_wide = std::any_of(row, row + view_.switch_count(), [](std::uint8_t distance) {
      return distance > wide && distance != Distances::unreachable;
    });
    centers_tried_ = is_wide ? 2 : 4;
  }
  const std::size_t wanted = candidates_per_center * centers_tried_;
  centers_.clear();
  const bool plenty = hit_candidates(farthest, wanted);
  if (!plenty) {
    list_candidates(farthest, wanted);
  }
  const std::size_t kept = std::min(centers_tried_, centers_.size());
  std::partial_sort(centers_.begin(), centers_.begin() + static_cast<std::ptrdiff_t>(kept),
                    centers_.end(),
                    [](const Center& a, const Center& b) { return a.price < b.price; });
  centers_.resize(kept);
  return plenty;
}

bool Prism::hit_candidates(std::uint8_t farthest, std::size_t wanted) {
  const std::uint32_t switches = view_.switch_count();
  const std::size_t draws = 4 * wanted;
  for (std::size_t draw = 0; switches > draws && draw < draws && centers_.size() < wanted; ++draw) {
    if (const SwitchId s{random_below(switches)}; eccentricities_[s.value] <= farthest) {
      centers_.push_back({mean_price_at(s), s});
    }
  }
  return centers_.size() == wanted;
}

void Prism::list_candidates(std::uint8_t farthest, std::size_t wanted) {
  centers_.clear();
  for (SwitchId s{0}; s.value < view_.switch_count(); ++s.value) {
    if (eccentricities_[s.value] <= farthest) {
      centers_.push_back({0, s});
    }
  }
  // Any of them is as likely as another: neighbours share their cables.
  const std::size_t drawn = std::min(wanted, centers_.size());
  for (std::size_t i = 0; i < drawn; ++i) {
    const auto rest = static_cast<std::uint32_t>(centers_.size() - i);
    std::swap(centers_[i], centers_[i + random_below(rest)]);
    centers_[i].price = mean_price_at(centers_[i].at);
  }
  centers_.resize(drawn);
}

std::uint32_t Prism::random_below(std::uint32_t bound) {
  return static_cast<std::uint32_t>((random_() >> 32) * bound >> 32);
}

float Prism::mean_price_at(SwitchId s) const {
  const auto arcs = view_.arcs(s);
  float sum = 0;
  for (const Arc& arc : arcs) {
    sum += book_[arc.cable];
  }
  return sum / static_cast<float>(arcs.size());
}

} // namespace tributary::multicast
