// The fabric manager: connects the requests of hosts and the reports of switches.
//
//   hosts --HTTP--> requests --> group::Registry ---- ComputeRoutes --> multicast::Planner
//                                    ^   | Install, Remove                     |
//                                    |   v                                    v
//   switches <--------------- transaction::Coordinator <------------- trees, oriented
//        |                                                                 ^
//        +-- ports, neighbours --> topology::Discovery -- faults ----------+
//
// Each room decides its own part, and the manager passes results from room to room. Usage:
//
//   Manager manager(settings, environment, random, past);
//   ... calls of api::Service and southbound::protocol::ChannelSink, in any order ...
//   manager.reconcile(); when the environment was asked for it, and at next_deadline()
//
// `reconcile` is a turn (turn_loop.hpp): requests are stored, controllers act, changes are stored,
// and only then are requests answered and switches updated. While the store fails, requests are
// refused before anything is done; running groups continue, faults are repaired, and the resulting
// changes are kept to be stored later.
//
// Long computations run beside the manager, on a snapshot, and a later turn takes their result
// (background_jobs.hpp).
//
// The topology alone does not need an immediate write: it is discovered again automatically.
// Changes to it are stored with the next other change, or after a second.
//
// After a restart the topology is as last stored, the stored trees are wanted, and switches have
// `timeout_ns` to reconnect before anything is computed again.
//
// A manager that meets a switch of a newer manager changes nothing any more, and its time stands
// still until the operator agrees that it leads (fence.hpp).
//
// Pauses of the manager itself do not count: its time stops while it is stopped or hangs in a write
// (manager_clock.hpp), so that no lease and no limit ends because of it.
//
// Trees are planned over switches with a channel; a switch that has lost its channel keeps
// forwarding with its tables.
//
// Its parts are controllers, and what they share; each knows only what it reads and changes, not
// the manager. The order of their turn is `in_order` (manager.cpp):
//
//   turns               the loop, the clock, the store's writes, events, answers
//   fabric_controller   topology, fence, sessions of switches, unicast routes, retransmit handling
//   tree_controller     groups' trees: planning, installing, repair, rebalancing
//   job_controller      access, allocations, ports of jobs, nodes
//   here                groups.hpp (the registry in the turn), group_waiters.hpp
//
// Requests are those of request_table.hpp. Their handlers are in group_requests.cpp,
// job_requests.cpp, fault_requests.cpp, rdma_requests.cpp and queries.cpp (queries); `admit` asks
// first whether the caller may, and whether the store takes changes. The api room formats the
// views.
//
// Pure: one thread, no clock, no I/O but through Environment.
#pragma once

#include "controlplane/api/request_table.hpp"
#include "controlplane/api/route_views.hpp"
#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"
#include "controlplane/fabric_controller/fence.hpp"
#include "controlplane/fabric_controller/rdma_control.hpp"
#include "controlplane/fabric_controller/route_control.hpp"
#include "controlplane/fabric_controller/switch_sessions.hpp"
#include "controlplane/fabric_controller/switch_table.hpp"
#include "controlplane/fabric_controller/topology_control.hpp"
#include "controlplane/fabric_controller/touched_jobs.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/job/port_kind.hpp"
#include "controlplane/job_controller/access.hpp"
#include "controlplane/job_controller/allocation_leases.hpp"
#include "controlplane/job_controller/allocations.hpp"
#include "controlplane/job_controller/job_ports.hpp"
#include "controlplane/job_controller/node_reports.hpp"
#include "controlplane/manager/group_waiters.hpp"
#include "controlplane/manager/groups.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/southbound/protocol/channel_sink.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/tree_controller/admission.hpp"
#include "controlplane/tree_controller/frame_planning.hpp"
#include "controlplane/tree_controller/rebalance.hpp"
#include "controlplane/tree_controller/tree_control.hpp"
#include "controlplane/tree_controller/tree_layout.hpp"
#include "controlplane/tree_controller/tree_planner.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/tree_kind.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/trees/wide_memory.hpp"
#include "controlplane/turns/background_jobs.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/replies.hpp"
#include "controlplane/turns/stall_detector.hpp"
#include "controlplane/turns/store_writer.hpp"
#include "controlplane/turns/turn_loop.hpp"
#include "controlplane/turns/turn_slice.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::manager {

struct Settings {
  std::string name = "fabric";
  /// Managers that stand by now; null: none can.
  std::function<std::vector<api::StandbyPlace>()> standbys{};
  /// Ends this leadership in good order, for the standby of this name; null: none can lead.
  std::function<void(const std::string& successor)> hand_over{};
  /// Random, new each time the manager starts; 0 when the epoch of this start is not stored.
  std::uint64_t boot = 0;
  /// The job of callers without a token; "": they have none.
  std::string open_job;
  /// Whether callers without a token may look at everything, and change only the open job's groups.
  bool open_view = false;
  group::Settings groups;
  multicast::PlannerSettings planner;
  topology::DiscoverySettings discovery;
  /// How long switches are waited for after a start, and the pause before a failed repair is tried
  /// again.
  std::uint64_t timeout_ns = 3'500'000'000;
  std::uint64_t repair_pause_ns = 500'000'000;
  /// Quiet period of the topology and the groups before trees are moved to better paths; 0: on
  /// request only.
  std::uint64_t rebalance_quiet_ns = 0;
  /// Why the store cannot write at the start, which is handled as later on; "" when it can.
  std::string store_failure;
  /// Other managers may take the lead: answers that callers rely on are confirmed (replies.hpp).
  bool confirms = false;
  /// Unicast routes, and the handling of faults.
  fabric_controller::RouteSettings routes{};
  /// Retransmit handling of RDMA.
  fabric_controller::RdmaSettings rdma{};
  job::PortPolicy job_ports = job::PortPolicy::closed;
  /// The intended cabling; the topology found is checked against it.
  std::optional<topology::Graph> expected;
};

class Manager final : public api::ServiceOf<Manager> {
public:
  /// Throws std::runtime_error when the stored state is invalid.
  Manager(const Settings& settings, turns::Environment& environment, group::RandomSource random,
          const records::Snapshot& past);
  ~Manager() override;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void reconcile() { turns_.reconcile(); }
  /// The changes handed to `Environment::store` are on disk; otherwise `failure` says why not.
  void stored(const std::string& failure) { turns_.stored(failure); }
  /// Work handed to `Environment::work` has run; the next turn finishes it.
  void worked(std::unique_ptr<turns::BackgroundWork> piece) {
    background_.came_back(std::move(piece));
  }
  /// Replaces the limits and leases of groups. Existing groups keep their deadlines.
  void reconfigure(const group::Settings& groups);
  /// Replaces the settings of unicast routes and faults.
  void reconfigure(const fabric_controller::RouteSettings& routes);
  /// Replaces the retransmit policy of the file, and the rules for quarantining peers.
  void reconfigure(const fabric_controller::RdmaSettings& rdma);
  /// Also changes the ports of running jobs.
  void reconfigure(job::PortPolicy policy);
  [[nodiscard]] TimeNs next_deadline() const { return turns_.next_deadline(); }
  /// The store cannot write now, as a check has found without a write: no change is accepted before
  /// a write succeeds.
  void store_is_away(std::string_view why) { store_.is_away(why); }
  /// It is not known whether this manager leads, until `resume`: views are answered, other requests
  /// refused, no turn runs and nothing is sent to switches.
  void suspend(const std::string& why) { turns_.suspend(why); }
  /// While it is suspended: another manager may lead by now. Ends the channels of all switches,
  /// rejects them until `resume`, and refuses requests that wait.
  void let_go(const std::string& why);
  void resume() {
    sessions_.take_back();
    turns_.resume();
  }
  /// Before the end, with no turn to follow: changes that could have waited, to be written after
  /// those that were handed over before.
  [[nodiscard]] std::vector<records::Change> what_waits();
  /// Takes what switches send.
  [[nodiscard]] southbound::protocol::ChannelSink& switches() { return sessions_; }

  // ---- api::Service ----

  /// Calls `handle(caller, request, reply)` if the caller may send the request, and the store takes
  /// changes where it needs that; otherwise answers. During a write, changes wait until the turn is
  /// over: they could not be taken back separately from those that are being written. Where other
  /// managers may take the lead, answers that callers rely on wait for the confirmation.
  template <typename Parsed, typename Handle>
  void admit(const api::Route& route, const api::Caller& caller, Parsed request, api::Reply reply,
             Handle handle) {
    if (route.decides && store_.is_suspended()) {
      return reply(store_.suspended_answer());
    }
    if (route.changes && store_.is_writing()) {
      return turns_.hold_back([=, this, &route] { admit(route, caller, request, reply, handle); });
    }
    const turns::Section section(stalls_, route.path);
    if (route.decides && settings_.confirms) {
      reply = replies_.deferred(std::move(reply));
    }
    if (auto refusal = access_.admit(route, caller, request)) {
      return reply(*std::move(refusal));
    }
    if (fence_.is_superseded() && api::needs_leader(route)) {
      return reply(fence_.refusal());
    }
    if (!route.changes || !store_.refuses(reply)) {
      handle(caller, request, std::move(reply));
    }
  }

  void create_job(const api::Caller& caller, const api::JobRequest& request, api::Reply reply);
  void list_jobs(const api::Caller& caller, const api::Nothing& request, api::Reply reply);
  void get_job(const api::Caller& caller, const api::JobName& request, api::Reply reply);
  void patch_job(const api::Caller& caller, const api::JobPatch& request, api::Reply reply);
  void delete_job(const api::Caller& caller, const api::JobName& request, api::Reply reply);
  void create_multicast(const api::Caller& caller, const api::MulticastRequest& request,
                        api::Reply reply);
  void delete_multicast(const api::Caller& caller, const TreeNumber& request, api::Reply reply);
  void create_group(const api::Caller& caller, const api::GroupRequest& request, api::Reply reply);
  void get_group(const api::Caller& caller, const api::GroupName& request, api::Reply reply);
  void delete_group(const api::Caller& caller, const api::GroupName& request, api::Reply reply);
  void join_group(const api::Caller& caller, const api::JoinRequest& request, api::Reply reply);
  void leave_group(const api::Caller& caller, const api::MemberRequest& request, api::Reply reply);
  void renew_lease(const api::Caller& caller, const api::MemberRequest& request, api::Reply reply);
  void view(const api::Caller& caller, const api::ViewRequest& request, api::Reply reply);
  void view_jobs(const api::Caller& caller, const api::ViewRequest& request, api::Reply reply);
  void rebalance(const api::Caller& caller, const bool& request, api::Reply reply);
  void view_routes(const api::Caller& caller, const api::Nothing& request, api::Reply reply);
  void paths(const api::Caller& caller, const api::PathRequest& request, api::Reply reply);
  void faults(const api::Caller& caller, const std::size_t& request, api::Reply reply);
  void drain(const api::Caller& caller, const api::DrainRequest& request, api::Reply reply);
  void rdma_view(const api::Caller& caller, const api::RdmaViewRequest& request, api::Reply reply);
  void rdma_view_peers(const api::Caller& caller, const api::RdmaViewRequest& request,
                       api::Reply reply);
  void rdma_set_policy(const api::Caller& caller, const api::RdmaPolicyPatch& request,
                       api::Reply reply);
  void rdma_quarantine(const api::Caller& caller, const api::RdmaQuarantineRequest& request,
                       api::Reply reply);
  void rdma_report(const api::Caller& caller, const api::RdmaReport& request, api::Reply reply);
  void allocate(const api::Caller& caller, const api::AllocationRequest& request, api::Reply reply);
  void renew_allocation(const api::Caller& caller, const api::JobName& request, api::Reply reply);
  void nodes(const api::Caller& caller, const api::NodesRequest& request, api::Reply reply);
  void report_node(const api::Caller& caller, const api::NodeReport& request, api::Reply reply);
  void view_managers(const api::Caller& caller, const api::Nothing& request, api::Reply reply);
  void adopt_fabric(const api::Caller& caller, const api::AdoptRequest& request, api::Reply reply);
  void fail_over(const api::Caller& caller, const api::FailoverRequest& request, api::Reply reply);

  std::optional<api::MetricsPlace> metrics(api::MetricsPlace from, std::string& text) override;
  std::string not_ready_because() override;
  std::string not_leading_because() override;
  std::optional<api::Answer> refuse_events(const api::Caller& caller) override;
  std::optional<api::Answer> refuse_job_events(const api::Caller& caller,
                                               const std::string& job) override;
  std::unique_ptr<api::EventReader> read_events(const api::Caller& caller,
                                                const api::EventsRequest& request,
                                                std::function<void()> wake) override;
  std::optional<api::Answer> refuse(const api::Route& route, const api::Caller& caller) override {
    // `admit` answers where another manager may know the caller's job.
    return route.decides && settings_.confirms ? std::nullopt : access_.refuse(route, caller);
  }
  std::string job_of(const api::Caller& caller) override;

  // ---- queries ----

  [[nodiscard]] const topology::Graph& graph() const { return discovery_.graph(); }
  [[nodiscard]] const topology::Discovery& discovery() const { return discovery_; }
  [[nodiscard]] const trees::TreeStates& states() const { return states_; }
  [[nodiscard]] const group::Registry& groups() const { return registry_; }
  [[nodiscard]] const transaction::Coordinator& coordinator() const { return coordinator_; }
  [[nodiscard]] const fabric_controller::RouteControl& route_control() const { return control_; }

private:
  [[nodiscard]] TimeNs now() { return clock_.now(); }
  [[nodiscard]] TimeNs time() const { return clock_.time(); }

  // manager.cpp
  /// For the parts whose events jobs receive, too.
  [[nodiscard]] turns::EventReporter event_reporter();
  void restore(const records::Snapshot& past);

  /// The order of a turn. The list is checked when the manager is made.
  [[nodiscard]] std::vector<turns::Controller*> in_order();
  [[nodiscard]] bool waits_for_switches() const { return topology_.waits_for_switches(); }

  // job_requests.cpp and group_requests.cpp
  /// Sends an event, and adds a note to the answer if the limit is 0.
  void announce_limit(const group::Job& job, boost::json::object& answer);
  /// A 422 for hosts that were known before the start and whose switches have not reconnected yet
  /// becomes a 409, because the error is temporary.
  [[nodiscard]] group::Error or_not_back_yet(group::Error error, std::span<const Nid> nids);

  // queries.cpp
  [[nodiscard]] api::Views views() const { return {read_view_, time()}; }
  [[nodiscard]] const std::vector<std::string>& miscabled();

  // fault_requests.cpp
  [[nodiscard]] static std::optional<topology::HostId> host_called(const topology::Graph& graph,
                                                                   const std::string& text);
  [[nodiscard]] std::vector<std::string> trees_through(topology::SwitchId at) const;
  [[nodiscard]] api::DrainState drain_state(topology::SwitchId at) const;

  Settings settings_;
  turns::Environment& environment_;
  turns::StallDetector stalls_;
  turns::BackgroundJobs background_; ///< computations that are longer than a turn may be
  turns::ManagerClock clock_;
  turns::TurnSlice slice_;
  topology::Discovery discovery_;
  trees::TreeKind tree_kind_;
  route_controller::RouteKind route_kind_;
  job::PortKind port_kind_;
  transaction::Coordinator coordinator_;
  group::Registry registry_;
  trees::TreeStates states_; ///< the planner counts the loads of their trees, as does `engines_`
  trees::EngineLoads engines_;
  trees::WideMemory memory_; ///< of switches, for wide frames
  fabric_controller::SwitchTable switches_;
  turns::Events events_;
  turns::StoreWriter store_;
  job_controller::Access access_;
  turns::Replies replies_;
  fabric_controller::TouchedJobs touched_;
  fabric_controller::RouteControl control_; ///< unicast routes and faults
  fabric_controller::RdmaControl rdma_;     ///< retransmit handling
  tree_controller::TreePlanner planner_;
  tree_controller::Admission admission_;  ///< descriptors of engines
  tree_controller::FramePlanning frames_; ///< wide frames, and switches' memory for them
  tree_controller::TreeLayout layout_;
  tree_controller::TreeControl trees_;
  tree_controller::Rebalance rebalance_;
  job_controller::NodeReports nodes_;
  job_controller::AllocationLeases leases_;
  job_controller::JobPorts ports_;
  job_controller::Allocations allocations_;
  fabric_controller::TopologyControl topology_;
  fabric_controller::Fence fence_;
  fabric_controller::SwitchSessions sessions_;
  Groups groups_;
  const api::ReadView read_view_{discovery_,   registry_,        settings_.groups,
                                 coordinator_, states_,          engines_,
                                 memory_,      planner_.known(), switches_.reports()};
  GroupWaiters waiters_;
  turns::TurnLoop turns_;
  /// Differences to the expected topology, and the version of the graph they are for.
  std::vector<std::string> miscabled_;
  std::uint64_t miscabled_version_ = 0;
};

} // namespace tributary::manager
