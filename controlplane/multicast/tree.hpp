// A multicast tree: the links of a group, and the entry of each switch.
//
// An algorithm finds the undirected tree and its central switch (`root_switch`), from which all
// members are near. A reduction needs a direction: `orient` roots the same links at the host that
// is the group's root, and counts the endpoints below each switch.
//
//        spine                  root host                    parent    children     wait count
//        /  |  \                   |                leaf0    h0's port  h1, up       N - 1
//     leaf0 leaf1 leaf2   ->     leaf0          ->   spine    leaf0     leaf1,leaf2  those below
//      h0 h1 h2 h3 h4            h1 spine ...        leaf1    spine     h2, h3       2
//
// Plain data, no I/O.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::multicast {

using topology::Graph;
using topology::HostId;
using topology::LinkId;
using topology::SwitchId;

/// The links between switches that carry one group; empty when all members are on one switch.
struct Tree {
  SwitchId root_switch;
  std::vector<LinkId> links;
  /// Links from the root switch to the farthest member's switch.
  std::uint32_t height = 0;
  friend bool operator==(const Tree&, const Tree&) = default;
};

/// One switch's entry of a tree.
struct TreePart {
  SwitchId at;
  topology::Port parent = 0;
  std::vector<topology::Port> children; ///< ascending
  /// Endpoints below this switch, without the root's host.
  ContributionCount wait_count = 0;
  /// Links from here to the switch next to the root host; 0 there.
  std::uint32_t depth = 0;
  friend bool operator==(const TreePart&, const TreePart&) = default;
};

/// The tree rooted at `root`, which must be one of `members`: one part for each switch, by
/// ascending depth. Branches without a member are left out. Throws std::invalid_argument when the
/// root is not a member, a member is not reached, or the links close a loop. O(tree log tree).
[[nodiscard]] std::vector<TreePart> orient(const Graph& graph, const Tree& tree,
                                           std::span<const HostId> members, HostId root);

} // namespace tributary::multicast
