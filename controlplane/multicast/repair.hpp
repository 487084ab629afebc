// Rip-up and reroute, within bounds: groups that were routed one after another get a second chance.
//
// Online, a group knows the loads of those before it only. Repair takes the fullest links, those
// with T trees, and for each group on them: takes its tree away, routes it anew by costs that rise
// by 8 around T, and keeps the new tree when it is cheaper. That is repeated with what is then the
// largest load, until T is the lower bound, the budget is spent, or several rounds in a row did not
// make the links at T fewer. A move never makes the largest load larger.
//
// Meant for the groups of one collection window, before anybody uses their trees, and for idle
// times: every move of a group in use would have to be installed anew.
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
  Tree tree;                     ///< booked in the loads
};

struct RepairLimits {
  /// Below this the largest load need not go.
  std::uint32_t lower_bound = 1;
  /// Groups that are routed anew at most.
  std::uint64_t attempts = ~std::uint64_t{0};
  /// Groups that are moved at most.
  std::uint64_t moves = ~std::uint64_t{0};
  /// Asked between two attempts, when given.
  std::function<bool()> time_is_over;
};

struct RepairReport {
  std::uint32_t max_before = 0;
  std::uint32_t max_after = 0;
  std::uint64_t attempts = 0;
  std::uint64_t moves = 0;
};

/// Moves groups; the loads follow. Trees that are booked in the loads and not among the groups stay
/// where they are.
RepairReport repair(Prism& prism, Loads& loads, std::span<RoutedGroup> groups,
                    const RepairLimits& limits);

} // namespace tributary::multicast
