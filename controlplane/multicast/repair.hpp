// Rip-up and reroute, within bounds: improves groups that were routed one after another.
//
// Online, a group sees only the loads of the previous ones. Repair takes the fullest links, those
// with T trees, and for each group on them: removes its tree, routes it again by costs that rise by
// 8 around T, and keeps the new tree when it is cheaper. That is repeated with the new largest
// load, until T is the lower bound, the budget is spent, or several rounds in a row did not reduce
// the links at T. A move never raises the largest load.
//
// Meant for the groups of one collection window, before their trees are in use, and for idle times:
// every moved group in use has to be installed again.
#pragma once

#include "controlplane/multicast/loads.hpp"
#include "controlplane/multicast/prism.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tributary::multicast {

/// A group that may be moved.
struct RoutedGroup {
  std::vector<SwitchId> members; ///< as for `Algorithm::route`
  Tree tree;                     ///< counted in the loads
};

struct RepairLimits {
  /// The largest load need not go below this.
  std::uint32_t lower_bound = 1;
  /// Maximum number of groups to reroute.
  std::uint64_t attempts = ~std::uint64_t{0};
  /// Maximum number of groups to move.
  std::uint64_t moves = ~std::uint64_t{0};
  /// Called between two attempts, if set.
  std::function<bool()> time_is_over;
};

struct RepairReport {
  std::uint32_t max_before = 0;
  std::uint32_t max_after = 0;
  std::uint64_t attempts = 0;
  std::uint64_t moves = 0;
};

/// Moves groups, with their loads. Other trees in the loads stay in place.
RepairReport repair(Prism& prism, Loads& loads, std::span<RoutedGroup> groups,
                    const RepairLimits& limits);

} // namespace tributary::multicast
