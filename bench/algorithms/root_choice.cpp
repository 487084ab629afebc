#include "bench/algorithms/root_choice.hpp"

#include <algorithm>

namespace tributary::multicast::published {

std::optional<SwitchId> RootChoice::choose(std::span<const SwitchId> members, const Loads& loads) {
  return scan_ == RootScan::published ? scan_as_published(members, loads)
                                      : scan_vectorised(members, loads);
}

std::uint32_t RootChoice::load(SwitchId s, const Loads& loads) const {
  switch (rule_) {
  case RootRule::first: return 0;
  case RootRule::least_rooted: return loads.rooted(s);
  case RootRule::least_through: return loads.through(s);
  }
  return 0;
}

std::optional<SwitchId> RootChoice::scan_as_published(std::span<const SwitchId> members,
                                                      const Loads& loads) {
  std::uint8_t best = Distances::unreachable;
  std::uint32_t best_load = 0;
  std::optional<SwitchId> root;
  for (std::uint32_t i = 0; i < distances_->view().switch_count(); ++i) {
    const SwitchId s{i};
    const std::uint8_t* const row = distances_->row(s);
    std::uint8_t farthest = 0;
    for (const SwitchId m : members) {
      farthest = std::max(farthest, row[m.value]);
    }
    if (farthest == Distances::unreachable || farthest > best) {
      continue;
    }
    const std::uint32_t here = load(s, loads);
    if (farthest < best || here < best_load) {
      best = farthest;
      best_load = here;
      root = s;
    }
  }
  return root;
}

std::optional<SwitchId> RootChoice::scan_vectorised(std::span<const SwitchId> members,
                                                    const Loads& loads) {
  eccentricities(*distances_, members, farthest_);
  const std::uint8_t height = radius(farthest_);
  if (height == Distances::unreachable) {
    return std::nullopt;
  }
  std::optional<SwitchId> root;
  std::uint32_t best_load = 0;
  for (auto at = std::ranges::find(farthest_, height); at != farthest_.end();
       at = std::find(at + 1, farthest_.end(), height)) {
    const SwitchId s{static_cast<std::uint32_t>(at - farthest_.begin())};
    const std::uint32_t here = load(s, loads);
    if (!root || here < best_load) {
      root = s;
      best_load = here;
    }
    if (best_load == 0) {
      break; // an unloaded candidate cannot be beaten, and the first wins
    }
  }
  return root;
}

} // namespace tributary::multicast::published
