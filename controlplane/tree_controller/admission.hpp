// Whether the engines on a group's path have descriptors left for it.
//
// A tree may hold `descriptors_per_tree` descriptors of each engine that it goes up through. Every
// engine on a new group's path that other groups use needs this many free ones; the planner avoids
// full engines, and the group is refused if it cannot. An engine without other groups is always
// accepted: a shortage there affects only this group. Trees that are recomputed after a fault are
// not refused: unreduced frames are better than none; such engines are listed among the problems.
//
// Only checks; tree_layout.hpp plans, tree_control.hpp refuses. Pure.
#pragma once

#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/multicast/tree.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/planned_tree.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/turns/manager_clock.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace tributary::tree_controller {

class Admission {
public:
  struct Rooms {
    const turns::ManagerClock& clock;
    const topology::Graph& graph;
    const fabric_controller::SwitchTable& switches;
    const group::Registry& registry;
    const transaction::Coordinator& coordinator;
    const trees::TreeStates& states;
    const trees::EngineLoads& engines;
  };
  /// An engine without descriptors for another tree.
  struct FullEngine {
    topology::SwitchId at;
    topology::Port port = 0;
    std::uint32_t has = 0;    ///< descriptors
    std::uint32_t others = 0; ///< of other groups
  };
  explicit Admission(const Rooms& rooms) : rooms_(rooms) {}

  /// The first engine that other groups have filled. `trees` are of one group, and not in the
  /// loads.
  [[nodiscard]] std::optional<FullEngine>
  full_engine_on(std::span<const trees::PlannedTree> trees) const;
  /// A load that makes the planner avoid links of full engines: adopt it during planning.
  [[nodiscard]] multicast::Tree weight_of_full_engines() const;
  /// Why the group is refused.
  [[nodiscard]] group::Error refusal(const group::Group& group, const FullEngine& full) const;

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  /// Descriptors per tree; 0: they are not counted.
  [[nodiscard]] std::uint32_t each() const {
    return rooms_.registry.settings().descriptors_per_tree;
  }

  Rooms rooms_;
};

} // namespace tributary::tree_controller
