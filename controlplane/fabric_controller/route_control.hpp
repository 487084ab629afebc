// Unicast routes and faults, in the manager's turns: events of the fabric, when they are answered,
// and the progress of the answer. The rooms decide; this passes results from room to room.
//
//   topology::Change --> faults::Damping --> faults::FaultLog --> route_controller::RouteSets
//                                                                     | begin
//        BackgroundJobs: route_controller::make_plan on a snapshot <----------------+
//             | Plan, in a later turn                                 ^ ended
//             +--> route_controller::RouteSets --> transaction::Coordinator ---------+
//
//   RouteControl control(settings, rooms, epoch, drained, report_event);
//   control.changed(change, now);                 for every change of the topology
//
// Avoided elements, drained switches and flapping links, count as down for routes and trees.
//
// Pure.
#pragma once

#include "controlplane/faults/damping.hpp"
#include "controlplane/faults/fault_log.hpp"
#include "controlplane/route_controller/drain.hpp"
#include "controlplane/route_controller/path.hpp"
#include "controlplane/route_controller/route_kind.hpp"
#include "controlplane/route_controller/route_sets.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/turns/background_jobs.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/event_reporter.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "tributary/control.pb.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric_controller {

struct RouteSettings {
  route_controller::Settings routes{};
  /// As in forwarding_table::Routes.
  std::uint64_t sprayed_dscps = 0;
  faults::DampingSettings damping{};
  faults::LogSettings log{};
  /// Pause before a set that did not reach all switches is computed again; doubles each time, at
  /// most sixteenfold.
  std::uint64_t retry_ns = 500'000'000;
};

class RouteControl final : public turns::Controller {
public:
  struct Rooms {
    turns::Environment& environment;
    const turns::ManagerClock& clock;
    turns::BackgroundJobs& beside;
    const topology::Discovery& discovery;
    transaction::Coordinator& coordinator;
  };
  /// Epochs are above `epoch`. `drained` are names of switches, known or not.
  RouteControl(const RouteSettings& settings, const Rooms& rooms, route_controller::Epoch epoch,
               turns::EventReporter report_event);

  // ---- events ----

  void restore_drained(std::set<std::string> names) { drained_ = std::move(names); }
  /// Once the graph is restored: computes the set that switches may still hold, to recognize its
  /// digest; and a set for the current fabric. Until that is ready switches keep theirs.
  void start(TimeNs now);
  void changed(const topology::Change& change, TimeNs now);
  void connected(topology::SwitchId at, const control::SwitchHello& hello, TimeNs now);
  void ports(topology::SwitchId at, const control::PortReport& report);
  void reconfigure(const RouteSettings& settings, TimeNs now);

  /// A switch has become suspected, or has ceased to be: answered by new routes. `avoided`: all
  /// suspected switches that routes and trees have to avoid.
  void suspicion(faults::Cause cause, std::string text, std::set<std::string> avoided, TimeNs now);

  // ---- reaction of groups' trees ----

  void tree_planned(const std::string& group, TimeNs now);
  /// No transactions when switches already hold what is wanted.
  void trees_sent(const std::string& group,
                  std::span<const transaction::TransactionNumber> transactions, TimeNs now);
  /// They are not tried again; `why` is "" when they are no longer wanted.
  void trees_given_up(const std::string& group, const std::string& why, TimeNs now);

  /// A transaction that may be one of trees. `retried`: the group whose trees are tried again after
  /// this failure, or "".
  void trees_ended(const transaction::Outcome& outcome, const std::string& retried, TimeNs now);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "unicast routes"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  void ended(const transaction::Outcome& outcome) override;
  /// Starts computations, updates switches. Starts nothing while switches are waited for.
  bool handle(const turns::Turn& turn) override;
  void conclude(const turns::Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& turn) const override;

  /// Whether the avoided elements have changed since the last call: trees have to be checked.
  [[nodiscard]] bool take_avoidance_changed() { return std::exchange(avoidance_changed_, false); }

  // ---- drain ----

  /// Why it cannot be drained, or ""; `force` allows hosts to be cut off. Must be a switch of the
  /// graph.
  [[nodiscard]] std::string refuse_drain(topology::SwitchId at) const;
  void set_drained(topology::SwitchId at, bool drained, TimeNs now);
  [[nodiscard]] const std::set<std::string>& drained() const { return drained_; }
  /// Whether routes still use a drained switch, in words; "" when they do not.
  [[nodiscard]] std::string routes_through(topology::SwitchId at) const;

  // ---- queries ----

  [[nodiscard]] std::set<topology::SwitchId> avoided_switches() const;
  [[nodiscard]] std::set<topology::LinkId> avoided_links() const;
  [[nodiscard]] bool avoids(topology::LinkId link) const;
  /// Tables that switches hold, by SwitchId, as far as known.
  [[nodiscard]] route_controller::HeldTables held_tables() const;
  /// Why connected pairs may be without routes, in words; "" when no reason is known.
  [[nodiscard]] std::string problem() const;
  /// Sets that did not reach all switches, and were computed again.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  /// Pairs of switches with hosts that have no route in the tables in force, as far as known.
  [[nodiscard]] std::uint64_t pairs_lost() const;
  [[nodiscard]] const RouteSettings& settings() const { return settings_; }
  [[nodiscard]] const route_controller::RouteSets& life() const { return sets_; }
  [[nodiscard]] const faults::FaultLog& log() const { return log_; }
  [[nodiscard]] const faults::Damping& damping() const { return damping_; }

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  [[nodiscard]] bool is_ours(const transaction::Outcome& outcome) const;
  /// Whether the last switch has just ceased to be out of sync.
  bool note_in_force(TimeNs now);
  bool handle_routes(TimeNs now, bool may_begin);
  void record(faults::Cause cause, std::string text, TimeNs now);
  void want(TimeNs now);
  void remember(TimeNs now);
  void give(TimeNs now);
  void computed(route_controller::PlanPtr plan);
  void install(TimeNs now);
  /// For the open fault, and those that wait for routes.
  void give_up(const std::string& why, TimeNs now);
  [[nodiscard]] route_controller::Request request() const;
  [[nodiscard]] route_controller::VcLimit vc_limit() const;
  [[nodiscard]] std::vector<route_controller::HeldRoutes> held_routes() const;
  /// Switches with a channel whose routes differ from the wanted ones.
  [[nodiscard]] std::vector<topology::SwitchId> out_of_sync() const;
  bool note_stalled(TimeNs now);
  void note_failure(const std::string& why);
  [[nodiscard]] std::uint64_t pause_ns() const;
  [[nodiscard]] bool is_being_made() const;
  [[nodiscard]] bool is_busy() const;

  RouteSettings settings_;
  Rooms rooms_;
  turns::EventReporter report_event_;
  route_controller::RouteSets sets_;
  faults::FaultLog log_;
  faults::Damping damping_;
  std::set<std::string> drained_;
  std::set<std::string> suspected_; ///< and avoided
  bool avoidance_changed_ = false;
  std::map<topology::Attachment, std::uint32_t> vcs_; ///< VCs of a port, where it reported them
  bool to_remember_ = false;
  route_controller::PlanPtr remembered_; ///< for the fabric as stored
  TimeNs grows_since_{};                 ///< and a set for that is wanted
  bool has_grown_ = false;               ///< since the computation of the current set began
  std::uint64_t failures_ = 0;
  unsigned failed_in_a_row_ = 0;
  std::string failure_{};     ///< the last failure, until a set is in force
  bool is_computing_ = false; ///< beside the manager, one set, which may be outdated
  TimeNs again_ = never;      ///< when a set is computed again after its computation threw
};

} // namespace tributary::fabric_controller
