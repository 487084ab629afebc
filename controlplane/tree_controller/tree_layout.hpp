// A group's trees on the current fabric: found by the planner, oriented from its root, and counted
// in the loads of links and engines.
//
//   trees = layout.plan(group, layout.hosts_of(group));    the planner counts them
//   layout.put(group_trees, trees);                               and the engines do, too
//   layout.intact(group, group_trees.trees[0])                    after a change
//   layout.release(group_trees);                                  out of all loads
//
// tree_control.hpp and rebalance.hpp decide when. Pure.
#pragma once

#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/tree_controller/admission.hpp"
#include "controlplane/tree_controller/frame_planning.hpp"
#include "controlplane/tree_controller/tree_planner.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/planned_tree.hpp"
#include "controlplane/trees/tree_states.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::tree_controller {

class TreeLayout {
public:
  struct Rooms {
    const topology::Discovery& discovery;
    const fabric_controller::RouteControl& routes;
    TreePlanner& planner;
    trees::EngineLoads& engines;
    const Admission& admission;
    const FramePlanning& frames;
  };
  explicit TreeLayout(const Rooms& rooms) : rooms_(rooms) {}

  // ---- planning ----

  /// Hosts of members that frames have to reach.
  [[nodiscard]] std::vector<topology::HostId> hosts_of(const group::Group& group) const;
  /// As many as the group wants, or none. The planner counts them.
  [[nodiscard]] std::vector<trees::PlannedTree> plan(const group::Group& group,
                                                     std::span<const topology::HostId> hosts);
  [[nodiscard]] std::vector<trees::PlannedTree>
  plan_around_full_engines(const group::Group& group, std::span<const topology::HostId> hosts);
  /// Oriented from the group's root; nothing when the root is not in the fabric.
  [[nodiscard]] std::optional<trees::PlannedTree>
  oriented(const group::Group& group, multicast::Tree tree,
           std::span<const topology::HostId> hosts) const;

  // ---- loads ----

  /// Makes trees that the planner counts the group's.
  void put(trees::GroupTrees& group_trees, std::vector<trees::PlannedTree> trees);
  /// Adopts stored trees; nothing when the fabric does not match them any more.
  [[nodiscard]] std::optional<std::vector<trees::PlannedTree>>
  adopted(std::span<const records::TreeRecord> trees);
  void release(trees::GroupTrees& group_trees);
  /// Replaces a tree by another one, in the loads of engines, too.
  void replace(trees::PlannedTree& tree, trees::PlannedTree with);
  /// Recounts all loads from these trees. Call it after an aborted planning.
  void recount(const trees::TreeStates& states);

  // ---- queries ----

  /// Whether every link it crosses is usable, and every member's host is at its port.
  [[nodiscard]] bool intact(const group::Group& group, const trees::PlannedTree& routed) const;
  /// Records what twins share.
  void note_shared(trees::GroupTrees& group_trees) const;
  /// Why the place of a member's host is unknown: two ports claim it.
  [[nodiscard]] std::optional<std::string> contested(const group::Group& group) const;
  /// Why no tree over these hosts exists.
  [[nodiscard]] group::Error no_route(const group::Group& group,
                                      std::span<const topology::HostId> hosts);

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] std::vector<multicast::Tree> planned(const group::Group& group,
                                                     std::span<const topology::HostId> hosts);

  Rooms rooms_;
};

} // namespace tributary::tree_controller
