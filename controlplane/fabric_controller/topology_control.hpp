// Reaction to changes of the topology, in the manager's turns.
//
// All controllers are notified of a change immediately, because planning has to know it. Events,
// faults and places of hosts follow change by change, over several turns if need be: a fabric that
// connects all together brings a hundred thousand changes.
//
// Pure.
#pragma once

#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/fabric_controller/touched_jobs.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/store_writer.hpp"
#include "controlplane/turns/turn_loop.hpp"
#include "controlplane/turns/turn_slice.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

namespace tributary::fabric_controller {

class TopologyControl final : public turns::Controller {
public:
  struct Rooms {
    turns::ManagerClock& clock;
    turns::TurnSlice& slice;
    topology::Discovery& discovery;
    group::Registry& registry;
    turns::StoreWriter& store;
    turns::Events& events;
    TouchedJobs& touched;
    RouteControl& routes;
    SwitchTable& switches;
    const turns::TurnLoop& turns;
  };
  /// `timeout_ns`: how long known switches are waited for after a start.
  TopologyControl(const Rooms& rooms, std::uint64_t timeout_ns)
      : rooms_(rooms), timeout_ns_(timeout_ns) {}

  /// A switch has gained or lost its channel.
  void reachability_changed(topology::SwitchId at) { reachability_changed_.insert(at); }
  /// Handles all hosts whose place has changed, with no turn to follow.
  void locate_all();

  /// Until when known switches that have not reconnected are waited for; TimeNs{} once they are
  /// not; `never` while time stands still.
  [[nodiscard]] TimeNs waits_until() const;
  [[nodiscard]] bool waits_for_switches() const { return waits_until() != TimeNs{}; }
  /// Whether the registry regards this host as located.
  [[nodiscard]] bool is_located(Nid nid) const { return located_.contains(nid.value); }
  /// Rises with every change.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "topology"; }
  void begin(const turns::Turn& turn) override { rooms_.discovery.poll(turn.now); }
  bool handle(const turns::Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& /*turn*/) const override {
    return rooms_.discovery.next_deadline();
  }

private:
  struct Unreported {
    std::vector<topology::Change> changes;
    std::size_t next = 0;
  };
  struct Unlocated {
    std::set<Nid> nids;
    bool are_touched = false; ///< they have to be stored, too
  };
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] TimeNs now() { return rooms_.clock.now(); }
  /// Whether anything has changed; the changes are then reported and stored.
  [[nodiscard]] bool take_notice();
  /// Reports some of the changes; true when they were the last ones.
  [[nodiscard]] bool report_changes();
  void report_problems();
  /// One change; false when none is left.
  bool report_next();
  /// One host; false when none is left.
  bool locate_next();
  /// Finds out whether a host can be reached now.
  void locate(Nid nid);

  Rooms rooms_;
  std::uint64_t timeout_ns_;
  std::set<topology::SwitchId> reachability_changed_;
  std::deque<Unreported> unreported_; ///< not yet reported as events and faults
  std::deque<Unlocated> unlocated_;   ///< not checked since a change
  std::set<std::uint32_t> located_;   ///< NIDs that the registry regards as located
  std::uint64_t version_ = 1;
};

} // namespace tributary::fabric_controller
