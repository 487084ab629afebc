// What is known of a job, and of a group and its members, while the manager runs. The registry
// changes them; everybody else reads. One Group for each name of a job, from its first request
// until its trees are removed everywhere.
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
  std::optional<Vni> vni; ///< given out with its first group that brings none
  bool ending = false;    ///< deleted; gone once its groups are
  /// What its groups are limited to, ascending; nothing: any. VNIs that are listed are no other
  /// job's for as long as this one is there.
  std::optional<std::vector<Nid>> hosts;
  std::optional<std::vector<Vni>> vnis;
  std::optional<records::Allocation> allocation;      ///< of a launcher
  std::map<std::string, GroupId, std::less<>> groups; ///< by name; count against the limit
};

struct Member {
  Nid nid;
  std::string host; ///< "" when not said
  MemberState state = MemberState::joined;
  TimeNs lease_end = never;   ///< `never` without a lease
  std::uint64_t lease_ns = 0; ///< what it was told, by which it renews; 0: as configured
  WideFrames takes{};         ///< what its host can have of wide frames
  bool knows_turn = false;    ///< its host knows trees that are turned round
};

struct Group {
  GroupId id;
  std::string job;
  std::string name;
  std::string step;
  bool multicast = false; ///< through the Slingshot-shaped contract: all members at once, no leases
  std::uint32_t size = 0;
  std::uint32_t trees = 1; ///< wanted: 1 or 2
  std::optional<std::uint32_t> wanted_root;
  Vni vni;
  std::uint64_t timeout_us = 0;          ///< of one collective, as asked for; 0: default
  WideFrames wanted_frames = any_frames; ///< the most that it was asked to have
  /// What all its members and trees have, with `routes`; it stays as long as the group does.
  WideFrames frames{};
  /// Why that is not what the manager's file allows; "" when it is.
  std::string frames_note;
  records::TurnAround turn; ///< `agreed` and `note` with `routes`
  /// A multicast whose address nobody was answered yet: whoever asks for the same gets this one.
  bool untold = false;

  GroupState state = GroupState::receiving_join_req;
  /// By rank; those that joined at some time. A member that goes before routes are computed is
  /// forgotten.
  std::map<std::uint32_t, Member> members;
  std::uint32_t present = 0;           ///< members that are `joined`
  std::set<std::uint32_t> not_located; ///< ranks of members whose host no switch has heard of
  /// Behind receiving_join_req: ranks of members whose host was heard and is not any more.
  std::set<std::uint32_t> silent;
  std::optional<std::uint32_t> root;       ///< rank, from computing_routes on
  std::vector<records::TreeRecord> routes; ///< from the end of computing_routes on
  Cookie cookie;                           ///< with `routes`
  TimeNs created{};                        ///< or when the manager started, whichever is later
  TimeNs state_since{};
  TimeNs deadline = never; ///< of this state
  /// In destroying: what whoever still waits for the group is told.
  Error end_reason;
  /// Where all are there in receiving_join_req: the group that is being removed, and whose root
  /// this one waits for.
  std::string waits_for_root_of;
  /// "" when all is well; why the last change of its routes failed otherwise.
  std::string error;

  /// "training/0"
  [[nodiscard]] std::string full_name() const { return job + "/" + name; }
  /// Whether all have joined, and switches have heard of their hosts.
  [[nodiscard]] bool all_there() const { return present == size && not_located.empty(); }
  /// Whether members have left or their leases ran out.
  [[nodiscard]] bool departed() const { return present < members.size(); }
  /// Whether switches may hold its trees.
  [[nodiscard]] bool routed() const { return !routes.empty(); }
};

/// A rank that a group still waits for.
struct Missing {
  std::uint32_t rank = 0;
  std::optional<Nid> nid; ///< when it joined and its host is not heard
  std::string why;        ///< "has not joined", "joined, but no switch has heard of its host"
};

/// A member that is not there for the others, behind receiving_join_req.
struct Absent {
  std::uint32_t rank = 0;
  Nid nid{};
  std::string host{};
  std::string why{}; ///< "its lease ended", "it has left", "no switch hears of its host"
  bool gone = false; ///< it cannot come back
  bool left = false; ///< it left by itself, as members do in the end
};

/// At most `limit` of them, by rank, those that are gone before those that are silent.
[[nodiscard]] std::vector<Absent> absent(const Group& group, std::size_t limit);

/// At most `limit` of those missing, by rank. Empty unless the group is receiving_join_req.
[[nodiscard]] std::vector<Missing> missing(const Group& group, std::size_t limit);

/// One sentence about how it stands: "waits for 2 of 16 members for at most 26.9 s".
[[nodiscard]] std::string describe(const Group& group, TimeNs now);

} // namespace tributary::group
