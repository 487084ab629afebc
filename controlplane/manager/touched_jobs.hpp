// Which jobs an event touches: those whose allocation (hosts, and trees of groups) is concerned.
//
// What happens to links, hosts and queues is told through here, so that jobs hear of it, too:
//
//   touched.note_down(changes);              of the topology, before trees are led around them
//   touched.tell_of(change, "link");         each of them, by and by
//   touched.reported(at, port);              what a switch counts: congestion begins, and ends
//   touched.tell(kind, text, about);         what RouteControl and RdmaControl tell
//
// Looks at the registry, the trees' lives and what switches are to hold; changes nothing of them.
// Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/manager/congestion.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/telling.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/life.hpp"
#include "tributary/control.pb.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::manager {

class TouchedJobs {
public:
  struct Rooms {
    const topology::Graph& graph;
    const group::Registry& registry;
    const trees::Lives& lives;
    const transaction::Coordinator& coordinator;
    Events& events;
  };
  explicit TouchedJobs(const Rooms& rooms) : rooms_(rooms) {}

  /// Jobs that have one of these hosts, in this VNI where one is said.
  [[nodiscard]] JobNames of_hosts(const std::set<Nid>& hosts,
                                  std::optional<Vni> vni = std::nullopt) const;

  void note_down(const std::vector<topology::Change>& changes);
  void tell_of(topology::Change& change, std::string kind);
  /// What the switch says of a port of its.
  void reported(topology::SwitchId at, const control::PortStatistics& port);
  /// The switch counts anew.
  void counts_anew(topology::SwitchId at) { congestion_.forget(at); }
  void tell(std::string kind, std::string text, const About& about);

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.graph; }
  /// Those with a tree over one of these links. O(trees).
  [[nodiscard]] JobNames over(const std::set<topology::LinkId>& links) const;
  /// Those with a host or a tree at one of these switches.
  [[nodiscard]] JobNames at(const std::vector<std::string>& switches) const;
  [[nodiscard]] JobNames by(const About& about) const;

  Rooms rooms_;
  /// Jobs with a tree over a link when it went down, until it is up.
  std::map<topology::LinkId, JobNames> by_link_;
  Congestion congestion_;
};

} // namespace tributary::manager
