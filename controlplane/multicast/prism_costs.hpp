// The cost of a link for the next tree, by the trees that already cross it.
//
//   online    1 + 4^load: a tree prefers four links with a load of 3 to one with 4, and among
//             equally loaded paths the one with fewer links. From a load of 24 on the cost grows
//             more and more slowly, so that 8,192 trees on a link still fit a float and differ from
//             8,191.
//   around T  8^(load - T + 1.5): for repair, which must get trees off the links at T without
//             filling others up to T. Only loads near T matter.
//
// Quality is flat for a growth between 2 and 16 (docs/protocol/multicast-trees.md).
//
// A LinkCosts holds the cost of every link and follows the loads: one update for each link of a
// tree that was added or removed, by the numbered changes that Loads remembers.
#pragma once

#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/routing_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tributary::multicast {

class CostTable {
public:
  /// Cost of an unusable link.
  static constexpr float unusable = std::numeric_limits<float>::infinity();

  [[nodiscard]] static const CostTable& online() {
    static const CostTable table([](double load) {
      constexpr double exact_up_to = 24;
      constexpr double bend = 6;
      const double beyond = std::max(load - exact_up_to, 0.0);
      // The slope is continuous: log2 grows by 2 for each tree below the bend, and at it.
      const double late = bend * std::log2(1 + beyond * 2 * std::log(2.0) / bend);
      return 1 + std::exp2(2 * std::min(load, exact_up_to) + late);
    });
    return table;
  }
  [[nodiscard]] static CostTable around(std::uint32_t full) {
    return CostTable([full](double load) {
      const double above = std::clamp(load - full + 1.5, -12.0, 12.0);
      return std::exp2(3 * above);
    });
  }

  [[nodiscard]] float operator()(std::uint32_t load) const {
    return costs_[std::min<std::size_t>(load, costs_.size() - 1)];
  }

private:
  template <typename Cost> explicit CostTable(Cost cost) {
    for (std::size_t load = 0; load < costs_.size(); ++load) {
      costs_[load] = static_cast<float>(cost(static_cast<double>(load)));
    }
  }

  std::array<float, 8193> costs_;
};

class LinkCosts {
public:
  explicit LinkCosts(const RoutingView& view)
      : view_(&view), table_(CostTable::online()), costs_(view.link_count()) {}

  [[nodiscard]] float operator[](LinkId c) const { return costs_[c.value]; }
  /// Cost of a usable link with this load.
  [[nodiscard]] float of_load(std::uint32_t load) const { return table_(load); }

  /// Applies from the next `follow` on.
  void use(const CostTable& table) {
    table_ = table;
    loads_ = nullptr;
  }

  /// Updates the costs from the loads and calls `changed(LinkId)` for each that may have changed.
  /// One LinkCosts follows one Loads at a time; another one is followed from its current state.
  template <typename Changed> void follow(const Loads& loads, Changed changed) {
    const std::uint64_t now = loads.changes();
    if (&loads != loads_ || now < seen_ || now - seen_ > Loads::remembered_changes) {
      for (LinkId c{0}; c.value < costs_.size(); ++c.value) {
        update(c, loads);
        changed(c);
      }
    } else {
      for (; seen_ < now; ++seen_) {
        const LinkId c = loads.changed(seen_);
        update(c, loads);
        changed(c);
      }
    }
    loads_ = &loads;
    seen_ = now;
  }

  /// Makes the link unusable, until `update`.
  void forbid(LinkId c) { costs_[c.value] = CostTable::unusable; }
  void update(LinkId c, const Loads& loads) {
    costs_[c.value] = view_->usable(c) ? table_(loads[c]) : CostTable::unusable;
  }

private:
  const RoutingView* view_;
  CostTable table_;
  std::vector<float> costs_; ///< by link
  const Loads* loads_ = nullptr;
  std::uint64_t seen_ = 0;
};

} // namespace tributary::multicast
