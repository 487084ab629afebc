// The trees of groups in the manager's turns: what the registry wants, when trees are planned, what
// switches are told, and what became of that. trees::Lives has the state of each; this does what
// the state says.
//
//   group::Action --> wanted, planned, remove, forget
//                        | due
//                        v
//   TreeLayout <-- compute or repair --> Registry: routes_ready, routes_failed
//                                           | planned
//                                           v
//                  install, remove --> transaction::Coordinator --> ended, note_in_force
//
//   TreeControl trees(settings, rooms);
//   trees.fabric_changed();                      after every change of the topology
//   while (trees.handle(waits)) ...              in a turn
//   trees.ended(outcome);                        for every outcome of the coordinator
//   trees.next_deadline()
//
// After a change of the topology every group is looked at once (repair_round.hpp), by turns with
// those that are due.
//
// Files: tree_control.cpp (what is due, and planning), tree_installing.cpp, tree_repair.cpp. Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/frame_planning.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/repair_round.hpp"
#include "controlplane/manager/route_control.hpp"
#include "controlplane/manager/stall_detector.hpp"
#include "controlplane/manager/switch_table.hpp"
#include "controlplane/manager/tree_layout.hpp"
#include "controlplane/manager/tree_planner.hpp"
#include "controlplane/manager/turn_slice.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/life.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::manager {

struct TreeSettings {
  std::string algorithm;            ///< of the planner, as it is stored with trees
  std::uint64_t path_ns = 0;        ///< after the last change of the topology a path is waited for
  std::uint64_t retry_pause_ns = 0; ///< before what failed is tried again
};

class TreeControl {
public:
  struct Rooms {
    ManagerClock& clock;
    StallDetector& stalls;
    TurnSlice& slice;
    const topology::Graph& graph;
    const SwitchTable& switches;
    group::Registry& registry;
    transaction::Coordinator& coordinator;
    trees::Lives& lives;
    RouteControl& routes;
    Events& events;
    const Admission& admission;
    FramePlanning& frames;
    TreePlanner& planner;
    TreeLayout& layout;
  };
  TreeControl(TreeSettings settings, const Rooms& rooms)
      : settings_(std::move(settings)), rooms_(rooms) {}

  /// The trees that the store has of the group; adds what switches are to hold of them.
  void restore(const group::Group& group, std::vector<transaction::Target>& wanted);

  // ---- what groups want ----

  void wanted(group::GroupId group);
  /// To be told to switches.
  void planned(group::GroupId group);
  void remove(group::GroupId group);
  /// The group is gone.
  void forget(const group::Group& group);
  /// New trees to the group, which may not want them any more, or have no numbers: then there are
  /// none.
  void offer(group::GroupId group, trees::Life& life);

  // ---- what happens ----

  /// Every group is looked at, and paths are looked for anew.
  void fabric_changed();
  /// Every group is looked at, for its trees may use other links, or fewer.
  void avoidance_changed();
  /// Two ports claimed a member of theirs, and do no more.
  void compute_what_is_not_contested();
  void ended(const transaction::Outcome& outcome);
  /// "" when that has not failed, or is for no trees that a group still wants.
  [[nodiscard]] std::string group_that_tries_again(const transaction::Outcome& outcome) const;
  /// Says of groups that were behind that they are installed, once they are.
  bool note_in_force();

  // ---- in a turn ----

  /// What is to be done about trees now; nothing while switches are waited for. Goes on in the next
  /// turn when this one lasts too long.
  bool handle(bool waits_for_switches);
  /// Whether nothing is to be done at this time.
  [[nodiscard]] bool is_idle(TimeNs now) const {
    return !to_repair_.active() && rooms_.lives.next_due() > now;
  }
  [[nodiscard]] TimeNs next_deadline() const {
    return to_repair_.active() ? rooms_.clock.started() : rooms_.lives.next_due();
  }
  /// Groups that got a new tree after a fault.
  [[nodiscard]] std::uint64_t repairs() const { return repairs_; }

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }

  // tree_control.cpp
  /// By the state of the life of its trees.
  void look_at(group::GroupId id);
  /// Runs this about the trees of one group. What it throws fails that group's trees: the group and
  /// the log are told why, and the manager goes on.
  template <typename Step> void guarded(group::GroupId id, Step&& step);
  void planning_failed(group::GroupId id, std::string_view why);
  /// Finds trees for a group. Where there is no path, it waits for one until the fabric has been as
  /// it is for a while: a switch that has just come has links that are not known yet.
  void compute(group::GroupId id);
  [[nodiscard]] group::Routes routes_of(const trees::Life& life) const;

  // tree_installing.cpp
  void install(group::GroupId id);
  /// None when nobody is below the root (a group of one, or whose others have left): its frames
  /// need not go anywhere, and no switch takes a tree without a child.
  [[nodiscard]] std::optional<transaction::Target> target_of(const group::Group& group,
                                                             std::size_t index) const;

  // tree_repair.cpp
  /// Plans anew what is broken of it; tells switches again that refused.
  void repair(const group::Group& group);
  /// New trees in the place of those that are broken; one of twins keeps off its sibling. False,
  /// and nothing is changed, where there is no path; or none over switches that have room for its
  /// wide frames, and then `why_not` says so.
  [[nodiscard]] bool plan_anew(const group::Group& group, trees::Life& life,
                               std::span<const std::size_t> broken,
                               std::span<const topology::HostId> hosts, std::string& why_not);

  TreeSettings settings_;
  Rooms rooms_;
  TimeNs fabric_changed_at_{};
  RepairRound to_repair_; ///< to be looked at, for the topology has changed
  bool repair_is_next_ = false;
  std::set<group::GroupId> repairing_; ///< told of a new tree, which is not in force yet
  std::uint64_t repairs_ = 0;
};

} // namespace tributary::manager
