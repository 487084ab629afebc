// Unicast routes and faults, in the manager's turns: what happens in the fabric, when it is
// answered, and how far the answer has come. The rooms decide; this carries one room's answer to
// the next.
//
//   topology::Change --> faults::Damping --> faults::FaultLog --> route_controller::Life
//                                                                     | begin
//        WorkBeside: route_controller::make_plan on a snapshot <----------------+
//             | Plan, in a later turn                                 ^ ended
//             +--> route_controller::Life --> transaction::Coordinator ---------+
//
//   RouteControl control(settings, rooms, epoch, drained, tell);
//   control.changed(change, now);                 for every change of the topology
//   while (control.handle(now, may_begin)) ...    in a turn
//   control.ended(outcome, now);                  for every outcome of the coordinator
//   control.settle(trees_are_idle, now);          at the end of a turn
//   control.next_deadline()
//
// What is avoided, drained switches and links that flap, is down for routes and for trees.
//
// Pure.
#pragma once

#include "controlplane/faults/damping.hpp"
#include "controlplane/faults/fault_log.hpp"
#include "controlplane/manager/telling.hpp"
#include "controlplane/manager/work_beside.hpp"
#include "controlplane/route_controller/drain.hpp"
#include "controlplane/route_controller/life.hpp"
#include "controlplane/route_controller/path.hpp"
#include "controlplane/route_controller/route_kind.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
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

namespace tributary::manager {

struct RouteSettings {
  route_controller::Settings routes{};
  /// As forwarding_table::Routes has them.
  std::uint64_t sprayed_dscps = 0;
  faults::DampingSettings damping{};
  faults::LogSettings log{};
  /// Before a set that did not get everywhere is made anew; doubles with every one, sixteenfold at
  /// most.
  std::uint64_t retry_ns = 500'000'000;
};

class RouteControl {
public:
  struct Rooms {
    Environment& environment;
    WorkBeside& beside;
    const topology::Discovery& discovery;
    transaction::Coordinator& coordinator;
  };
  /// Epochs are above `epoch`. Switches are drained by name, whether they are there or not.
  RouteControl(const RouteSettings& settings, const Rooms& rooms, route_controller::Epoch epoch,
               Tell tell);

  // ---- what happens ----

  void restore_drained(std::set<std::string> names) { drained_ = std::move(names); }
  /// Once the graph is restored: computes what switches may hold still, so that it is known when
  /// they tell its digest; and a set for the fabric as it is. Until that is there they keep theirs.
  void start(TimeNs now);
  void changed(const topology::Change& change, TimeNs now);
  void connected(topology::SwitchId at, const control::SwitchHello& hello, TimeNs now);
  void ports(topology::SwitchId at, const control::PortReport& report);
  void reconfigure(const RouteSettings& settings, TimeNs now);

  /// A switch is suspected, or is not any more: answered by routes of their own.
  /// `avoided`: all suspected switches that routes and trees are to keep off.
  void suspicion(faults::Cause cause, std::string text, std::set<std::string> avoided, TimeNs now);

  // ---- what groups' trees do about it ----

  void tree_planned(const std::string& group, TimeNs now);
  /// None when switches have already what they are to have.
  void trees_told(const std::string& group,
                  std::span<const transaction::TransactionNumber> transactions, TimeNs now);
  /// They are not tried again; `why` is "" when nobody wants them any more.
  void trees_given_up(const std::string& group, const std::string& why, TimeNs now);

  // ---- in a turn ----

  /// Gives out computations, tells switches. Begins nothing while switches are waited for.
  bool handle(TimeNs now, bool may_begin);
  /// `retried`: the group whose trees are tried again because this has failed, or "".
  void ended(const transaction::Outcome& outcome, const std::string& retried, TimeNs now);
  /// Once no switch is behind any more; true when that has just become so.
  bool note_in_force(TimeNs now);
  void settle(bool trees_are_idle, TimeNs now);
  /// Nothing is begun before `from`.
  [[nodiscard]] TimeNs next_deadline(TimeNs from) const;
  /// Whether what is avoided has changed since the last call: trees have to be looked at.
  [[nodiscard]] bool take_avoidance_changed() { return std::exchange(avoidance_changed_, false); }

  // ---- drain ----

  /// Why it cannot be, or ""; `force` lets hosts be cut off. Must be a switch of the graph.
  [[nodiscard]] std::string refuse_drain(topology::SwitchId at) const;
  void set_drained(topology::SwitchId at, bool drained, TimeNs now);
  [[nodiscard]] const std::set<std::string>& drained() const { return drained_; }
  /// Whether routes lead through a drained switch still, in words; "" when they do not.
  [[nodiscard]] std::string routes_through(topology::SwitchId at) const;

  // ---- looking ----

  [[nodiscard]] std::set<topology::SwitchId> avoided_switches() const;
  [[nodiscard]] std::set<topology::LinkId> avoided_links() const;
  [[nodiscard]] bool avoids(topology::LinkId link) const;
  /// What switches hold, by SwitchId, as far as it is known.
  [[nodiscard]] route_controller::HeldTables held_tables() const;
  /// Why pairs that are connected may be without routes, in words; "" when there is no reason.
  [[nodiscard]] std::string problem() const;
  /// Sets that did not get everywhere, and were made anew.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  /// Pairs of switches with hosts that have no route by what is in force, as far as is known.
  [[nodiscard]] std::uint64_t pairs_lost() const;
  [[nodiscard]] const RouteSettings& settings() const { return settings_; }
  [[nodiscard]] const route_controller::Life& life() const { return life_; }
  [[nodiscard]] const faults::FaultLog& log() const { return log_; }
  [[nodiscard]] const faults::Damping& damping() const { return damping_; }

private:
  [[nodiscard]] const topology::Graph& graph() const { return rooms_.discovery.graph(); }
  void happened(faults::Cause cause, std::string text, TimeNs now);
  void want(TimeNs now);
  void remember(TimeNs now);
  void give(TimeNs now);
  void computed(route_controller::PlanPtr plan);
  void install(TimeNs now);
  /// Of the open fault, and of those that wait for routes.
  void give_up(const std::string& why, TimeNs now);
  [[nodiscard]] route_controller::Request request() const;
  [[nodiscard]] route_controller::VcLimit vc_limit() const;
  [[nodiscard]] std::vector<route_controller::HeldRoutes> held_routes() const;
  /// Those that have a channel, and other routes than they are to have.
  [[nodiscard]] std::vector<topology::SwitchId> behind() const;
  bool note_stalled(TimeNs now);
  void note_failure(const std::string& why);
  [[nodiscard]] std::uint64_t pause_ns() const;
  [[nodiscard]] bool is_being_made() const;
  [[nodiscard]] bool is_busy() const;

  RouteSettings settings_;
  Rooms rooms_;
  Tell tell_;
  route_controller::Life life_;
  faults::FaultLog log_;
  faults::Damping damping_;
  std::set<std::string> drained_;
  std::set<std::string> suspected_; ///< and avoided
  bool avoidance_changed_ = false;
  std::map<topology::Attachment, std::uint32_t> vcs_; ///< that a port carries, where it said so
  bool to_remember_ = false;
  route_controller::PlanPtr remembered_; ///< of the fabric as it was stored
  TimeNs grows_since_{};                 ///< and a set for that is wanted
  bool has_grown_ = false;               ///< since the set that is being made was begun
  std::uint64_t failures_ = 0;
  unsigned failed_in_a_row_ = 0;
  std::string failure_{};     ///< the last one, until a set is in force
  bool is_computing_ = false; ///< beside the manager, one set, which may be of use no more
  TimeNs again_ = never;      ///< when a set whose computation threw is computed again
};

} // namespace tributary::manager
