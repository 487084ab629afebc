// The register of jobs, groups and members: their state, and what each may have.
//
// A caller (the manager) runs the same steps after each call or after a few calls:
//
//   auto joined = registry.join(caller's request, now);
//   store.apply(registry.take_changes());          on disk before any client is notified
//   for (auto& action : registry.take_actions())   compute, install, remove; send answers
//     ...
//   wake me at registry.next_deadline() to call registry.poll(now)
//
// The transitions of each state are one table, state_machine.hpp; docs/protocol/groups.md explains
// it. Routes are computed once, when all members have asked and a switch has learned every host;
// members that leave or whose leases run out cause no computation. No request of a client makes it
// throw: bad requests are answered with an Error. Look-ups are by ordered or hashed keys, deadlines
// in ordered queues, so thousands of groups may be pending.
//
// Pure: time, random numbers and the stored state are handed in. All calls from one thread.
#pragma once

#include "controlplane/group/actions.hpp"
#include "controlplane/group/deadline_queue.hpp"
#include "controlplane/group/error.hpp"
#include "controlplane/group/group.hpp"
#include "controlplane/group/journal.hpp"
#include "controlplane/group/number_pool.hpp"
#include "controlplane/group/requests.hpp"
#include "controlplane/group/root_choice.hpp"
#include "controlplane/group/state_machine.hpp"
#include "controlplane/group/token_table.hpp"
#include "controlplane/group/vni_table.hpp"
#include "controlplane/records/records.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::group {

struct Settings {
  std::uint64_t join_limit_ns = 30'000'000'000;  ///< time for all members to join
  std::uint64_t leave_limit_ns = 30'000'000'000; ///< time for all to leave once one has
  std::uint64_t lease_ns = 30'000'000'000;
  std::uint32_t default_multicast_limit = 64; ///< groups of a job without a limit of its own
  std::uint32_t max_group_size = 65'536;      ///< members
  /// Descriptors that a tree may hold of each engine on its path; 0: not counted.
  std::uint32_t descriptors_per_tree = reductions_per_tree;
  Vni first_vni{1024}; ///< assigned to jobs that bring none
  Vni last_vni{65535};
  /// How long no other job gets a VNI that a job has lost.
  std::uint64_t vni_quarantine_ns = 300'000'000'000;
  /// The most wide frames a group gets; the group or its members may want less. Default: none.
  WideFrames frames{};
  /// Whether groups without a preference get in-switch results, where the switch next to the root
  /// and all members support them.
  bool in_switch_results = true;
  /// Whether any member of a group may multicast on its trees, where all their switches can.
  bool shared_frames = true;
};

/// The only hosts and VNIs that a job's groups may use, in any order; nothing: any.
struct JobBounds {
  std::optional<std::vector<Nid>> hosts;
  std::optional<std::vector<Vni>> vnis;
  /// Assign a VNI immediately, if it brings none, and not with its first group.
  bool give_out_vni = false;
};

struct MulticastRequest {
  std::string job;
  std::string step;
  std::vector<Nid> members; ///< by rank
  Vni vni;
  std::uint64_t timeout_us = 0;
};

/// The computed routes of a group: one form for each tree wanted.
struct Routes {
  struct Route {
    records::TreeForm form;
    /// Tree numbers below this one fit every switch of the tree.
    std::uint32_t number_limit = max_trees;
  };
  std::vector<Route> trees;
  /// For a group's first routes: its wide frames, and why not more. Later routes keep them.
  WideFrames frames{};
  std::string frames_note;
  /// Likewise: whether the switch next to the root sends in-switch results, and why not.
  bool in_switch = false;
  std::string in_switch_note;
};

class Registry {
public:
  /// Continues from the snapshot: leases and time limits start again at `now`, and the actions that
  /// were in progress are issued again. A default Snapshot is an empty store.
  Registry(const Settings& settings, RandomSource random, const records::Snapshot& past,
           TimeNs now);

  // ---- jobs (administrator) ----

  /// A conflict when the job exists or is still being deleted, or another job has one of its VNIs;
  /// exhausted when a VNI has to be assigned and none is free.
  Result<const Job*> create_job(const std::string& id, std::optional<std::uint32_t> multicast_limit,
                                JobBounds bounds = {}, TimeNs now = {});
  /// Groups beyond a lower limit continue; new ones are refused until there are fewer.
  Result<const Job*> set_limit(std::string_view job, std::uint32_t multicast_limit);
  /// Replaces the allocation. Nothing: removes it.
  Result<const Job*> set_allocation(std::string_view job,
                                    std::optional<records::Allocation> allocation);
  /// Ends the groups of these steps. Returns how many there were.
  Result<std::size_t> end_steps(std::string_view job, std::span<const std::string> steps,
                                TimeNs now);
  /// Its token ends immediately, its groups are destroyed, then the job is removed.
  Result<std::size_t> delete_job(std::string_view job, TimeNs now);
  /// nullptr when it does not exist or is being deleted.
  [[nodiscard]] const Job* find_job(std::string_view id) const;
  /// The job's allocation; nullptr when it has none.
  [[nodiscard]] const records::Allocation* find_allocation(std::string_view job) const;
  /// The job with this token; `unknown_token` also for the token of a job that has ended.
  [[nodiscard]] Result<const Job*> job_of_token(std::string_view token) const;

  /// Why a job may not report this host in these VNIs, or "".
  [[nodiscard]] std::string refuse_report(std::string_view job, Nid nid,
                                          std::span<const Vni> vnis) const;
  /// Whether a job may name this host: one on its list, or any if it has no list.
  [[nodiscard]] bool may_speak_of(std::string_view job, Nid nid) const;
  /// Whether this token belonged to the job, which has ended.
  [[nodiscard]] bool has_ended(std::string_view token, std::string_view job) const;

  // ---- groups ----

  /// Returns the group if it exists and agrees, otherwise creates it.
  Result<const Group*> create_group(const GroupRequest& request, TimeNs now);
  /// Creates the group if necessary. Repeating the request is not a second join.
  Result<const Group*> join(const JoinRequest& request, TimeNs now);
  /// nullptr when the group is gone by that.
  Result<const Group*> leave(std::string_view job, std::string_view group, std::uint32_t rank,
                             TimeNs now);
  Result<const Group*> renew(std::string_view job, std::string_view group, std::uint32_t rank,
                             TimeNs now);
  /// A group with the same job, step, members and VNI whose address no client was sent yet is
  /// returned again: a client that had to ask twice gets one group.
  Result<const Group*> create_multicast(const MulticastRequest& request, TimeNs now);
  /// The address of this multicast was sent to a client. A ready multicast whose address was not
  /// sent ends after `join_limit_ns`, since no client would delete it.
  void answered(GroupId id);
  /// Also for groups in states other than ready; nullptr when the group is gone by that.
  Result<const Group*> destroy(std::string_view job, std::string_view group, TimeNs now);
  /// The multicast with this tree: a conflict while it is being built.
  Result<const Group*> find_multicast(TreeNumber tree) const;

  // ---- results from the manager ----

  void located(Nid nid, TimeNs now);
  void lost(Nid nid);
  /// Tree numbers in switches' own files are not assigned.
  void reserve_tree(TreeNumber number);
  /// For a group in computing_routes, or a later repair. False: the group no longer wants the
  /// routes, or no tree number is free; the plan is to be released.
  bool routes_ready(GroupId group, const Routes& routes, TimeNs now);
  /// Routes are not computed yet, for this reason. No effect on a group in a later state.
  void routes_postponed(GroupId id, const std::string& why);
  /// The group ends with this error, unless it is running: then it continues, and shows the error.
  void routes_failed(GroupId group, const Error& why, TimeNs now);
  /// All switches of all its trees have installed them.
  void installed(GroupId group, TimeNs now);
  void install_failed(GroupId group, const std::string& why, TimeNs now);
  /// A switch has no room for the wide frames of a group that is being installed: the group now has
  /// `frames`. False when its members may already know the previous value.
  bool narrow(GroupId group, const WideFrames& frames, const std::string& why);
  /// No switch has any of its trees any more.
  void removed(GroupId group, TimeNs now);

  /// For future requests; the range of VNIs stays the same.
  void reconfigure(const Settings& settings);

  // ---- time ----

  void poll(TimeNs now);
  /// When `poll` has to be called; `never`.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- taking requests back ----

  /// Requests on jobs and groups (the two sections at the top) from here until `keep_requests` can
  /// be taken back. Besides them, only `renew`, `reserve_tree` and const functions may be called in
  /// between.
  void begin_requests();
  void keep_requests();
  /// Restores the state at `begin_requests`, except for leases renewed since; changes and actions
  /// since then are dropped.
  void undo_requests();
  /// Adds a change that alters nothing, to test the store with.
  void put_something() { put_address("trees", tree_numbers_); }

  // ---- resulting changes and actions ----

  /// What `take_changes` would return.
  [[nodiscard]] std::span<const records::Change> changes() const { return changes_; }
  /// Since the last call, in order; store them before any answer or action.
  [[nodiscard]] std::vector<records::Change> take_changes();
  [[nodiscard]] std::vector<Action> take_actions();

  // ---- queries ----

  [[nodiscard]] const Group* find(GroupId id) const;
  [[nodiscard]] const Group* find(std::string_view job, std::string_view name) const;
  [[nodiscard]] const Group* find(TreeNumber tree) const;
  [[nodiscard]] std::vector<const Job*> jobs() const;
  /// In order of id, that is, age.
  [[nodiscard]] std::vector<const Group*> groups() const;
  /// The group with the smallest number that is not below `id`; nullptr if none.
  [[nodiscard]] const Group* first_from(GroupId id) const;
  [[nodiscard]] std::vector<const Group*> groups_of(Nid nid) const;
  [[nodiscard]] const VniTable& vnis() const { return vnis_; }
  [[nodiscard]] std::size_t trees_in_use() const { return owner_.size(); }
  [[nodiscard]] const Settings& settings() const { return settings_; }

private:
  using MemberKey = std::pair<GroupId, std::uint32_t>;

  // registry.cpp
  [[nodiscard]] Result<Job*> job_in_use(std::string_view id);
  [[nodiscard]] Result<Group*> group_of(std::string_view job, std::string_view name);
  std::size_t end_groups(const Job& job, const std::function<bool(const Group&)>& which,
                         const std::string& why, TimeNs now);

  // joining.cpp
  /// Forbidden when the job has a list of hosts and one of these is not in it.
  [[nodiscard]] static std::optional<Error> not_among_hosts(const Job& job,
                                                            std::span<const Nid> members);
  [[nodiscard]] std::optional<Error> fault_of(const GroupRequest& request) const;
  [[nodiscard]] std::optional<Error> over_quota(const Job& job, TimeNs now) const;
  [[nodiscard]] Error no_vni_left(const std::string& job, TimeNs now) const;
  Result<Group*> make_group(const GroupRequest& request, Job& job, TimeNs now);
  Group& add_group(Job& job, Group group, TimeNs now);
  [[nodiscard]] std::optional<Error> contradiction(const Group& group, const JoinRequest& request,
                                                   TimeNs now) const;
  void add_member(Group& group, const JoinRequest& request, TimeNs now);
  /// For a member that asks again, perhaps with another interface.
  void note_what_it_takes(Group& group, const JoinRequest& request);
  /// A request asks for, or refuses, in-switch results.
  void note_in_switch(Group& group, const GroupRequest& request);
  [[nodiscard]] Result<Group*> member_of(std::string_view job, std::string_view name,
                                         std::uint32_t rank);
  void extend_lease(Group& group, std::uint32_t rank, TimeNs now);
  Result<bool> depart(Group& group, std::uint32_t rank, Event how, TimeNs now);

  // multicasts.cpp
  [[nodiscard]] const Group* unanswered(const MulticastRequest& request) const;
  [[nodiscard]] std::optional<Error> fault_of(const MulticastRequest& request) const;
  [[nodiscard]] std::optional<Error> no_resources(const MulticastRequest& request, const Job& job,
                                                  TimeNs now) const;

  // routing.cpp
  /// Starts the computation, or ends the group and returns why. If the only possible root of a
  /// multicast is still used by one that is being removed, the computation starts after the
  /// removal.
  std::optional<Error> complete_if_all_there(Group& group, TimeNs now);
  /// A multicast that is being removed and whose root this one could use; null if none.
  [[nodiscard]] const Group* gives_root_up(std::span<const Nid> members) const;
  void root_is_free(Nid nid, TimeNs now);
  [[nodiscard]] Error no_root(const std::string& whose, std::span<const Nid> members,
                              TimeNs now) const;
  [[nodiscard]] std::optional<Error> give_numbers(Group& group, const Routes& routes, TimeNs now);
  [[nodiscard]] Error no_number_left(std::uint32_t limit, TimeNs now) const;
  [[nodiscard]] Cookie make_cookie(const Group& group) const;
  void fail(GroupId id, Event event, const Error& why, TimeNs now);

  // life.cpp
  /// Applies the table: true when accepted; then the state is changed with all that belongs to it.
  /// A group that ends by that no longer exists on return.
  Result<bool> apply(Group& group, Event event, TimeNs now);
  [[nodiscard]] static Error error_of(const Group& group, const Transition& result);
  void enter(Group& group, GroupState state, TimeNs now);
  void end(Group& group, Event event, Error why, TimeNs now);
  void forget(Group& group, TimeNs now);
  void forget_job_if_over(const Job& job, TimeNs now);
  void release_vni(Vni vni, TimeNs now);
  void put(const Group& group);
  void put(const Job& job);
  void put_member(const Group& group, std::uint32_t rank);
  void put_address(const std::string& space, const NumberPool& pool);
  void changed(const Group& group);

  // undoing.cpp
  void undo_jobs();
  void undo_groups();
  void derive_again();

  // restoring.cpp
  void restore_jobs(const records::Snapshot& past);
  void restore_vnis(const records::Snapshot& past, TimeNs now);
  void restore_groups(const records::Snapshot& past, TimeNs now);
  void compute_again(Group& group);
  void resume(Group& group, TimeNs now);

  Settings settings_;
  RandomSource random_;
  std::uint64_t next_group_; ///< the epoch in the upper half, a counter in the lower

  std::map<std::string, Job, std::less<>> jobs_;
  std::map<GroupId, Group> groups_;
  /// The rank of a host in each of its groups.
  std::map<std::pair<Nid, GroupId>, std::uint32_t> rank_at_;
  Roots roots_;
  std::map<TreeNumber, GroupId> owner_;
  std::set<Nid> located_;
  std::set<GroupId> unanswered_; ///< groups with `Group::unanswered`

  NumberPool tree_numbers_;
  std::set<TreeNumber> reserved_;
  VniTable vnis_;
  TokenTable tokens_;

  DeadlineQueue<GroupId> limits_;
  DeadlineQueue<MemberKey> leases_;

  void keep(records::Change change) { changes_.push_back(std::move(change)); }

  Journal journal_;
  std::size_t changes_kept_ = 0; ///< number of changes at `begin_requests`
  std::size_t actions_kept_ = 0;
  std::vector<records::Change> changes_;
  std::vector<Action> actions_;
};

} // namespace tributary::group
