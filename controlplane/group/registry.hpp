// The book of jobs, groups and members: who may have what, and in which state it is.
//
// A caller (the manager) does the same after every call or a few of them:
//
//   auto joined = registry.join(caller's wishes, now);
//   store.apply(registry.take_changes());          on disk before anybody hears of it
//   for (auto& action : registry.take_actions())   compute, install, remove; tell those who wait
//     ...
//   wake me at registry.next_deadline() to call registry.poll(now)
//
// What happens in which state is one table, state_machine.hpp; docs/protocol/groups.md explains it.
// Routes are computed once, when all members have asked and a switch has heard of every host;
// members that leave or whose leases run out cause no computation. Nothing a caller can send
// throws: it is answered with a Refusal. Look-ups are by ordered or hashed keys, deadlines in
// ordered queues, so thousands of groups may be pending.
//
// Pure: time, random numbers and the stored past are handed in. All calls from one thread.
#pragma once

#include "controlplane/group/actions.hpp"
#include "controlplane/group/deadline_queue.hpp"
#include "controlplane/group/group.hpp"
#include "controlplane/group/number_pool.hpp"
#include "controlplane/group/refusal.hpp"
#include "controlplane/group/root_choice.hpp"
#include "controlplane/group/state_machine.hpp"
#include "controlplane/group/token_book.hpp"
#include "controlplane/group/vni_book.hpp"
#include "controlplane/store/records.hpp"
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
  Vni first_vni{1024};                        ///< given out to jobs that bring none
  Vni last_vni{65535};
};

/// What a group must agree in, whoever asks for it first.
struct GroupWish {
  std::string job;
  std::string name;
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank = std::nullopt;
};
struct JoinWish {
  GroupWish group;
  std::uint32_t rank = 0;
  Nid nid;
  std::string host;
};
struct MulticastWish {
  std::string job;
  std::string step;
  std::vector<Nid> members; ///< by rank
  Vni vni;
  std::uint64_t timeout_us = 0;
};

/// The routes of a group, as computed: one form for each tree wanted.
struct Routes {
  struct Route {
    store::TreeForm form;
    /// Tree numbers below this one fit every switch of the tree.
    std::uint32_t number_limit = max_trees;
  };
  std::vector<Route> trees;
};

class Registry {
public:
  /// Goes on where the snapshot ends: leases and time limits begin anew at `now`, and the actions
  /// that were under way are given out again. A default Snapshot is an empty store.
  Registry(const Settings& settings, RandomSource random, const store::Snapshot& past, TimeNs now);

  // ---- jobs (administrator) ----

  /// 409 when it exists or still ends.
  Result<const Job*> create_job(const std::string& id,
                                std::optional<std::uint32_t> multicast_limit);
  /// The groups of these steps end. Answers how many did.
  Result<std::size_t> end_steps(std::string_view job, std::span<const std::string> steps,
                                TimeNs now);
  /// Its token ends at once, its groups are destroyed, then it is gone.
  Result<std::size_t> delete_job(std::string_view job, TimeNs now);
  /// nullptr when there is none or it is ending.
  [[nodiscard]] const Job* find_job(std::string_view id) const;
  /// The job whose token this is; 401 for an unknown one, or one of a job that ended.
  [[nodiscard]] Result<const Job*> job_of_token(std::string_view token) const;

  // ---- groups ----

  /// The group is there and agrees: answers it. Otherwise creates it.
  Result<const Group*> create_group(const GroupWish& wish, TimeNs now);
  /// Creates the group when it is not there. Asking again is not a second join. A last join that
  /// finds no root for the group ends it and is answered why.
  Result<const Group*> join(const JoinWish& wish, TimeNs now);
  /// nullptr when the group is gone with that.
  Result<const Group*> leave(std::string_view job, std::string_view group, std::uint32_t rank,
                             TimeNs now);
  Result<const Group*> renew(std::string_view job, std::string_view group, std::uint32_t rank,
                             TimeNs now);
  Result<const Group*> create_multicast(const MulticastWish& wish, TimeNs now);
  /// Also of groups in other states than ready; nullptr when it is gone with that.
  Result<const Group*> destroy(std::string_view job, std::string_view group, TimeNs now);
  /// The multicast that has this tree: 409 while it is being built, 404 when there is none.
  Result<const Group*> find_multicast(TreeNumber tree) const;

  // ---- what the manager found out ----

  void located(Nid nid, TimeNs now);
  void lost(Nid nid);
  /// Tree numbers that switches' own files use are not given out.
  void reserve_tree(TreeNumber number);
  /// For a group in computing_routes, or a repair later on. False: the group does not want them any
  /// more, or there is no number for a tree; what was planned is to be released.
  bool routes_ready(GroupId group, const Routes& routes, TimeNs now);
  /// The group ends with this refusal, unless it is running: then it goes on, in trouble.
  void routes_failed(GroupId group, const Refusal& why, TimeNs now);
  /// All switches of all its trees have them in force.
  void installed(GroupId group, TimeNs now);
  void install_failed(GroupId group, const std::string& why, TimeNs now);
  /// No switch has any of its trees any more.
  void removed(GroupId group, TimeNs now);

  // ---- time ----

  void poll(TimeNs now);
  /// When `poll` has something to do; `never`.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- what comes of it ----

  /// Whether one of the changes that `take_changes` would give has to be on disk before anybody
  /// hears of it. Otherwise they may wait for the next that has: a group that a restart finds still
  /// computing its routes, and has them, comes to ready by itself.
  [[nodiscard]] bool changes_are_urgent() const { return urgent_; }
  /// Since the last call, in order; to be stored before anything is answered or acted upon.
  [[nodiscard]] std::vector<store::Change> take_changes();
  [[nodiscard]] std::vector<Action> take_actions();

  // ---- looking ----

  [[nodiscard]] const Group* find(GroupId id) const;
  [[nodiscard]] const Group* find(std::string_view job, std::string_view name) const;
  [[nodiscard]] const Group* find(TreeNumber tree) const;
  [[nodiscard]] std::vector<const Job*> jobs() const;
  /// By id, that is, by age.
  [[nodiscard]] std::vector<const Group*> groups() const;
  [[nodiscard]] std::vector<const Group*> groups_of(Nid nid) const;
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
  [[nodiscard]] std::optional<Refusal> fault_of(const GroupWish& wish) const;
  [[nodiscard]] std::optional<Refusal> over_quota(const Job& job, TimeNs now) const;
  Result<Group*> make_group(const GroupWish& wish, Job& job, TimeNs now);
  Group& add_group(Job& job, Group group, TimeNs now);
  [[nodiscard]] std::optional<Refusal> contradiction(const Group& group, const JoinWish& wish,
                                                     TimeNs now) const;
  void add_member(Group& group, std::uint32_t rank, Nid nid, const std::string& host, TimeNs now);
  [[nodiscard]] Result<Group*> member_of(std::string_view job, std::string_view name,
                                         std::uint32_t rank);
  void extend_lease(Group& group, std::uint32_t rank, TimeNs now);
  Result<bool> depart(Group& group, std::uint32_t rank, Event how, TimeNs now);

  // multicasts.cpp
  [[nodiscard]] std::optional<Refusal> fault_of(const MulticastWish& wish) const;
  [[nodiscard]] std::optional<Refusal> no_resources(const MulticastWish& wish, const Job& job,
                                                    TimeNs now) const;

  // routing.cpp
  /// Starts the computation, or ends the group and answers why there is none.
  std::optional<Refusal> complete_if_all_there(Group& group, TimeNs now);
  [[nodiscard]] Refusal no_root(const std::string& whose, std::span<const Nid> members,
                                std::optional<std::uint32_t> wanted, TimeNs now) const;
  [[nodiscard]] std::optional<Refusal> give_numbers(Group& group, const Routes& routes, TimeNs now);
  [[nodiscard]] Refusal no_number_left(std::uint32_t limit, TimeNs now) const;
  [[nodiscard]] Cookie make_cookie(const Group& group) const;
  void fail(GroupId id, Event event, const Refusal& why, TimeNs now);

  // life.cpp
  /// What the table says: true when accepted, and then the state is changed and what belongs to it
  /// done. A group that is gone by that no longer exists when this returns.
  Result<bool> happen(Group& group, Event event, TimeNs now);
  [[nodiscard]] static Refusal refusal_of(const Group& group, const Reaction& verdict);
  void enter(Group& group, GroupState state, TimeNs now);
  void end(Group& group, Event event, Refusal why, TimeNs now);
  void forget(Group& group);
  void forget_job_if_over(const Job& job);
  void put(const Group& group);
  void put(const Job& job);
  void put_member(const Group& group, std::uint32_t rank);
  void put_address(const std::string& space, const NumberPool& pool);
  void changed(const Group& group);

  // restoring.cpp
  void restore_jobs(const store::Snapshot& past);
  void restore_groups(const store::Snapshot& past, TimeNs now);
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

  NumberPool tree_numbers_;
  std::set<TreeNumber> reserved_;
  VniBook vnis_;
  TokenBook tokens_;

  DeadlineQueue<GroupId> limits_;
  DeadlineQueue<MemberKey> leases_;

  void keep(store::Change change, bool urgent = true);

  std::vector<store::Change> changes_;
  bool urgent_ = false; ///< one of them
  std::vector<Action> actions_;
};

} // namespace tributary::group
