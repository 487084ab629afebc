// A tree from cheapest paths, joined member by member: always the path from the current tree to the
// nearest remaining member (Takahashi and Matsuyama, 1980: at most twice the cost of the best
// tree).
//
// A single Dijkstra search continues throughout: a switch that joins the tree becomes a source with
// distance 0, and costs of switches reached from farther away are corrected later. Heights are not
// bounded; it is for cases where shortest paths are not wanted.
#pragma once

#include "controlplane/multicast/routing_view.hpp"
#include "controlplane/multicast/tree.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace tributary::multicast {

/// The cost of going over this link to this switch; positive.
using StepCost = std::function<std::uint64_t(LinkId over, SwitchId to)>;

/// Requires that usable links connect the members, at least one. The root switch is the centre: a
/// switch with the smallest distance to its farthest member within the tree.
[[nodiscard]] Tree join_cheapest(const RoutingView& view, std::span<const SwitchId> members,
                                 const StepCost& cost);

} // namespace tributary::multicast
