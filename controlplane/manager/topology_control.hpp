// Reaction to changes of the topology, in the manager's turns.
//
//   if (topology.take_notice()) ...      planning has to know immediately
//   while (topology.tell()) ...          events, faults, and places of hosts: change by change
//
// The second continues until the turn has lasted long enough: a fabric that connects all together
// brings a hundred thousand changes.
//
// Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/job_ports.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/route_control.hpp"
#include "controlplane/manager/store_writer.hpp"
#include "controlplane/manager/touched_jobs.hpp"
#include "controlplane/manager/turn_slice.hpp"
#include "controlplane/topology/discovery.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

namespace tributary::manager {

class TopologyControl {
public:
  struct Rooms {
    ManagerClock& clock;
    TurnSlice& slice;
    topology::Discovery& discovery;
    group::Registry& registry;
    StoreWriter& store;
    Events& events;
    TouchedJobs& touched;
    RouteControl& routes;
    JobPorts& ports;
  };
  explicit TopologyControl(const Rooms& rooms) : rooms_(rooms) {}

  /// A switch has gained or lost its channel.
  void reachability_changed(topology::SwitchId at) { reachability_changed_.insert(at); }
  /// Whether anything has changed; the changes are then reported and stored.
  [[nodiscard]] bool take_notice();
  /// Reports some of the changes; true when they were the last ones.
  [[nodiscard]] bool tell();
  /// Handles all hosts whose place has changed, with no turn to follow.
  void locate_all();

  /// Whether the registry regards this host as located.
  [[nodiscard]] bool is_located(Nid nid) const { return located_.contains(nid.value); }
  /// Rises with every change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

private:
  struct Untold {
    std::vector<topology::Change> changes;
    std::size_t next = 0;
  };
  struct Unlocated {
    std::set<Nid> nids;
    bool are_touched = false; ///< they have to be stored, too
  };
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  void tell_problems();
  /// One change; false when none is left.
  bool tell_next();
  /// One host; false when none is left.
  bool locate_next();
  /// Finds out whether a host can be reached now.
  void locate(Nid nid);

  Rooms rooms_;
  std::set<topology::SwitchId> reachability_changed_;
  std::deque<Untold> untold_;       ///< not yet reported as events and faults
  std::deque<Unlocated> unlocated_; ///< not checked since a change
  std::set<std::uint32_t> located_; ///< NIDs that the registry regards as located
  std::uint64_t version_ = 1;
};

} // namespace tributary::manager
