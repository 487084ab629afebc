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
#include "controlplane/group/group.hpp"
#include "controlplane/group/refusal.hpp"
#include "controlplane/store/records.hpp"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Fills the span from the system's random source, or from a test's.
using RandomSource = std::function<void(std::span<std::byte>)>;

/// What a group must agree in, whoever asks for it first.
struct GroupWish {
  std::string job;
  std::string name;
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank;
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
  ~Registry();
  Registry(Registry&&) noexcept;
  Registry& operator=(Registry&&) noexcept;

  // ---- jobs (administrator) ----

  /// 409 when it exists or still ends, 507 when it cannot have a token or VNI.
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
  /// Creates the group when it is not there. Asking again is not a second join.
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
  [[nodiscard]] std::size_t trees_in_use() const;
  [[nodiscard]] const Settings& settings() const;

private:
  class Book;
  std::unique_ptr<Book> book_;
};

} // namespace tributary::group
