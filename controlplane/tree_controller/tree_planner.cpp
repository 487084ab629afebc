#include "controlplane/tree_controller/tree_planner.hpp"

#include <cstdint>
#include <set>

namespace tributary::tree_controller {

using topology::SwitchId;

multicast::Planner& TreePlanner::current() {
  if (is_old_ || rooms_.discovery.graph().is_touched()) {
    const turns::Section section(rooms_.stalls, "the fabric to plan over");
    bring_up_to_date();
  }
  if (!planner_.is_current()) {
    const turns::Section section(rooms_.stalls, "the planner's view");
    planner_.make_current();
  }
  return planner_;
}

void TreePlanner::bring_up_to_date() {
  is_old_ = false;
  graph_ = rooms_.discovery.graph();
  const std::set<SwitchId> drained = rooms_.routes.avoided_switches();
  for (std::uint32_t s = 0; s < graph_.switches().size(); ++s) {
    const SwitchId at{s};
    const bool up = rooms_.discovery.graph()[at].up && rooms_.discovery.is_connected(at) &&
                    !drained.contains(at);
    if (graph_[at].up != up) {
      graph_.set_up(at, up);
    }
  }
  for (const topology::LinkId link : rooms_.routes.avoided_links()) {
    if (graph_[link].up) {
      graph_.set_up(link, false);
    }
  }
  planner_.topology_changed();
}

} // namespace tributary::tree_controller
