// The trees of groups in the manager's turns: requests of the registry, planning, updates of
// switches, and their results. trees::TreeStates has the state of each; this carries out the action
// of the state.
//
//   group::Action --> wanted, planned, remove, forget
//                        | due
//                        v
//   TreeLayout <-- compute or repair --> Registry: routes_ready, routes_failed
//                                           | planned
//                                           v
//                  install, remove --> transaction::Coordinator --> ended, note_in_force
//
// Every group is checked once after a change of the topology (repair_round.hpp), alternating with
// those that are due.
//
// Files: tree_control.cpp (due groups, and planning), tree_installing.cpp, tree_repair.cpp. Pure.
#pragma once

#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/tree_controller/frame_planning.hpp"
#include "controlplane/tree_controller/repair_round.hpp"
#include "controlplane/tree_controller/tree_layout.hpp"
#include "controlplane/tree_controller/tree_planner.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/stall_detector.hpp"
#include "controlplane/turns/turn_slice.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::tree_controller {

struct TreeSettings {
  std::uint64_t path_ns = 0;        ///< how long to wait for a path after the last change of the
                                    ///< topology
  std::uint64_t retry_pause_ns = 0; ///< pause after a failure
};

class TreeControl final : public turns::Controller {
public:
  struct Rooms {
    turns::ManagerClock& clock;
    turns::StallDetector& stalls;
    turns::TurnSlice& slice;
    const topology::Graph& graph;
    const fabric_controller::SwitchTable& switches;
    group::Registry& registry;
    transaction::Coordinator& coordinator;
    trees::TreeStates& states;
    fabric_controller::RouteControl& routes;
    turns::Events& events;
    const Admission& admission;
    FramePlanning& frames;
    TreePlanner& planner;
    TreeLayout& layout;
  };
  TreeControl(TreeSettings settings, const Rooms& rooms)
      : settings_(std::move(settings)), rooms_(rooms) {}

  /// Adopts the stored trees of the group; adds the wanted state of switches to `wanted`.
  void restore(const group::Group& group, std::vector<transaction::Target>& wanted);

  /// Offers new trees to the group; if it does not want them any more, or has no numbers, they are
  /// dropped.
  void offer(group::GroupId group, trees::GroupTrees& group_trees);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "trees"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  /// Checks every group, and searches for paths again.
  void fabric_changed() override;
  void acted(const group::Action& action) override;
  void ended(const transaction::Outcome& outcome) override;
  /// Computes groups whose member was claimed by two ports and is not any more.
  void begin(const turns::Turn& turn) override;
  /// Handles due trees; does nothing while switches are waited for. Continues in the next turn when
  /// this one lasts too long.
  bool handle(const turns::Turn& turn) override;
  [[nodiscard]] bool is_idle(const turns::Turn& turn) const override {
    return !to_repair_.active() && rooms_.states.next_due() > turn.now;
  }
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& turn) const override {
    return turn.start_of(to_repair_.active() ? rooms_.clock.started() : rooms_.states.next_due());
  }

  /// Groups that got a new tree after a fault.
  [[nodiscard]] std::uint64_t repairs() const { return repairs_; }

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }

  // tree_control.cpp
  void remove(group::GroupId group);
  /// The group is gone.
  void forget(const group::Group& group);
  /// Checks every group, because its trees may use other links, or fewer.
  void avoidance_changed();
  bool handle_due(const turns::Turn& turn);
  /// Acts by the state of its trees.
  void look_at(group::GroupId id);
  /// Runs a step for the trees of one group. An exception fails that group's trees: the group and
  /// the log get the reason, and the manager continues.
  template <typename Step> void guarded(group::GroupId id, Step&& step);
  void planning_failed(group::GroupId id, std::string_view why);
  /// Finds trees for a group. If there is no path, the group waits until the fabric has been
  /// unchanged for a while: a new switch has links that are not known yet.
  void compute(group::GroupId id);
  [[nodiscard]] group::Routes routes_of(const trees::GroupTrees& group_trees) const;

  // tree_installing.cpp
  /// "" when the transaction has not failed, or its trees are not wanted any more.
  [[nodiscard]] std::string group_that_tries_again(const transaction::Outcome& outcome) const;
  /// Reports groups that were out of sync as installed, once they are.
  bool note_in_force();
  void install(group::GroupId id);
  /// Nothing when no member is below the root (a group of one, or whose others have left): its
  /// frames need not go anywhere, and no switch accepts a tree without a child.
  [[nodiscard]] std::optional<transaction::Target> target_of(const group::Group& group,
                                                             std::size_t index) const;

  // tree_repair.cpp
  /// Plans broken trees again; sends refused ones again.
  void repair(const group::Group& group);
  /// Replaces broken trees; a twin avoids its sibling. False, with nothing changed, if no path
  /// exists, or none over switches that have room for its wide frames; then `why_not` says so.
  [[nodiscard]] bool replan(const group::Group& group, trees::GroupTrees& group_trees,
                            std::span<const std::size_t> broken,
                            std::span<const topology::HostId> hosts, std::string& why_not);

  TreeSettings settings_;
  Rooms rooms_;
  TimeNs fabric_changed_at_{};
  RepairRound to_repair_; ///< groups to check after a change of the topology
  bool repair_is_next_ = false;
  std::set<group::GroupId> repairing_; ///< being moved to a new tree that is not in force yet
  std::uint64_t repairs_ = 0;
};

} // namespace tributary::tree_controller
