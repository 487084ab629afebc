// What is done about changes of the topology, in the manager's turns.
//
//   if (topology.take_notice()) ...      planning has to know at once
//   while (topology.tell()) ...          events, faults, and where hosts are: change by change
//
// The second goes on until the turn has lasted long enough: a fabric that connects all at once
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

  /// A switch got or lost its channel.
  void reachability_changed(topology::SwitchId at) { reachability_changed_.insert(at); }
  /// Whether anything has changed; from now on it is told of and stored.
  [[nodiscard]] bool take_notice();
  /// Some of what is to be told; true when that was all, and there was something.
  [[nodiscard]] bool tell();
  /// All hosts whose place has changed, with no turn to follow.
  void locate_all();

  /// Whether the registry takes this host for located.
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
    bool are_touched = false; ///< they are to be stored, too
  };
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  void tell_problems();
  /// One change; false when there is none.
  bool tell_next();
  /// One host; false when there is none.
  bool locate_next();
  /// Finds out whether a host can be reached now.
  void locate(Nid nid);

  Rooms rooms_;
  std::set<topology::SwitchId> reachability_changed_;
  std::deque<Untold> untold_;       ///< in events and to faults
  std::deque<Unlocated> unlocated_; ///< not looked at since something changed there
  std::set<std::uint32_t> located_; ///< NIDs the registry takes for located
  std::uint64_t version_ = 1;
};

} // namespace tributary::manager
