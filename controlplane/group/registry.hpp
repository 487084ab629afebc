// The register of jobs, groups and members: who may have what, and in which state it is.
//
// A caller (the manager) does the same after every call or a few of them:
//
//   auto joined = registry.join(caller's request, now);
//   store.apply(registry.take_changes());          on disk before anybody hears of it
//   for (auto& action : registry.take_actions())   compute, install, remove; tell those who wait
//     ...
//   wake me at registry.next_deadline() to call registry.poll(now)
//
// What happens in which state is one table, state_machine.hpp; docs/protocol/groups.md explains it.
// Routes are computed once, when all members have asked and a switch has heard of every host;
// members that leave or whose leases run out cause no computation. Nothing a caller can send
// throws: it is answered with a Error. Look-ups are by ordered or hashed keys, deadlines in
// ordered queues, so thousands of groups may be pending.
//
// Pure: time, random numbers and the stored past are handed in. All calls from one thread.
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
  std::uint64_t join_limit_ns = 30'000'000'000;  ///< for all members to join
  std::uint64_t leave_limit_ns = 30'000'000'000; ///< for all to leave once one has
  std::uint64_t lease_ns = 30'000'000'000;
  std::uint32_t default_multicast_limit = 16; ///< groups of a job that names no limit
  std::uint32_t max_group_size = 65'536;      ///< members
  /// Descriptors that a tree may hold of each engine on its path; 0: they are not counted.
  std::uint32_t descriptors_per_tree = reductions_per_tree;
  Vni first_vni{1024}; ///< given out to jobs that bring none
  Vni last_vni{65535};
  /// For which no other job gets a VNI that a job has lost.
  std::uint64_t vni_quarantine_ns = 300'000'000'000;
  /// What a group gets of wide frames, unless it or one of its members wants less; by default none.
  WideFrames frames{};
  /// Whether results of a group that does not say are turned round by the switch next to its root,
  /// where that switch and all members can.
  bool turn = true;
};

/// What a job's groups are limited to, in any order; nothing: any.
struct JobBounds {
  std::optional<std::vector<Nid>> hosts;
  std::optional<std::vector<Vni>> vnis;
  /// One is given out at once, where it brings none, and not with its first group.
  bool give_out_vni = false;
};

struct MulticastRequest {
  std::string job;
  std::string step;
  std::vector<Nid> members; ///< by rank
  Vni vni;
  std::uint64_t timeout_us = 0;
};

/// The routes of a group, as computed: one form for each tree wanted.
struct Routes {
  struct Route {
    records::TreeForm form;
    /// Tree numbers below this one fit every switch of the tree.
    std::uint32_t number_limit = max_trees;
  };
  std::vector<Route> trees;
  /// Of a group's first routes: what it has of wide frames, and why not more. Later ones are for
  /// what it has.
  WideFrames frames{};
  std::string frames_note;
  /// Likewise: whether the switch next to the root turns results round, and why not.
  bool turned = false;
  std::string turn_note;
};

class Registry {
public:
  /// Goes on where the snapshot ends: leases and time limits begin anew at `now`, and the actions
  /// that were under way are given out again. A default Snapshot is an empty store.
  Registry(const Settings& settings, RandomSource random, const records::Snapshot& past,
           TimeNs now);

  // ---- jobs (administrator) ----

  /// A conflict when it exists or still ends, or another job has one of its VNIs; exhausted when
  /// one is to be given out and none is left.
  Result<const Job*> create_job(const std::string& id, std::optional<std::uint32_t> multicast_limit,
                                JobBounds bounds = {}, TimeNs now = {});
  /// Groups beyond a lower limit go on; no new one comes until there are fewer.
  Result<const Job*> set_limit(std::string_view job, std::uint32_t multicast_limit);
  /// In the place of what it had. Nothing: it has none any more.
  Result<const Job*> set_allocation(std::string_view job,
                                    std::optional<records::Allocation> allocation);
  /// The groups of these steps end. Answers how many did.
  Result<std::size_t> end_steps(std::string_view job, std::span<const std::string> steps,
                                TimeNs now);
  /// Its token ends at once, its groups are destroyed, then it is gone.
  Result<std::size_t> delete_job(std::string_view job, TimeNs now);
  /// nullptr when there is none or it is ending.
  [[nodiscard]] const Job* find_job(std::string_view id) const;
  /// The job's; nullptr when it has none.
  [[nodiscard]] const records::Allocation* find_allocation(std::string_view job) const;
  /// The job whose token this is; `unknown_token` also for one of a job that ended.
  [[nodiscard]] Result<const Job*> job_of_token(std::string_view token) const;

  /// Why a job may not speak for this host in these VNIs, or "".
  [[nodiscard]] std::string refuse_report(std::string_view job, Nid nid,
                                          std::span<const Vni> vnis) const;
  /// Whether a job may speak of this host: one that it has, or any if it has no list.
  [[nodiscard]] bool may_speak_of(std::string_view job, Nid nid) const;
  /// Whether this token was the job's, which has ended.
  [[nodiscard]] bool has_ended(std::string_view token, std::string_view job) const;

  // ---- groups ----

  /// The group is there and agrees: answers it. Otherwise creates it.
  Result<const Group*> create_group(const GroupRequest& request, TimeNs now);
  /// Creates the group when it is not there. Asking again is not a second join. A last join that
  /// finds no root for the group ends it and is answered why.
  Result<const Group*> join(const JoinRequest& request, TimeNs now);
  /// nullptr when the group is gone with that.
  Result<const Group*> leave(std::string_view job, std::string_view group, std::uint32_t rank,
                             TimeNs now);
  Result<const Group*> renew(std::string_view job, std::string_view group, std::uint32_t rank,
                             TimeNs now);
  /// One that was asked for with the same job, step, members and VNI, and whose address nobody was
  /// told yet, is answered again: a client that had to ask twice gets one.
  Result<const Group*> create_multicast(const MulticastRequest& request, TimeNs now);
  /// Somebody was answered the address of this multicast. One that is ready and that nobody was
  /// told of ends after `join_limit_ns`, for nobody would ever delete it.
  void told(GroupId id);
  /// Also of groups in other states than ready; nullptr when it is gone with that.
  Result<const Group*> destroy(std::string_view job, std::string_view group, TimeNs now);
  /// The multicast that has this tree: a conflict while it is being built.
  Result<const Group*> find_multicast(TreeNumber tree) const;

  // ---- what the manager found out ----

  void located(Nid nid, TimeNs now);
  void lost(Nid nid);
  /// Tree numbers that switches' own files use are not given out.
  void reserve_tree(TreeNumber number);
  /// For a group in computing_routes, or a repair later on. False: the group does not want them any
  /// more, or there is no number for a tree; what was planned is to be released.
  bool routes_ready(GroupId group, const Routes& routes, TimeNs now);
  /// Routes are not computed yet, for this reason. Nothing happens to a group that is further on.
  void routes_postponed(GroupId id, const std::string& why);
  /// The group ends with this error, unless it is running: then it goes on, and shows it.
  void routes_failed(GroupId group, const Error& why, TimeNs now);
  /// All switches of all its trees have them in force.
  void installed(GroupId group, TimeNs now);
  void install_failed(GroupId group, const std::string& why, TimeNs now);
  /// A switch has no room for what a group that is being installed was to have of wide frames: it
  /// has these now. False when its members may know what it has.
  bool narrow(GroupId group, const WideFrames& frames, const std::string& why);
  /// No switch has any of its trees any more.
  void removed(GroupId group, TimeNs now);

  /// From now on; the range of VNIs stays as it was.
  void reconfigure(const Settings& settings);

  // ---- time ----

  void poll(TimeNs now);
  /// When `poll` has something to do; `never`.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- taking requests back ----

  /// What jobs and groups are asked for from here on (the two sections at the top) may be taken
  /// back until `keep_requests`; nothing else is called in between but `renew`, `reserve_tree` and
  /// looking.
  void begin_requests();
  void keep_requests();
  /// As it was at `begin_requests`, leases that were renewed since excepted; changes and actions
  /// since then are dropped.
  void undo_requests();
  /// Leaves a change that alters nothing, to try the store with.
  void put_something() { put_address("trees", tree_numbers_); }

  // ---- what comes of it ----

  /// Whether one of the changes that `take_changes` would give has to be on disk before anybody
  /// hears of it. Otherwise they may wait for the next that has: a group that a restart finds still
  /// computing its routes, and has them, comes to ready by itself.
  [[nodiscard]] bool changes_are_urgent() const { return urgent_; }
  /// What `take_changes` would give.
  [[nodiscard]] std::span<const records::Change> changes() const { return changes_; }
  /// Since the last call, in order; to be stored before anything is answered or acted upon.
  [[nodiscard]] std::vector<records::Change> take_changes();
  [[nodiscard]] std::vector<Action> take_actions();

  // ---- looking ----

  [[nodiscard]] const Group* find(GroupId id) const;
  [[nodiscard]] const Group* find(std::string_view job, std::string_view name) const;
  [[nodiscard]] const Group* find(TreeNumber tree) const;
  [[nodiscard]] std::vector<const Job*> jobs() const;
  /// By id, that is, by age.
  [[nodiscard]] std::vector<const Group*> groups() const;
  /// The group with the smallest number that is not below `id`; nullptr when there is none.
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
  /// Of a member that asks once more, with another interface perhaps.
  void note_what_it_takes(Group& group, const JoinRequest& request);
  /// Somebody asks for a group that is to be turned round, or is not.
  void note_turn(Group& group, const GroupRequest& request);
  [[nodiscard]] Result<Group*> member_of(std::string_view job, std::string_view name,
                                         std::uint32_t rank);
  void extend_lease(Group& group, std::uint32_t rank, TimeNs now);
  Result<bool> depart(Group& group, std::uint32_t rank, Event how, TimeNs now);

  // multicasts.cpp
  [[nodiscard]] const Group* untold(const MulticastRequest& request) const;
  [[nodiscard]] std::optional<Error> fault_of(const MulticastRequest& request) const;
  [[nodiscard]] std::optional<Error> no_resources(const MulticastRequest& request, const Job& job,
                                                  TimeNs now) const;

  // routing.cpp
  /// Starts the computation, or ends the group and answers why there is none. A group whose root is
  /// yet to be given up by one that is being removed goes on when that is gone.
  std::optional<Error> complete_if_all_there(Group& group, TimeNs now);
  /// A group that is being removed and whose root could be this one's; null when there is none.
  [[nodiscard]] const Group* gives_root_up(std::span<const Nid> members,
                                           std::optional<std::uint32_t> wanted) const;
  void root_is_free(Nid nid, TimeNs now);
  [[nodiscard]] Error no_root(const std::string& whose, std::span<const Nid> members,
                              std::optional<std::uint32_t> wanted, TimeNs now) const;
  [[nodiscard]] std::optional<Error> give_numbers(Group& group, const Routes& routes, TimeNs now);
  [[nodiscard]] Error no_number_left(std::uint32_t limit, TimeNs now) const;
  [[nodiscard]] Cookie make_cookie(const Group& group) const;
  void fail(GroupId id, Event event, const Error& why, TimeNs now);

  // life.cpp
  /// What the table says: true when accepted, and then the state is changed and what belongs to it
  /// done. A group that is gone by that no longer exists when this returns.
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
  std::uint64_t next_group_; ///< the epoch above, a counter below

  std::map<std::string, Job, std::less<>> jobs_;
  std::map<GroupId, Group> groups_;
  /// Which rank of which groups a host is.
  std::map<std::pair<Nid, GroupId>, std::uint32_t> rank_at_;
  Roots rooted_;
  std::map<TreeNumber, GroupId> owner_;
  std::set<Nid> located_;
  std::set<GroupId> untold_; ///< those with `Group::untold`

  NumberPool tree_numbers_;
  std::set<TreeNumber> reserved_;
  VniTable vnis_;
  TokenTable tokens_;

  DeadlineQueue<GroupId> limits_;
  DeadlineQueue<MemberKey> leases_;

  void keep(records::Change change, bool urgent = true);

  Journal journal_;
  std::size_t changes_kept_ = 0; ///< when the journal was begun
  std::size_t actions_kept_ = 0;
  std::vector<records::Change> changes_;
  bool urgent_ = false; ///< one of them
  std::vector<Action> actions_;
};

} // namespace tributary::group
