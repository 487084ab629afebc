// The planner over what trees may be planned over: the live graph without the switches that have no
// channel, and without what is avoided (drained switches, links that flap).
//
// It is brought up to date when somebody asks for trees, for that takes a while: `current` is for
// those, `known` for whoever looks at loads, gives them back, or has just asked for `current`.
//
// Pure.
#pragma once

#include "controlplane/manager/route_control.hpp"
#include "controlplane/manager/stall_detector.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/topology/discovery.hpp"

namespace tributary::manager {

class TreePlanner {
public:
  struct Rooms {
    StallDetector& stalls;
    const topology::Discovery& discovery;
    const RouteControl& routes;
  };
  TreePlanner(const Rooms& rooms, const multicast::PlannerSettings& settings)
      : rooms_(rooms), planner_(graph_, settings) {}

  /// Over the fabric as it is now.
  [[nodiscard]] multicast::Planner& current();
  [[nodiscard]] multicast::Planner& known() { return planner_; }
  [[nodiscard]] const multicast::Planner& known() const { return planner_; }
  /// What it plans over, as of the last look.
  [[nodiscard]] const topology::Graph& graph() const { return graph_; }

  /// The fabric has changed, or what is avoided of it.
  void fabric_changed() { is_old_ = true; }
  void bring_up_to_date();

private:
  Rooms rooms_;
  topology::Graph graph_;
  bool is_old_ = false;
  multicast::Planner planner_; ///< knows what the graph knows; see `current`
};

} // namespace tributary::manager
