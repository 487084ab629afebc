// A group's trees on the fabric as it is: found by the planner, oriented from its root, and in the
// loads of links and engines.
//
//   trees = layout.laid(group, layout.hosts_of(group));    the planner carries them
//   layout.put(life, trees);                               and engines do, too
//   layout.intact(group, life.trees[0])                    after something has changed
//   layout.release(life);                                  out of all loads
//
// When that is done is decided by tree_control.hpp and rebalance.hpp. Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/manager/admission.hpp"
#include "controlplane/manager/frame_planning.hpp"
#include "controlplane/manager/route_control.hpp"
#include "controlplane/manager/tree_planner.hpp"
#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/life.hpp"
#include "controlplane/trees/planned_tree.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::manager {

class TreeLayout {
public:
  struct Rooms {
    const topology::Discovery& discovery;
    const RouteControl& routes;
    TreePlanner& planner;
    trees::EngineLoads& engines;
    const Admission& admission;
    const FramePlanning& frames;
  };
  explicit TreeLayout(const Rooms& rooms) : rooms_(rooms) {}

  // ---- laying ----

  /// Hosts of members that frames have to reach.
  [[nodiscard]] std::vector<topology::HostId> hosts_of(const group::Group& group) const;
  /// As many as the group wants, or none. The planner carries them.
  [[nodiscard]] std::vector<trees::PlannedTree> laid(const group::Group& group,
                                                     std::span<const topology::HostId> hosts);
  [[nodiscard]] std::vector<trees::PlannedTree>
  laid_around_full_engines(const group::Group& group, std::span<const topology::HostId> hosts);
  /// Oriented from the group's root; nothing when that is not in the fabric.
  [[nodiscard]] std::optional<trees::PlannedTree>
  oriented(const group::Group& group, multicast::Tree tree,
           std::span<const topology::HostId> hosts) const;

  // ---- loads ----

  /// Trees that the planner carries, as the group's.
  void put(trees::Life& life, std::vector<trees::PlannedTree> trees);
  /// Trees that the store has; false when the fabric they were made for is not there any more.
  [[nodiscard]] std::optional<std::vector<trees::PlannedTree>>
  adopted(std::span<const records::TreeRecord> trees);
  void release(trees::Life& life);
  /// Puts another tree in the place of one, in the loads of engines, too.
  void replace(trees::PlannedTree& tree, trees::PlannedTree with);
  /// Recounts all loads from these trees. To be called after planning that was broken off.
  void recount(const trees::Lives& lives);

  // ---- looking ----

  /// Whether every link it crosses is usable, and every member's host hangs where it leads.
  [[nodiscard]] bool intact(const group::Group& group, const trees::PlannedTree& routed) const;
  /// Finds what twins share.
  void note_shared(trees::Life& life) const;
  /// Why nobody can say where a member's host is: two ports claim it.
  [[nodiscard]] std::optional<std::string> contested(const group::Group& group) const;
  /// Why there is no tree over these hosts.
  [[nodiscard]] group::Error no_route(const group::Group& group,
                                      std::span<const topology::HostId> hosts);

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] std::vector<multicast::Tree> planned(const group::Group& group,
                                                     std::span<const topology::HostId> hosts);

  Rooms rooms_;
};

} // namespace tributary::manager
