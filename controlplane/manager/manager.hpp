// The fabric manager: what hosts ask for and what switches report, brought together.
//
//   hosts --HTTP--> requests --> group::Registry ---- ComputeRoutes --> multicast::Planner
//                                    ^   | Install, Remove                     |
//                                    |   v                                    v
//   switches <------------------- install::Coordinator <------------- trees, oriented
//        |                                                                 ^
//        +-- ports, neighbours --> topology::Discovery -- what broke ------+
//
// Nothing is done twice over: each room decides its own part, and the manager carries one room's
// answer to the next. How it is driven:
//
//   Manager manager(settings, surroundings, random, past);
//   ... calls of rest::Service and install::ChannelSink, in any order ...
//   manager.settle();    when the surroundings were asked for it, and at next_deadline()
//
// `settle` is where all consequences happen: rooms are asked for what they want done until none
// wants anything; then everything that changed is stored, in one transaction; and only then are
// requests answered and switches told. So thousands of joins that came together cost one write, and
// nothing is acknowledged that a crash could lose. When the store takes nothing (disk full),
// changes are refused with 503 and kept for later; what runs goes on, and faults are repaired.
//
// After a restart the topology is as it was last seen, the stored trees are wanted, and switches
// are given `patience` to come back before anything is computed anew.
//
// A tree is planned over switches that have a channel; one whose channel is lost goes on carrying
// what it has.
//
// Files: manager.cpp (construction, settling, switches), routes.cpp (trees of groups, faults),
// requests.cpp (rest::Service), views.cpp and metrics.cpp (what people see).
//
// Pure: one thread, no clock, no I/O but through Surroundings.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/install/channel_sink.hpp"
#include "controlplane/install/coordinator.hpp"
#include "controlplane/manager/event_log.hpp"
#include "controlplane/manager/surroundings.hpp"
#include "controlplane/manager/tree_form.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/rest/service.hpp"
#include "controlplane/store/backlog.hpp"
#include "controlplane/topology/discovery.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::manager {

struct Settings {
  std::string name = "fabric";
  /// The job of callers without a token; "" for none.
  std::string open_job;
  group::Settings groups;
  multicast::PlannerSettings planner;
  topology::DiscoverySettings discovery;
  /// How long switches are waited for after a start, and a repair that failed waits for the next
  /// attempt.
  std::uint64_t patience_ns = 3'500'000'000;
  std::uint64_t repair_pause_ns = 500'000'000;
  /// How the fabric should be cabled; what is found is checked against it.
  std::optional<topology::Graph> expected;
};

class Manager final : public rest::Service, public install::ChannelSink {
public:
  /// Throws std::runtime_error when the stored past makes no sense.
  Manager(const Settings& settings, Surroundings& surroundings, group::RandomSource random,
          const store::Snapshot& past);
  ~Manager() override;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void settle();
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- install::ChannelSink ----

  std::optional<std::string> connected(install::SessionNumber session,
                                       const control::SwitchHello& hello) override;
  void message(install::SessionNumber session, const control::SwitchMessage& message) override;
  void lost(install::SessionNumber session, std::string_view why) override;

  // ---- rest::Service ----

  void create_job(const rest::Caller& caller, const rest::JobRequest& request,
                  rest::Reply reply) override;
  void get_job(const rest::Caller& caller, const std::string& job, rest::Reply reply) override;
  void list_jobs(const rest::Caller& caller, rest::Reply reply) override;
  void patch_job(const rest::Caller& caller, const rest::JobPatch& patch,
                 rest::Reply reply) override;
  void delete_job(const rest::Caller& caller, const std::string& job, rest::Reply reply) override;
  void create_multicast(const rest::Caller& caller, const rest::MulticastRequest& request,
                        rest::Reply reply) override;
  void delete_multicast(const rest::Caller& caller, TreeNumber tree, rest::Reply reply) override;
  void create_group(const rest::Caller& caller, const rest::GroupRequest& request,
                    rest::Reply reply) override;
  void join_group(const rest::Caller& caller, const rest::JoinRequest& request,
                  rest::Reply reply) override;
  void leave_group(const rest::Caller& caller, const rest::MemberRequest& request,
                   rest::Reply reply) override;
  void renew_lease(const rest::Caller& caller, const rest::MemberRequest& request,
                   rest::Reply reply) override;
  void get_group(const rest::Caller& caller, const std::string& job, const std::string& name,
                 rest::Reply reply) override;
  void delete_group(const rest::Caller& caller, const std::string& job, const std::string& name,
                    rest::Reply reply) override;
  void view(const rest::Caller& caller, rest::View what, const std::optional<std::string>& id,
            rest::Reply reply) override;
  std::string metrics() override;
  std::string not_ready_because() override;
  std::optional<rest::Answer> refuse_events(const rest::Caller& caller) override;
  std::function<void()> subscribe(std::uint64_t after,
                                  std::function<void(const rest::Event&)> sink) override;

  // ---- looking ----

  [[nodiscard]] const topology::Graph& graph() const { return discovery_.graph(); }
  [[nodiscard]] const group::Registry& groups() const { return registry_; }
  [[nodiscard]] const install::Coordinator& coordinator() const { return coordinator_; }

private:
  /// The trees of one group whose load the planner carries.
  struct Routing {
    std::vector<RoutedTree> trees;
    /// Names of switches and cables that twins share.
    std::vector<std::string> shared;
  };
  /// Transactions that one group waits for.
  struct Awaited {
    std::set<install::TransactionNumber> open;
    std::string failure; ///< of the first that did not become
  };
  /// A request that is answered when its group has come so far.
  struct Waiter {
    rest::Reply reply;
    TimeNs until = never;
    std::optional<std::uint32_t> rank; ///< a membership is asked for; otherwise a multicast
  };
  struct Answered {
    rest::Reply reply;
    rest::Answer answer;
    bool changes = false; ///< says that something was changed
  };
  struct SwitchState {
    install::SessionNumber session;
    bool connected = false;
    control::Limits limits;
    std::string software;
    TimeNs heard{};
    std::map<std::uint32_t, control::PortStatistics> ports;
    std::map<std::uint32_t, control::TreeStatistics> trees;
    std::uint32_t descriptors_in_use = 0;
  };

  // manager.cpp
  [[nodiscard]] TimeNs now() { return surroundings_.now(); }
  void restore(const store::Snapshot& past);
  bool handle_actions();
  bool handle_outcomes();
  bool handle_topology();
  void store_changes();
  void give_answers();
  void tell_switches();
  void event(std::string kind, std::string text, boost::json::object body = {});
  void disconnect(install::SessionNumber session);
  void note_located();
  /// Shortly after a start, while switches that were there before are not back.
  [[nodiscard]] bool waits_for_switches();

  // routes.cpp
  /// Finds trees for a group. Where there is no way, it waits for one until the fabric has been as
  /// it is for a while: a switch that has just come has cables that are not known yet.
  void compute(group::GroupId id);
  void compute_postponed(bool topology_changed);
  void install(group::GroupId id);
  void remove(group::GroupId id);
  void finished(const install::Outcome& outcome);
  /// Says of groups that were behind that they are installed, once they are.
  void settle_behind();
  void adopt(const group::Group& group);
  void release(group::GroupId id);
  [[nodiscard]] install::TreeTarget target_of(const group::Group& group, std::size_t index) const;
  /// Whether every cable it crosses is usable, and every member's host hangs where it leads.
  [[nodiscard]] bool intact(const group::Group& group, const RoutedTree& routed) const;
  [[nodiscard]] std::vector<topology::HostId> hosts_of(const group::Group& group) const;
  [[nodiscard]] std::optional<RoutedTree> routed(const group::Group& group, multicast::Tree tree,
                                                 std::span<const topology::HostId> hosts) const;
  [[nodiscard]] group::Refusal no_route(const group::Group& group,
                                        std::span<const topology::HostId> hosts) const;
  [[nodiscard]] group::Routes routes_of(const Routing& routing) const;
  void note_shared(Routing& routing) const;
  /// Plans anew what is broken: after a change of the topology every group is looked at, otherwise
  /// those whose next attempt is due.
  void repair();
  void repair(const group::Group& group);
  void copy_graph();

  // requests.cpp
  [[nodiscard]] group::Result<std::string> job_for(const rest::Caller& caller,
                                                   const std::string& wanted) const;
  /// The job that a request is about; or it is answered already: the caller may not.
  [[nodiscard]] std::optional<std::string>
  job_to_see(const rest::Caller& caller, const std::string& wanted, const rest::Reply& reply) const;
  /// The same for a request that changes something, which must be possible now.
  [[nodiscard]] std::optional<std::string> job_to_change(const rest::Caller& caller,
                                                         const std::string& wanted,
                                                         const rest::Reply& reply) const;
  [[nodiscard]] rest::Answer store_refusal() const;
  /// Answers, and says true, when no change can be taken on now.
  bool refused(const rest::Reply& reply) const;
  void answer(rest::Reply reply, rest::Answer answer, bool changes);
  void wake_waiters(const group::Group& group);
  void time_out_waiters(TimeNs now);
  [[nodiscard]] std::optional<rest::Answer> final_answer(const group::Group& group,
                                                         const Waiter& waiter) const;

  // views.cpp
  [[nodiscard]] boost::json::object json_of(const group::Group& group) const;
  [[nodiscard]] boost::json::object membership(const group::Group& group, std::uint32_t rank) const;
  [[nodiscard]] boost::json::array switches_json() const;
  [[nodiscard]] boost::json::array hosts_json() const;
  [[nodiscard]] boost::json::array links_json() const;
  [[nodiscard]] boost::json::array trees_json() const;
  [[nodiscard]] boost::json::array transactions_json() const;
  [[nodiscard]] boost::json::array jobs_json() const;
  [[nodiscard]] boost::json::object topology_json() const;
  [[nodiscard]] boost::json::object tree_json(const group::Group& group, std::size_t index) const;
  [[nodiscard]] std::string other_end(topology::Attachment end) const;
  /// Trees that cross a cable; 0 for one that was found since the last settling.
  [[nodiscard]] std::uint32_t efi_of(topology::CableId cable) const;

  Settings settings_;
  Surroundings& surroundings_;
  TimeNs started_;
  TimeNs topology_changed_at_{};
  topology::Discovery discovery_;
  /// What trees may be planned over: the live graph without the switches that have no channel.
  topology::Graph planning_graph_;
  multicast::Planner planner_;
  install::Coordinator coordinator_;
  group::Registry registry_;

  std::vector<SwitchState> switches_; ///< by SwitchId
  std::map<install::SessionNumber, topology::SwitchId> sessions_;
  std::map<group::GroupId, Routing> routings_;
  std::map<group::GroupId, Awaited> installing_;
  std::map<group::GroupId, Awaited> removing_;
  std::map<install::TransactionNumber, group::GroupId> transactions_;
  /// Decided everywhere, and not in force in some switch yet.
  std::set<group::GroupId> behind_;
  std::map<group::GroupId, TimeNs> compute_at_; ///< there was no way, and when to give up
  std::map<group::GroupId, TimeNs>
      repair_at_;                       ///< what could not be repaired, and when to try again
  std::vector<group::Action> deferred_; ///< until the switches are back after a start
  std::set<std::uint32_t> located_;     ///< NIDs the registry takes for located

  std::multimap<group::GroupId, Waiter> waiters_;
  std::vector<Answered> answers_;
  store::Backlog unstored_;
  std::string store_trouble_; ///< "" when the store takes what it is given
  TimeNs store_again_ = never;
  bool topology_to_store_ = false;
  bool reachability_changed_ = false; ///< a switch got or lost its channel
  bool repair_all_ = false;
  EventLog events_;
  std::uint64_t repairs_ = 0;
};

} // namespace tributary::manager
