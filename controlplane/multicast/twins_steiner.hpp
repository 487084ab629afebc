// A tree from cheapest paths, joined member by member: the path from the tree so far to whichever
// member is nearest then (Takahashi and Matsuyama, 1980: at most twice the cost of the best tree).
//
// One search in Dijkstra's manner goes on throughout: what joins the tree becomes a source with
// distance 0, and what was reached from farther away is corrected as the search comes by again.
// Heights are not bounded; that is for where shortest paths are not wanted.
#pragma once

#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace tributary::multicast {

/// What it costs to go over this link to this switch; positive.
using StepCost = std::function<std::uint64_t(LinkId over, SwitchId to)>;

/// Requires that usable links connect the members, at least one. The root switch is a switch from
/// which the farthest member is as near as can be within the tree.
[[nodiscard]] Tree join_cheapest(const RoutingView& view, std::span<const SwitchId> members,
                                 const StepCost& cost);

} // namespace tributary::multicast
