#include "controlplane/multicast/repair.hpp"

#include <algorithm>
#include <utility>

namespace tributary::multicast {

namespace {

class Repair {
public:
  Repair(Prism& prism, Loads& loads, std::span<RoutedGroup> groups, const RepairLimits& limits)
      : prism_(prism), loads_(loads), groups_(groups), limits_(limits) {}

  RepairReport run() {
    // After this many rounds without progress, further ones will not help either.
    constexpr std::uint32_t most_in_vain = 32;
    report_.max_before = loads_.max();
    for (std::uint32_t in_vain = 0; in_vain < most_in_vain && !done();) {
      const std::uint32_t full = loads_.max();
      const std::uint32_t count = loads_.count_at(full);
      if (full != costs_are_for_) {
        prism_.use(CostTable::around(full));
        costs_are_for_ = full;
      }
      relieve_all(full);
      const bool helped = loads_.max() < full || loads_.count_at(full) < count;
      in_vain = helped ? 0 : in_vain + 1;
    }
    prism_.use(CostTable::online());
    report_.max_after = loads_.max();
    return report_;
  }

private:
  struct Crossing {
    LinkId link;
    std::uint32_t group;
  };

  [[nodiscard]] bool done() {
    over_ = over_ || loads_.max() <= limits_.lower_bound || report_.attempts >= limits_.attempts ||
            report_.moves >= limits_.moves || (limits_.time_is_over && limits_.time_is_over());
    return over_;
  }

  void relieve_all(std::uint32_t full) {
    crossings_.clear();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      for (const LinkId c : groups_[g].tree.links) {
        if (loads_[c] == full) {
          crossings_.push_back({c, g});
        }
      }
    }
    std::stable_sort(crossings_.begin(), crossings_.end(),
                     [](const Crossing& a, const Crossing& b) { return a.link < b.link; });
    for (const Crossing& crossing : crossings_) {
      if (loads_[crossing.link] >= full && !done()) {
        reroute(groups_[crossing.group], full);
      }
    }
  }

  void reroute(RoutedGroup& group, std::uint32_t full) {
    ++report_.attempts;
    loads_.remove(group.tree);
    const float now = prism_.cost(group.tree, loads_);
    // Rounding alone must not move a tree back and forth.
    auto other = prism_.route_cheaper(group.members, loads_, group.tree.root_switch, now * 0.999F);
    const auto is_full = [&](LinkId c) { return loads_[c] >= full; };
    if (other && std::none_of(other->links.begin(), other->links.end(), is_full)) {
      group.tree = std::move(*other);
      ++report_.moves;
    }
    loads_.add(group.tree);
  }

  Prism& prism_;
  Loads& loads_;
  std::span<RoutedGroup> groups_;
  const RepairLimits& limits_;
  RepairReport report_;
  std::vector<Crossing> crossings_;
  std::uint32_t costs_are_for_ = 0;
  bool over_ = false;
};

} // namespace

RepairReport repair(Prism& prism, Loads& loads, std::span<RoutedGroup> groups,
                    const RepairLimits& limits) {
  return Repair(prism, loads, groups, limits).run();
}

} // namespace tributary::multicast
