// What a cable costs the next tree, by the trees that cross it already.
//
//   online    1 + 4^load: a tree rather takes four cables with a load of 3 than one with 4, and of
//             equally loaded ways the one with fewer cables. From a load of 24 on the price grows
//             slower and slower, so that 8,192 trees on a cable still fit a float and differ from
//             8,191.
//   around T  8^(load - T + 1.5): for repair, which must get trees off the cables at T without
//             filling others up to T. Only loads near T matter.
//
// Quality is flat for a growth between 2 and 16 (docs/protocol/multicast-trees.md).
//
// A PriceBook holds the price of every cable and follows the loads: one update for each cable of a
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

class PriceTable {
public:
  /// Of a cable that cannot be used.
  static constexpr float unusable = std::numeric_limits<float>::infinity();

  [[nodiscard]] static const PriceTable& online() {
    static const PriceTable table([](double load) {
      constexpr double exact_up_to = 24;
      constexpr double bend = 6;
      const double beyond = std::max(load - exact_up_to, 0.0);
      // The slope is continuous: log2 grows by 2 for each tree up to the bend, and there.
      const double late = bend * std::log2(1 + beyond * 2 * std::log(2.0) / bend);
      return 1 + std::exp2(2 * std::min(load, exact_up_to) + late);
    });
    return table;
  }
  [[nodiscard]] static PriceTable around(std::uint32_t full) {
    return PriceTable([full](double load) {
      const double above = std::clamp(load - full + 1.5, -12.0, 12.0);
      return std::exp2(3 * above);
    });
  }

  [[nodiscard]] float operator()(std::uint32_t load) const {
    return prices_[std::min<std::size_t>(load, prices_.size() - 1)];
  }

private:
  template <typename Price> explicit PriceTable(Price price) {
    for (std::size_t load = 0; load < prices_.size(); ++load) {
      prices_[load] = static_cast<float>(price(static_cast<double>(load)));
    }
  }

  std::array<float, 8193> prices_;
};

class PriceBook {
public:
  explicit PriceBook(const RoutingView& view)
      : view_(&view), table_(PriceTable::online()), prices_(view.cable_count()) {}

  [[nodiscard]] float operator[](CableId c) const { return prices_[c.value]; }
  /// What a usable cable with this load costs.
  [[nodiscard]] float of_load(std::uint32_t load) const { return table_(load); }

  /// From the next `follow` on.
  void use(const PriceTable& table) {
    table_ = table;
    loads_ = nullptr;
  }

  /// Brings the prices in step with the loads and calls `changed(CableId)` for each that may have
  /// changed. One book follows one Loads at a time; another is followed from its state of then.
  template <typename Changed> void follow(const Loads& loads, Changed changed) {
    const std::uint64_t now = loads.changes();
    if (&loads != loads_ || now < seen_ || now - seen_ > Loads::remembered_changes) {
      for (CableId c{0}; c.value < prices_.size(); ++c.value) {
        update(c, loads);
        changed(c);
      }
    } else {
      for (; seen_ < now; ++seen_) {
        const CableId c = loads.changed(seen_);
        update(c, loads);
        changed(c);
      }
    }
    loads_ = &loads;
    seen_ = now;
  }

  /// The cable cannot be used, until `update`.
  void forbid(CableId c) { prices_[c.value] = PriceTable::unusable; }
  void update(CableId c, const Loads& loads) {
    prices_[c.value] = view_->usable(c) ? table_(loads[c]) : PriceTable::unusable;
  }

private:
  const RoutingView* view_;
  PriceTable table_;
  std::vector<float> prices_; ///< by cable
  const Loads* loads_ = nullptr;
  std::uint64_t seen_ = 0;
};

} // namespace tributary::multicast
