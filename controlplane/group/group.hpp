// The state of a job, and of a group and its members, while the manager runs. Only the registry
// changes them. One Group for each name of a job, from its first request until its trees are
// removed from all switches.
//
// Plain data, no I/O.
#pragma once

#include "controlplane/group/error.hpp"
#include "controlplane/group/requests.hpp"
#include "controlplane/records/records.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::group {

using records::GroupId;
using records::GroupState;
using records::MemberState;

/// The key of a job is its id: "cluster-17".
struct Job {
  std::string id;
  std::uint32_t multicast_limit = 0;
  std::string token;
  std::optional<Vni> vni; ///< assigned with its first group that brings none
  bool deleting = false;  ///< deleted; removed once its groups are
  /// The only hosts and VNIs that its groups may use, ascending; nothing: any. Listed VNIs belong
  /// to no other job while this one exists.
  std::optional<std::vector<Nid>> hosts;
  std::optional<std::vector<Vni>> vnis;
  std::optional<records::Allocation> allocation;      ///< from a launcher
  std::map<std::string, GroupId, std::less<>> groups; ///< by name; count against the limit
};

struct Member {
  Nid nid;
  std::string host; ///< "" when unspecified
  MemberState state = MemberState::joined;
  TimeNs lease_end = never;   ///< `never` without a lease
  std::uint64_t lease_ns = 0; ///< lease that the member was sent and renews by; 0: as configured
  WideFrames takes{};         ///< wide frames that its host supports
};

struct Group {
  GroupId id;
  std::string job;
  std::string name;
  std::string step;
  bool multicast = false; ///< made through the Slingshot-shaped contract: all members together, no
                          ///< leases
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< wanted: 1 or 2
  std::optional<std::uint32_t> wanted_root;
  Vni vni;
  std::uint64_t timeout_us = 0;          ///< of one collective, as requested; 0: default
  WideFrames wanted_frames = any_frames; ///< the most that was requested
  /// Wide frames of all its members and trees, set with `routes`; constant for the group's life.
  WideFrames frames{};
  /// Why `frames` is less than the manager's file allows; "" when it is not.
  std::string frames_note;
  records::InSwitchAgreement in_switch_results; ///< `agreed` and `note` with `routes`
  /// A multicast whose address was not sent to any client yet: the next equal request gets this
  /// one.
  bool unanswered = false;

  GroupState state = GroupState::receiving_join_req;
  /// By rank; all that have ever joined. A member that leaves before routes are computed is
  /// forgotten.
  std::map<std::uint32_t, Member> members;
  std::uint32_t present = 0;           ///< members that are `joined`
  std::set<std::uint32_t> not_located; ///< ranks of members whose host no switch has learned
  /// After receiving_join_req: ranks of members whose host was learned and is lost.
  std::set<std::uint32_t> silent;
  std::optional<std::uint32_t> root;       ///< rank, from computing_routes on
  std::vector<records::TreeRecord> routes; ///< set from the end of computing_routes
  Cookie cookie;                           ///< with `routes`
  TimeNs created{};                        ///< or the start of the manager, whichever is later
  TimeNs state_since{};
  TimeNs deadline = never; ///< of this state
  /// In destroying: the answer to requests that still wait for the group.
  Error end_reason;
  /// For a multicast in receiving_join_req: the one that is being removed, and whose root this one
  /// waits for.
  std::string waits_for_root_of;
  /// Why the last change of its routes failed; "" if it did not.
  std::string error;

  /// "training/0"
  [[nodiscard]] std::string full_name() const { return job + "/" + name; }
  /// Whether all members have joined, and switches have learned their hosts.
  [[nodiscard]] bool all_there() const { return present == size && not_located.empty(); }
  /// Whether members have left or their leases have run out.
  [[nodiscard]] bool departed() const { return present < members.size(); }
  /// Whether switches may hold its trees.
  [[nodiscard]] bool routed() const { return !routes.empty(); }
};

/// A rank that a group still waits for.
struct Missing {
  std::uint32_t rank = 0;
  std::optional<Nid> nid; ///< set when the member has joined and its host is not learned
  std::string why;        ///< "has not joined", "joined, but no switch has learned of its host"
};

/// A member that the others cannot reach, after receiving_join_req.
struct Absent {
  std::uint32_t rank = 0;
  Nid nid{};
  std::string host{};
  std::string why{}; ///< "its lease ended", "it has left", "no switch has seen its host"
  bool gone = false; ///< it cannot return
  bool left = false; ///< it left on its own, as members do in the end
};

/// At most `limit` absent members, by rank, those that are gone before those that are silent.
[[nodiscard]] std::vector<Absent> absent(const Group& group, std::size_t limit);

/// At most `limit` missing members, by rank. Empty unless the group is receiving_join_req.
[[nodiscard]] std::vector<Missing> missing(const Group& group, std::size_t limit);

/// The state in one sentence: "waits for 2 of 16 members for at most 26.9 s".
[[nodiscard]] std::string describe(const Group& group, TimeNs now);

} // namespace tributary::group
