// The planner on the usable graph: the live graph without the switches that have no channel, and
// without avoided elements (drained switches, flapping links).
//
// It is updated when trees are requested, because that takes a while: use `current` to plan, and
// `known` to read or release loads, or right after `current`.
//
// Pure.
#pragma once

#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/turns/stall_detector.hpp"

namespace tributary::tree_controller {

class TreePlanner {
public:
  struct Rooms {
    turns::StallDetector& stalls;
    const topology::Discovery& discovery;
    const fabric_controller::RouteControl& routes;
  };
  TreePlanner(const Rooms& rooms, const multicast::PlannerSettings& settings)
      : rooms_(rooms), planner_(graph_, settings) {}

  /// On the current fabric.
  [[nodiscard]] multicast::Planner& current();
  [[nodiscard]] multicast::Planner& known() { return planner_; }
  [[nodiscard]] const multicast::Planner& known() const { return planner_; }
  /// The graph that it plans over, as of the last update.
  [[nodiscard]] const topology::Graph& graph() const { return graph_; }

  /// The fabric has changed, or the set of avoided elements.
  void fabric_changed() { is_old_ = true; }
  void bring_up_to_date();

private:
  Rooms rooms_;
  topology::Graph graph_;
  bool is_old_ = false;
  multicast::Planner planner_; ///< on the state of `graph_`; see `current`
};

} // namespace tributary::tree_controller
