// The fabric manager: what hosts ask for and what switches report, brought together.
//
//   hosts --HTTP--> requests --> group::Registry ---- ComputeRoutes --> multicast::Planner
//                                    ^   | Install, Remove                     |
//                                    |   v                                    v
//   switches <--------------- transaction::Coordinator <------------- trees, oriented
//        |                                                                 ^
//        +-- ports, neighbours --> topology::Discovery -- what broke ------+
//
// Nothing is done twice over: each room decides its own part, and the manager carries one room's
// answer to the next. How it is driven:
//
//   Manager manager(settings, environment, random, past);
//   ... calls of api::Service and southbound::protocol::ChannelSink, in any order ...
//   manager.reconcile(); when the environment was asked for it, and at next_deadline()
//
// `reconcile` is where every change takes effect. First what was asked for since the last turn is
// stored, in one transaction; when the store takes nothing (disk full), it is taken back as if it
// had never been asked for, and answered 503. Then rooms are asked for what they want done until
// none wants anything; what changed by that is stored, in another transaction; and only then are
// requests answered and switches told. So thousands of joins that came together cost one write, and
// nothing is acknowledged that a crash could lose. While the store takes nothing, requests are
// refused before anything is done; what runs goes on, faults are repaired, and what changes by that
// is kept to be stored later.
//
// Writing takes as long as the disk takes, and nobody waits for it: the turn goes on when `stored`
// is called. Switches, renewals and those who look are served meanwhile; requests that change
// something are taken on when the turn is over, since they could not be taken back apart from those
// that are being written.
//
// What takes long is computed beside the manager, on a snapshot, and its result is taken in in a
// later turn (work_beside.hpp).
//
// The topology alone is no reason to write at once: it is found again by itself. What was touched
// of it is stored with the next thing that is, or after a second.
//
// After a restart the topology is as it was last seen, the stored trees are wanted, and switches
// are given `patience` to come back before anything is computed anew.
//
// The manager's own pauses count for nobody: its time stands still while it is stopped or hangs in
// a write (manager_clock.hpp), so that no lease and no limit ends because of it.
//
// A tree is planned over switches that have a channel; one whose channel is lost goes on carrying
// what it has.
//
// Files: manager.cpp (construction, settling, switches), tree_planning.cpp, tree_installing.cpp and
// tree_repair.cpp (trees of groups), route_control.cpp (unicast routes and faults), admission.cpp
// (descriptors of engines), frame_planning.cpp (wide frames, and switches' memory for them),
// rebalance.cpp (trees that could be better), rdma_control.cpp (retransmit handling), requests.cpp,
// rdma_requests.cpp and looking.cpp (api::Service: what changes something, and what only looks),
// touched_jobs.hpp (what jobs hear of), allocations.cpp (what jobs are given before they start),
// job_ports.cpp (the switches' ports of their hosts), allocation_leases.cpp (when launchers are
// gone).
// What is seen is made in the room api.
//
// Pure: one thread, no clock, no I/O but through Environment.
#pragma once

#include "controlplane/api/route_views.hpp"
#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/group/turn_wish.hpp"
#include "controlplane/group/wide_wish.hpp"
#include "controlplane/job/node_inventory.hpp"
#include "controlplane/job/port_kind.hpp"
#include "controlplane/manager/access.hpp"
#include "controlplane/manager/allocation_leases.hpp"
#include "controlplane/manager/allocations.hpp"
#include "controlplane/manager/endings.hpp"
#include "controlplane/manager/environment.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/group_waiters.hpp"
#include "controlplane/manager/job_ports.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/node_reports.hpp"
#include "controlplane/manager/rdma_control.hpp"
#include "controlplane/manager/repair_round.hpp"
#include "controlplane/manager/replies.hpp"
#include "controlplane/manager/route_control.hpp"
#include "controlplane/manager/stall_detector.hpp"
#include "controlplane/manager/store_writer.hpp"
#include "controlplane/manager/switch_table.hpp"
#include "controlplane/manager/touched_jobs.hpp"
#include "controlplane/manager/work_beside.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/southbound/protocol/channel_sink.hpp"
#include "controlplane/southbound/protocol/switch_report.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/life.hpp"
#include "controlplane/trees/planned_tree.hpp"
#include "controlplane/trees/tree_kind.hpp"
#include "controlplane/trees/wide_memory.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tributary::manager {

struct Settings {
  std::string name = "fabric";
  /// The job of callers without a token; "" for none.
  std::string open_job;
  /// Whether callers without a token may look at everything, and change nothing but what is the
  /// open job's.
  bool open_view = false;
  group::Settings groups;
  multicast::PlannerSettings planner;
  topology::DiscoverySettings discovery;
  /// How long switches are waited for after a start, and a repair that failed waits for the next
  /// attempt.
  std::uint64_t timeout_ns = 3'500'000'000;
  std::uint64_t repair_pause_ns = 500'000'000;
  /// How long neither the topology nor the groups change before trees are moved to where they are
  /// better; 0: on request only.
  std::uint64_t rebalance_quiet_ns = 0;
  /// Why the store takes nothing at the start, which is then as later on; "" when it does.
  std::string store_failure;
  /// Unicast routes, and what is done about faults.
  RouteSettings routes{};
  /// Retransmit handling of RDMA.
  RdmaSettings rdma{};
  job::PortPolicy job_ports = job::PortPolicy::closed;
  /// How the fabric should be cabled; what is found is checked against it.
  std::optional<topology::Graph> expected;
};

class Manager final : public api::Service, public southbound::protocol::ChannelSink {
public:
  /// Throws std::runtime_error when the stored past makes no sense.
  Manager(const Settings& settings, Environment& environment, group::RandomSource random,
          const records::Snapshot& past);
  ~Manager() override;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void reconcile();
  /// What was handed to `Environment::store` is on disk; or it is not, and why.
  void stored(const std::string& failure);
  /// What was handed to `Environment::work` has run: its end belongs to the next turn.
  void worked(std::unique_ptr<Work> piece);
  /// Takes over the limits and leases of groups. Those that run keep the deadlines they have.
  void reconfigure(const group::Settings& groups);
  /// Takes over what is said of unicast routes and faults.
  void reconfigure(const RouteSettings& routes);
  /// Takes over the retransmit policy of the file, and when peers are parked.
  void reconfigure(const RdmaSettings& rdma);
  /// Ports of jobs that run follow.
  void reconfigure(job::PortPolicy policy);
  [[nodiscard]] TimeNs next_deadline() const;
  /// Somebody saw that nothing can be written now, and why, though nothing was to be written: no
  /// change is taken on before a write succeeds.
  void store_is_away(std::string_view why);
  /// Before the end, with no turn to follow: what could have waited, to be written behind what was
  /// handed over before.
  [[nodiscard]] std::vector<records::Change> what_waits();

  // ---- southbound::protocol::ChannelSink ----

  std::optional<std::string> connected(transaction::SessionNumber session,
                                       const control::SwitchHello& hello) override;
  void message(transaction::SessionNumber session, const control::SwitchMessage& message) override;
  void lost(transaction::SessionNumber session, std::string_view why) override;
  void turning_away(std::string_view why) override;

  // ---- api::Service ----

  void create_job(const api::Caller& caller, const api::JobRequest& request,
                  api::Reply reply) override;
  void get_job(const api::Caller& caller, const std::string& job, api::Reply reply) override;
  void list_jobs(const api::Caller& caller, api::Reply reply) override;
  void patch_job(const api::Caller& caller, const api::JobPatch& patch, api::Reply reply) override;
  void delete_job(const api::Caller& caller, const std::string& job, api::Reply reply) override;
  void create_multicast(const api::Caller& caller, const api::MulticastRequest& request,
                        api::Reply reply) override;
  void delete_multicast(const api::Caller& caller, TreeNumber tree, api::Reply reply) override;
  void create_group(const api::Caller& caller, const api::GroupRequest& request,
                    api::Reply reply) override;
  void join_group(const api::Caller& caller, const api::JoinRequest& request,
                  api::Reply reply) override;
  void leave_group(const api::Caller& caller, const api::MemberRequest& request,
                   api::Reply reply) override;
  void renew_lease(const api::Caller& caller, const api::MemberRequest& request,
                   api::Reply reply) override;
  void get_group(const api::Caller& caller, const std::string& job, const std::string& name,
                 api::Reply reply) override;
  void delete_group(const api::Caller& caller, const std::string& job, const std::string& name,
                    api::Reply reply) override;
  void view(const api::Caller& caller, const api::ViewRequest& request, api::Reply reply) override;
  void rebalance(const api::Caller& caller, bool dry_run, api::Reply reply) override;
  void routes(const api::Caller& caller, api::Reply reply) override;
  void paths(const api::Caller& caller, const api::PathRequest& request, api::Reply reply) override;
  void faults(const api::Caller& caller, std::size_t limit, api::Reply reply) override;
  void drain(const api::Caller& caller, const api::DrainRequest& request,
             api::Reply reply) override;
  void rdma_view(const api::Caller& caller, const api::RdmaViewRequest& request,
                 api::Reply reply) override;
  void rdma_set_policy(const api::Caller& caller, const api::RdmaPolicyPatch& patch,
                       api::Reply reply) override;
  void rdma_park(const api::Caller& caller, const api::RdmaParkRequest& request,
                 api::Reply reply) override;
  void rdma_report(const api::Caller& caller, const api::RdmaReport& report,
                   api::Reply reply) override;
  void allocate(const api::Caller& caller, const api::AllocationRequest& request,
                api::Reply reply) override;
  void report_node(const api::Caller& caller, const api::NodeReport& report,
                   api::Reply reply) override;
  void nodes(const api::Caller& caller, const api::NodesRequest& request,
             api::Reply reply) override;
  std::optional<api::MetricsPlace> metrics(api::MetricsPlace from, std::string& text) override;
  std::string not_ready_because() override;
  std::optional<api::Answer> refuse_events(const api::Caller& caller) override;
  std::function<void()> subscribe(const api::Caller& caller, std::uint64_t after,
                                  std::function<void(const api::Event&)> sink) override;
  std::optional<api::Answer> refuse_job_events(const api::Caller& caller,
                                               const std::string& job) override;
  std::function<void()> follow_job(const api::Caller& caller, const api::JobEvents& wanted,
                                   std::function<void(const api::Event&)> sink) override;

  // ---- looking ----

  [[nodiscard]] const topology::Graph& graph() const { return discovery_.graph(); }
  [[nodiscard]] const group::Registry& groups() const { return registry_; }
  [[nodiscard]] const transaction::Coordinator& coordinator() const { return coordinator_; }
  [[nodiscard]] const RouteControl& route_control() const { return control_; }

private:
  /// Half of what a turn may take.
  static constexpr std::uint64_t slice_ns = StallDetector::limit_ns / 2;

  // manager.cpp
  [[nodiscard]] TimeNs now() { return clock_.now(); }
  [[nodiscard]] TimeNs time() const { return clock_.time(); }
  void tell_pause();
  /// In the manager's time.
  [[nodiscard]] TimeNs first_deadline() const;
  void restore(const records::Snapshot& past);
  bool handle_actions();
  bool handle_outcomes();
  bool handle_routes();
  bool handle_rdma();
  /// Work that can be large is done as far as this, and goes on in the next turn.
  [[nodiscard]] bool slice_is_over() {
    return elapsed_ns(environment_.now(), turn_began_) >= slice_ns;
  }
  // A turn, in three pieces: what lies between them is a write, or nothing.
  /// Requests are stored before anything follows from them; those that cannot be never came.
  void begin_turn();
  void run_turn();
  void end_turn();
  void keep_requests();
  void take_back_requests();
  /// Until the turn is over.
  void hold_back(std::function<void()> request) { held_back_.push_back(std::move(request)); }
  void send_replies();
  void tell_switches();
  void disconnect(transaction::SessionNumber session);
  /// Shortly after a start, while switches that were there before are not back.
  [[nodiscard]] bool waits_for_switches() const;

  // topology_changes.cpp
  bool handle_topology();
  void tell_problems();
  /// What planning and storing have to know of changes.
  void take_notice(std::vector<topology::Change> changes);
  /// One change; false when there is none.
  bool tell_next();
  /// One host; false when there is none.
  bool locate_next();
  void locate_all();
  /// Finds out whether a host can be reached now.
  void locate(Nid nid);

  // tree_planning.cpp
  /// The planner over the graph as it is now: what asks for trees goes through here.
  [[nodiscard]] multicast::Planner& planner();
  void bring_planning_graph_up_to_date();
  /// What is to be done about trees now; nothing while switches are waited for. After a change of
  /// the topology every group is looked at. Goes on in the next turn when this one lasts too long,
  /// so that requests and switches are served between.
  bool handle_due();
  /// By the state of the life of its trees.
  void look_at(group::GroupId id);
  /// Finds trees for a group. Where there is no path, it waits for one until the fabric has been as
  /// it is for a while: a switch that has just come has links that are not known yet.
  void compute(group::GroupId id);
  /// Two ports claimed a member of theirs, and do no more.
  void compute_what_is_not_contested();
  /// Why nobody can say where a member's host is: two ports claim it.
  [[nodiscard]] std::optional<std::string> contested(const group::Group& group) const;
  /// To its group, which may not want them any more, or have no numbers: then there are none.
  void offer(group::GroupId id, trees::Life& life);
  void adopt(const group::Group& group);
  /// Its trees out of the loads.
  void release(trees::Life& life);
  /// Puts another tree in the place of one, in the loads of engines, too.
  void replace(trees::PlannedTree& tree, trees::PlannedTree with);
  void note_shared(trees::Life& life) const;
  [[nodiscard]] std::vector<topology::HostId> hosts_of(const group::Group& group) const;
  [[nodiscard]] std::optional<trees::PlannedTree>
  routed(const group::Group& group, multicast::Tree tree,
         std::span<const topology::HostId> hosts) const;
  [[nodiscard]] group::Error no_route(const group::Group& group,
                                      std::span<const topology::HostId> hosts);
  [[nodiscard]] group::Routes routes_of(const trees::Life& life) const;

  // tree_installing.cpp
  void install(group::GroupId id);
  void remove(group::GroupId id);
  /// The group is gone.
  void forget(const group::Group& group);
  void finished(const transaction::Outcome& outcome);
  /// "" when that has not failed, or is for no trees that a group still wants.
  [[nodiscard]] std::string group_that_tries_again(const transaction::Outcome& outcome) const;
  /// Says of groups that were behind that they are installed, once they are.
  bool note_in_force();
  /// None when nobody is below the root (a group of one, or whose others have left): its frames
  /// need not go anywhere, and no switch takes a tree without a child.
  [[nodiscard]] std::optional<transaction::Target> target_of(const group::Group& group,
                                                             std::size_t index) const;

  // tree_repair.cpp
  /// Whether every link it crosses is usable, and every member's host hangs where it leads.
  [[nodiscard]] bool intact(const group::Group& group, const trees::PlannedTree& routed) const;
  /// Plans anew what is broken of it; tells switches again that refused.
  void repair(const group::Group& group);
  /// New trees in the place of those that are broken; one of twins keeps off its sibling. False,
  /// and nothing is changed, where there is no path; or none over switches that have room for its
  /// wide frames, and then `why_not` says so.
  [[nodiscard]] bool plan_anew(const group::Group& group, trees::Life& life,
                               std::span<const std::size_t> broken,
                               std::span<const topology::HostId> hosts, std::string& why_not);

  // admission.cpp
  /// An engine that has no descriptors left for one more tree.
  struct FullEngine {
    topology::SwitchId at;
    topology::Port port = 0;
    std::uint32_t has = 0;    ///< descriptors
    std::uint32_t others = 0; ///< trees of other groups
  };
  /// The descriptors of each engine of the switch; nothing when it can never be short of them.
  [[nodiscard]] std::optional<std::uint32_t> scarce_descriptors(topology::SwitchId at) const;
  /// The first engine that other groups have filled. The trees are one group's, and not in the
  /// loads.
  [[nodiscard]] std::optional<FullEngine>
  full_engine_on(std::span<const trees::PlannedTree> trees) const;
  [[nodiscard]] std::vector<topology::LinkId> links_of_full_engines() const;
  [[nodiscard]] group::Error engine_is_full(const group::Group& group,
                                            const FullEngine& full) const;
  /// As many as the group wants, or none. The planner carries them.
  [[nodiscard]] std::vector<multicast::Tree> planned(const group::Group& group,
                                                     std::span<const topology::HostId> hosts);
  [[nodiscard]] std::vector<trees::PlannedTree> laid(const group::Group& group,
                                                     std::span<const topology::HostId> hosts);
  [[nodiscard]] std::vector<trees::PlannedTree>
  laid_around_full_engines(const group::Group& group, std::span<const topology::HostId> hosts);

  // frame_planning.cpp
  /// The most that a tree can have there, whatever others hold; nothing of one that was not heard.
  [[nodiscard]] records::WideFrames widest_at(topology::SwitchId at) const;
  /// How much memory it has, and who holds it.
  [[nodiscard]] std::string memory_text(topology::SwitchId at) const;
  /// A switch that has no room for the places of these trees, beside all that it holds.
  [[nodiscard]] std::optional<topology::SwitchId>
  without_room(const records::WideFrames& frames, bool turned,
               std::span<const trees::PlannedTree> trees) const;
  /// What a group gets whose first trees these are, and why not more. `turned`: so is its tree.
  [[nodiscard]] group::WideWish agreed_frames(const group::Group& group, bool turned,
                                              std::span<const trees::PlannedTree> trees) const;
  /// Whether a group whose first trees these are has one that is turned round, and why not.
  /// Where nobody has asked for it, it must not cost the group any of its wide frames.
  [[nodiscard]] group::TurnWish agreed_turn(const group::Group& group,
                                            std::span<const trees::PlannedTree> trees) const;
  /// Whether the switch can turn results round; of one that was not heard yet, yes.
  [[nodiscard]] bool turns_at(topology::SwitchId at) const;
  /// What the group's tree of these parts has; `turns` where its switch next to the root can.
  [[nodiscard]] records::WideFrames frames_on(const group::Group& group,
                                              std::span<const multicast::TreePart> parts) const;
  /// Whether switches were told to turn the tree round where they can, and not where they cannot.
  [[nodiscard]] bool is_told_to_turn(const group::Group& group, std::size_t index,
                                     std::span<const multicast::TreePart> parts) const;
  /// A switch had less room than was known: the group gets less, if its members have not been told
  /// yet what it has.
  [[nodiscard]] bool narrow_after_refusal(const group::Group& group, const std::string& refusal);
  /// An event: it has less than it would have with more memory in switches.
  void tell_short_of_room(const group::Group& group);
  /// Those parts that have a place in their switch's memory.
  [[nodiscard]] static std::vector<multicast::TreePart>
  occupying(std::span<const multicast::TreePart> parts);
  void hold_memory(const group::Group& group, const trees::Life& life);
  void settle_memory(const group::Group& group);
  /// Why a switch cannot have this tree of the group's, as wide as it is; "" when it can.
  [[nodiscard]] std::string why_not_carried(const group::Group& group, TreeNumber tree,
                                            topology::SwitchId at,
                                            const records::WideFrames& place) const;
  [[nodiscard]] std::string why_not_carried(const group::Group& group, std::size_t index,
                                            std::span<const multicast::TreePart> parts) const;
  /// Whether all switches that were heard know wide frames such as the group's.
  [[nodiscard]] bool knows_wide_frames(const group::Group& group,
                                       std::span<const multicast::TreePart> parts) const;
  [[nodiscard]] multicast::Tree weight_of_switches_without_room(const group::Group& group) const;

  // rebalance.cpp
  /// The trees of a group as they are and as they could be; the planner and the loads of engines
  /// carry the new ones.
  struct Improvement {
    group::GroupId group;
    std::vector<trees::PlannedTree> before;
    std::vector<trees::PlannedTree> after;
    std::string why;
  };
  struct RebalanceAsked {
    api::Reply reply;
    bool dry_run = false;
  };
  [[nodiscard]] bool may_move(const group::Group& group) const;
  [[nodiscard]] std::optional<std::vector<trees::PlannedTree>>
  fitted(const group::Group& group, std::vector<multicast::Tree> trees,
         std::span<const topology::HostId> hosts);
  [[nodiscard]] std::optional<Improvement> improved(const group::Group& group);
  void relieve_fullest(const std::vector<const group::Group*>& movable, std::size_t most,
                       std::size_t attempts, std::vector<Improvement>& found);
  /// At most so many, with at most so many groups looked at; each is to be applied or taken back.
  [[nodiscard]] std::vector<Improvement> find_improvements(std::size_t most, std::size_t attempts);
  void take_back(const Improvement& one);
  void apply(const Improvement& one);
  [[nodiscard]] boost::json::object json_of(const Improvement& one);
  void rebalance_as_asked();
  void rebalance_by_itself();
  /// The topology or the groups have changed.
  void rebalance_later();

  // job_requests.cpp and group_requests.cpp
  /// The job that a request is about and that may be changed now; or it is answered already.
  [[nodiscard]] std::optional<std::string> job_to_change(const api::Caller& caller,
                                                         const std::string& wanted,
                                                         const api::Reply& reply) const;
  /// A 422 for hosts that were there before the start and whose switches are still waited for is a
  /// 409, which passes by itself.
  [[nodiscard]] group::Error or_not_back_yet(group::Error error, std::span<const Nid> nids);
  // looking.cpp
  [[nodiscard]] api::Views views() const { return {sight_, time()}; }
  [[nodiscard]] const std::vector<std::string>& miscabled();

  // fault_requests.cpp
  [[nodiscard]] static std::optional<topology::HostId> host_called(const topology::Graph& graph,
                                                                   const std::string& text);
  [[nodiscard]] std::vector<std::string> trees_through(topology::SwitchId at) const;
  [[nodiscard]] api::DrainState drain_state(topology::SwitchId at) const;

  Settings settings_;
  Environment& environment_;
  StallDetector stalls_;
  WorkBeside beside_; ///< what takes longer than a turn may
  ManagerClock clock_;
  TimeNs topology_changed_at_{};
  topology::Discovery discovery_;
  /// What trees may be planned over: the live graph without the switches that have no channel.
  topology::Graph planning_graph_;
  bool planning_graph_is_old_ = false;
  multicast::Planner planner_; ///< knows what the planning graph knows; see planner()
  trees::TreeKind tree_kind_;
  routes::RouteKind route_kind_;
  job::PortKind port_kind_;
  transaction::Coordinator coordinator_;
  group::Registry registry_;
  trees::Lives lives_; ///< the planner carries the loads of their trees, as does `engines_`
  SwitchTable switches_;
  Events events_;
  StoreWriter store_;
  Access access_;
  Replies replies_;
  TouchedJobs touched_;
  RouteControl control_; ///< unicast routes and faults
  RdmaControl rdma_;     ///< retransmit handling
  NodeReports nodes_;
  AllocationLeases leases_;
  JobPorts ports_;
  Allocations allocations_;

  trees::EngineLoads engines_;
  trees::WideMemory memory_; ///< of switches, for wide frames
  const api::Sight sight_{discovery_, registry_, settings_.groups, coordinator_,       lives_,
                          engines_,   memory_,   planner_,         switches_.reports()};
  GroupWaiters waiters_{clock_, registry_, sight_, replies_};
  std::set<std::uint32_t> located_; ///< NIDs the registry takes for located
  struct Untold {
    std::vector<topology::Change> changes;
    std::size_t next = 0;
  };
  std::deque<Untold> untold_;          ///< in events and to faults
  std::set<group::GroupId> repairing_; ///< told of a new tree, which is not in force yet
  struct Unlocated {
    std::set<Nid> nids;
    bool are_touched = false; ///< they are to be stored, too
  };
  std::deque<Unlocated> unlocated_; ///< not looked at since something changed there

  Endings endings_;
  std::vector<RebalanceAsked> rebalance_asked_;
  TimeNs rebalance_at_ = never;
  group::GroupId rebalance_from_{}; ///< where looking goes on
  std::size_t rebalance_tried_ = 0; ///< groups looked at since something changed
  bool rebalance_ended_ = false;    ///< all were, and none can be better
  std::uint64_t moves_ = 0;
  std::uint64_t turn_ = 1;
  TimeNs turn_began_{};   ///< at the time of the environment
  RepairRound to_repair_; ///< to be looked at, for the topology has changed
  bool repair_is_next_ = false;
  bool turn_wanted_ = false; ///< while a write was under way
  std::vector<std::function<void()>> held_back_;
  std::string turning_away_;                          ///< why switches are, "" when they are not
  std::set<topology::SwitchId> reachability_changed_; ///< got or lost their channel
  std::uint64_t repairs_ = 0;
  std::uint64_t topology_version_ = 1;
  /// Of the expected topology, and the version of the graph it was found of.
  std::vector<std::string> miscabled_;
  std::uint64_t miscabled_version_ = 0;
};

} // namespace tributary::manager
