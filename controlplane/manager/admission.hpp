// Whether the engines on a group's path have descriptors left for it.
//
// A tree may hold `descriptors_per_tree` descriptors of each engine that it goes up through. A new
// group is laid where every engine that other groups use has so many left; around those that have
// not, if there is a path; and is refused otherwise. An engine that nobody else uses always takes
// it: whatever it lacks there, it takes from no one. Trees that have to be laid anew because theirs
// broke are not refused: unreduced frames are better than none; such engines are among the
// problems.
//
// Looks only; tree_layout.hpp lays, tree_control.hpp refuses. Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/switch_table.hpp"
#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/life.hpp"
#include "controlplane/trees/planned_tree.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace tributary::manager {

class Admission {
public:
  struct Rooms {
    const ManagerClock& clock;
    const topology::Graph& graph;
    const SwitchTable& switches;
    const group::Registry& registry;
    const transaction::Coordinator& coordinator;
    const trees::Lives& lives;
    const trees::EngineLoads& engines;
  };
  /// An engine that has no descriptors left for one more tree.
  struct FullEngine {
    topology::SwitchId at;
    topology::Port port = 0;
    std::uint32_t has = 0;    ///< descriptors
    std::uint32_t others = 0; ///< trees of other groups
  };
  explicit Admission(const Rooms& rooms) : rooms_(rooms) {}

  /// The first engine that other groups have filled. The trees are one group's, and not in the
  /// loads.
  [[nodiscard]] std::optional<FullEngine>
  full_engine_on(std::span<const trees::PlannedTree> trees) const;
  /// A load by which the planner keeps off the links of engines that are full: to be adopted while
  /// it plans.
  [[nodiscard]] multicast::Tree weight_of_full_engines() const;
  /// Why the group is not laid.
  [[nodiscard]] group::Error refusal(const group::Group& group, const FullEngine& full) const;

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  /// Descriptors; 0: they are not counted.
  [[nodiscard]] std::uint32_t each() const {
    return rooms_.registry.settings().descriptors_per_tree;
  }

  Rooms rooms_;
};

} // namespace tributary::manager
