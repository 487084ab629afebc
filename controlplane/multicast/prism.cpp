#include "controlplane/multicast/prism.hpp"

#include "controlplane/multicast/multiversion.hpp"

#include <algorithm>
#include <limits>

namespace tributary::multicast {

namespace {

/// Fabrics wider than this are worth fewer centers: their trees are dear to grow.
constexpr std::uint8_t wide = 8;
/// Candidates looked at for each center that is tried.
constexpr std::size_t candidates_per_center = 4;

TRIBUTARY_MULTIVERSION
std::uint8_t smallest(const std::uint8_t* bytes, std::size_t count) {
  std::uint8_t low = 0xFF;
  for (std::size_t i = 0; i < count; ++i) {
    low = bytes[i] < low ? bytes[i] : low;
  }
  return low;
}

TRIBUTARY_MULTIVERSION
std::size_t count_up_to(const std::uint8_t* bytes, std::size_t count, std::uint8_t limit) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    found += bytes[i] <= limit ? 1U : 0U;
  }
  return found;
}

} // namespace

Prism::Prism(const RoutingView& view, Distances& distances, std::uint64_t seed)
    : view_(view), distances_(distances), book_(view), grower_(view), random_(seed) {
  if (LeveledFabric::fits(view)) {
    fabric_.emplace(view);
    router_.emplace(*fabric_);
  }
}

std::optional<Tree> Prism::route(std::span<const SwitchId> members, const Loads& loads) {
  if (members.size() == 1) {
    return view_.usable(members.front()) ? std::optional(Tree{members.front(), {}, 0})
                                         : std::nullopt;
  }
  follow(loads);
  if (fabric_) {
    if (auto tree = route_leveled(members, loads)) {
      return tree;
    }
  }
  return route_general(members, std::nullopt, std::numeric_limits<float>::infinity());
}

std::optional<Tree> Prism::route_cheaper(std::span<const SwitchId> members, const Loads& loads,
                                         SwitchId center, float limit) {
  if (members.size() == 1) {
    return std::nullopt;
  }
  follow(loads);
  if (fabric_) {
    if (auto tree = route_leveled(members, loads)) {
      return price(*tree) < limit ? std::move(tree) : std::nullopt;
    }
  }
  return route_general(members, center, limit);
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

std::optional<Tree> Prism::route_leveled(std::span<const SwitchId> leaves, const Loads& loads) {
  if (std::any_of(leaves.begin(), leaves.end(), [&](SwitchId s) { return view_.level(s) != 0; })) {
    return std::nullopt;
  }
  const bool damaged = view_.usable_cable_count() < view_.cable_count();
  if (!damaged) {
    return router_->choose(leaves, PriceTable::unusable) ? router_->build() : std::nullopt;
  }
  // A way round takes two cables more, or three; it should not be taken for little.
  constexpr float way_round = 4;
  const auto mean = static_cast<std::uint32_t>(loads.total() / view_.usable_cable_count());
  const auto center = router_->choose(leaves, way_round * book_.of_load(mean + 1));
  if (!center) {
    return std::nullopt;
  }
  if (auto tree = router_->build()) {
    return tree;
  }
  const std::uint8_t* const distances = distances_.row(*center);
  const bool reached = std::none_of(leaves.begin(), leaves.end(), [&](SwitchId leaf) {
    return distances[leaf.value] == Distances::unreachable;
  });
  return reached && grower_.grow(*center, leaves, distances, book_, PriceTable::unusable)
             ? std::optional(grower_.tree())
             : std::nullopt;
}

std::optional<Tree> Prism::route_general(std::span<const SwitchId> members,
                                         std::optional<SwitchId> center, float limit) {
  if (!view_.connected(members)) {
    return std::nullopt;
  }
  find_centers(members, center);
  std::optional<Tree> best;
  for (const Center& candidate : centers_) {
    if (grower_.grow(candidate.at, members, distances_.row(candidate.at), book_, limit)) {
      limit = grower_.price();
      best = grower_.tree();
    }
  }
  return best;
}

void Prism::find_centers(std::span<const SwitchId> members, std::optional<SwitchId> center) {
  const std::uint32_t switches = view_.switch_count();
  if (centers_tried_ == 0) {
    const std::uint8_t* const row = distances_.row(members.front());
    std::uint8_t farthest = 0;
    for (std::uint32_t s = 0; s < switches; ++s) {
      farthest = row[s] == Distances::unreachable ? farthest : std::max(farthest, row[s]);
    }
    centers_tried_ = farthest > wide ? 2 : 4;
  }
  eccentricities_.resize(distances_.row_bytes());
  eccentricities(distances_, members, eccentricities_);
  std::uint8_t limit = smallest(eccentricities_.data(), switches);
  const std::size_t wanted = candidates_per_center * centers_tried_;
  if (view_.usable_cable_count() < view_.cable_count() &&
      count_up_to(eccentricities_.data(), switches, limit) < wanted) {
    ++limit;
  }

  draw_candidates(limit, wanted);
  const std::size_t kept = std::min(centers_tried_, centers_.size());
  std::partial_sort(centers_.begin(), centers_.begin() + static_cast<std::ptrdiff_t>(kept),
                    centers_.end(),
                    [](const Center& a, const Center& b) { return a.price < b.price; });
  centers_.resize(kept);
  if (center && eccentricities_[center->value] <= limit) {
    centers_.push_back({0, *center});
  }
}

void Prism::draw_candidates(std::uint8_t limit, std::size_t wanted) {
  const std::uint32_t switches = view_.switch_count();
  centers_.clear();
  for (std::size_t draw = 0; draw < 4 * wanted && centers_.size() < wanted; ++draw) {
    if (const SwitchId s{random_below(switches)}; eccentricities_[s.value] <= limit) {
      centers_.push_back({mean_price_at(s), s});
    }
  }
  if (centers_.size() == wanted) {
    return;
  }
  // There are few: from a list, any of them is as likely as another.
  centers_.clear();
  for (SwitchId s{0}; s.value < switches; ++s.value) {
    if (eccentricities_[s.value] <= limit) {
      centers_.push_back({0, s});
    }
  }
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
