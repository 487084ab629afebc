// What is known of a job, and of a group and its members, while the manager runs. The registry
// changes them; everybody else reads. One Group for each name of a job, from its first request
// until its trees are removed everywhere.
//
// Plain data, no I/O.
#pragma once

#include "controlplane/group/refusal.hpp"
#include "controlplane/store/records.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::group {

using store::GroupId;
using store::GroupState;
using store::MemberState;

/// The key of a job is its id: "cluster-17".
struct Job {
  std::string id;
  std::uint32_t multicast_limit = 0;
  std::string token;
  std::optional<Vni> vni; ///< given out with its first group that brings none
  bool ending = false;    ///< deleted; gone once its groups are
  std::map<std::string, GroupId, std::less<>> groups; ///< by name; count against the limit
};

struct Member {
  Nid nid;
  std::string host; ///< "" when not said
  MemberState state = MemberState::joined;
  TimeNs lease_end = never; ///< `never` without a lease
};

/// A tree of a group once its routes are computed.
struct GroupTree {
  TreeNumber number;
  store::TreeForm form;
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
  std::uint64_t timeout_us = 0; ///< of one collective, as asked for; 0: default

  GroupState state = GroupState::receiving_join_req;
  /// By rank; those that joined at some time. A member that goes before routes are computed is
  /// forgotten.
  std::map<std::uint32_t, Member> members;
  std::uint32_t present = 0;           ///< members that are `joined`
  std::set<std::uint32_t> not_located; ///< ranks of members whose host no switch has heard of
  std::optional<std::uint32_t> root;   ///< rank, from computing_routes on
  std::vector<GroupTree> routes;       ///< from the end of computing_routes on
  Cookie cookie;                       ///< with `routes`
  TimeNs created{};                    ///< or when the manager started, whichever is later
  TimeNs state_since{};
  TimeNs deadline = never; ///< of this state
  /// In destroying: what whoever still waits for the group is told.
  Refusal ending;
  /// "" when all is well; why the last change of its routes failed otherwise.
  std::string trouble;

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

/// At most `limit` of those missing, by rank. Empty unless the group is receiving_join_req.
[[nodiscard]] std::vector<Missing> missing(const Group& group, std::size_t limit);

/// One sentence about how it stands: "waits for 2 of 16 members for at most 26.9 s".
[[nodiscard]] std::string describe(const Group& group, TimeNs now);

} // namespace tributary::group
