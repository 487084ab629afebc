// Joining, renewing and leaving a group at the fabric manager (docs/protocol/manager-api.md).
//
// A host's steps, in order: announce itself on its link (wire/hello.hpp), `join` until it has a
// Membership, `renew` well within each lease, `leave`.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::manager_client {

/// A request for membership. All but `rank`, `nid` and `host` are the same at every member.
struct JoinRequest {
  std::string group;
  std::string job; ///< "": the job of the token
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank;
  Nid nid;
  std::string host; ///< its name, for people
  /// Limits of this member: reductions in flight, and bytes of elements in a frame. The group gets
  /// the minimum over its members. Default: no wide frames.
  std::uint32_t slots = reductions_per_tree;
  std::uint32_t payload = narrow_payload;
  /// Whether the switch next to the root is to send results itself; nullopt: as the manager's file
  /// says. One request is enough to enable it, one refusal disables it; all members and that switch
  /// have to support it.
  std::optional<bool> in_switch_results = std::nullopt;
  std::string step{}; ///< of the job, with which the group ends; "": it ends with the job

  static constexpr std::uint32_t narrow_payload = 32; ///< payload of the 84-byte frame
};

/// The parameters that a member needs to reduce.
struct Membership {
  std::string job;
  Vni vni;
  Cookie cookie;
  std::uint32_t root_rank = 0;
  Nid root_nid;
  std::vector<TreeNumber> trees; ///< one or two
  bool disjoint = true;          ///< two trees share no link and no inner switch
  std::chrono::milliseconds lease{0};
  // The resources of the installed trees.
  std::uint32_t slots = reductions_per_tree;
  std::uint32_t payload = JoinRequest::narrow_payload;
  bool in_switch_results = false; ///< in-switch results: the switch next to the root sends them
  std::string in_switch_note{};   ///< why not
  bool shared_frames = false;     ///< any member may multicast on the trees

  /// Whether frames for one of them are valid on the other.
  [[nodiscard]] bool is_on_the_same_trees_as(const Membership& other) const {
    return vni == other.vni && cookie == other.cookie && root_rank == other.root_rank &&
           root_nid == other.root_nid && trees == other.trees && slots == other.slots &&
           payload == other.payload && in_switch_results == other.in_switch_results;
  }
};

/// Asks for a membership and waits for it up to `limit`, through restarts of the manager. Throws
/// ManagerError: `not_ready` when the group was not ready in time, naming the missing members (the
/// manager then drops this member); `refused` with the manager's words; `unreachable` when the
/// manager was away to the end.
[[nodiscard]] Membership join(ManagerClient& manager, const JoinRequest& request,
                              std::chrono::milliseconds limit);

/// Asks once, without waiting; nullopt while the group is not ready.
[[nodiscard]] std::optional<Membership> ask_to_join(ManagerClient& manager,
                                                    const JoinRequest& request);

/// A member that the manager reports as failing.
struct Absent {
  std::uint32_t rank = 0;
  std::uint32_t nid = 0;
  std::string host{}; ///< its name, or ""
  std::string why{};  ///< "its lease ended"
  bool gone = false;  ///< permanently: it cannot come back
  bool left = false;  ///< it left, as members do at the end
  friend bool operator==(const Absent&, const Absent&) = default;
};

/// State of a group.
struct GroupNews {
  /// Not empty: why the group is over, or continues without this member.
  std::string over_because{};
  bool lease_ended = false; ///< the reason is the end of this member's own lease
  /// The first few of them.
  std::vector<Absent> absent{};
  friend bool operator==(const GroupNews&, const GroupNews&) = default;
};

struct Renewal {
  enum class Outcome {
    renewed,
    forgotten, ///< the manager knows no such group or member: join again
    over,      ///< the group has ended, or has dropped this member
  };
  Outcome outcome = Outcome::renewed;
  GroupNews news{};
};
/// `membership`: the group that must be renewed. Throws ManagerError for anything else.
[[nodiscard]] Renewal renew(ManagerClient& manager, const JoinRequest& request,
                            const Membership& membership);

/// An unknown group counts as left.
void leave(ManagerClient& manager, const JoinRequest& request, const std::string& job);

} // namespace tributary::manager_client
