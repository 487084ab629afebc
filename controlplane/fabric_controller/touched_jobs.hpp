// Which jobs an event affects: those with an affected host of their allocation, or an affected
// tree.
//
// Events of links, hosts and queues are reported through here, so that jobs receive them, too:
//
//   touched.note_down(changes);              of the topology, before trees are led around them
//   touched.report_change(change, "link");        each of them, over several turns
//   touched.reported(at, port);              a switch's counters: congestion begins, and ends
//   touched.report(kind, text, about);         events of RouteControl and RdmaControl
//
// Reads the registry, the trees' states and the wanted state of switches; changes none of them.
// Pure.
#pragma once

#include "controlplane/fabric_controller/congestion.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/turns/event_reporter.hpp"
#include "controlplane/turns/events.hpp"
#include "tributary/control.pb.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::fabric_controller {

class TouchedJobs {
public:
  struct Rooms {
    const topology::Graph& graph;
    const group::Registry& registry;
    const trees::TreeStates& states;
    const transaction::Coordinator& coordinator;
    turns::Events& events;
  };
  explicit TouchedJobs(const Rooms& rooms) : rooms_(rooms) {}

  /// Jobs with one of these hosts, in this VNI if given.
  [[nodiscard]] turns::JobNames of_hosts(const std::set<Nid>& hosts,
                                         std::optional<Vni> vni = std::nullopt) const;

  void note_down(const std::vector<topology::Change>& changes);
  void report_change(topology::Change& change, std::string kind);
  /// The counters of one of the switch's ports.
  void reported(topology::SwitchId at, const control::PortStatistics& port);
  /// The switch has restarted its counters.
  void forget_congestion(topology::SwitchId at) { congestion_.forget(at); }
  void report(std::string kind, std::string text, const turns::EventSubject& about);

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  /// Jobs with a tree over one of these links. O(trees).
  [[nodiscard]] turns::JobNames over(const std::set<topology::LinkId>& links) const;
  /// Jobs with a host or a tree at one of these switches.
  [[nodiscard]] turns::JobNames at(const std::vector<std::string>& switches) const;
  [[nodiscard]] turns::JobNames by(const turns::EventSubject& about) const;

  Rooms rooms_;
  /// Jobs with a tree over a link when it went down, until it is up.
  std::map<topology::LinkId, turns::JobNames> by_link_;
  Congestion congestion_;
};

} // namespace tributary::fabric_controller
