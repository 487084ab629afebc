// Each switch's part in one group's tree. A small stand-in for the fabric manager: breadth first
// from the root's switch, keeping the branches that lead to members.
#pragma once

#include "dataplane/core/slot_place.hpp"
#include "tests/fabric/topology.hpp"
#include "tributary/random.hpp"

#include <span>
#include <vector>

namespace tributary::fabric {

/// One switch's entry in its multicast table.
struct TreePart {
  SwitchIndex at = 0;
  PortNumber parent;
  PortSet children;
  /// Endpoints below this switch; at the switch next to the root, the group's size - 1.
  ContributionCount wait_count = 0;
  core::SlotDemand slots{}; ///< none: eight reductions, and no wide frames
  bool shared = false;      ///< any member may multicast
};

/// The parts of every switch on the tree, the one next to the root first. `members` may contain
/// the root. Among several shortest paths, `random` chooses. Switches of `without` are not used;
/// all members must be reachable without them.
std::vector<TreePart> multicast_tree(const Topology& topology, HostIndex root,
                                     std::span<const HostIndex> members, Random& random,
                                     std::span<const SwitchIndex> without = {});

/// The output port of every switch toward a host, by switch index; for unicast routes.
std::vector<PortNumber> ports_toward(const Topology& topology, HostIndex host);

} // namespace tributary::fabric
