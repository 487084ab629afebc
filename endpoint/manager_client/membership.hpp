// Joining, renewing and leaving a group at the fabric manager (docs/protocol/manager-api.md).
//
// What a host has to do, in order: announce itself on its link (wire/hello.hpp), `join` until there
// is a Membership, `renew` well within each lease, `leave`.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "tributary/types.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::manager_client {

/// Who wants to be a member of what. All but `rank`, `nid` and `host` are the same at every member.
struct JoinRequest {
  std::string group;
  std::string job; ///< "": the one of the token
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t trees = 1; ///< 1 or 2
  std::optional<std::uint32_t> root_rank;
  Nid nid;
  std::string host; ///< its name, for people
  /// The most that this member takes: reductions in flight, and bytes of elements in a frame. The
  /// group gets the least of all. As they stand here: no wide frames.
  std::uint32_t slots = reductions_per_tree;
  std::uint32_t payload = narrow_payload;
  /// Whether the switch next to the root is to turn results round; nothing: as the manager's file
  /// says. One member that asks is enough, where none refuses, and all of them and that switch can.
  std::optional<bool> turn = std::nullopt;

  static constexpr std::uint32_t narrow_payload = 32; ///< of the 84-byte frame
};

/// What a member needs to know to reduce.
struct Membership {
  std::string job;
  Vni vni;
  Cookie cookie;
  std::uint32_t root_rank = 0;
  Nid root_nid;
  std::vector<TreeNumber> trees; ///< one or two
  bool disjoint = true;          ///< two trees share no link and no inner switch
  std::chrono::milliseconds lease{0};
  // What the trees were installed with; an older manager installs none with wide frames.
  std::uint32_t slots = reductions_per_tree;
  std::uint32_t payload = JoinRequest::narrow_payload;
  bool turn = false;       ///< results are turned round by the switch next to the root
  std::string turn_note{}; ///< why not; "" of older managers

  /// Whether frames made for one of them fit the other.
  [[nodiscard]] bool is_on_the_same_trees_as(const Membership& other) const {
    return vni == other.vni && cookie == other.cookie && root_rank == other.root_rank &&
           root_nid == other.root_nid && trees == other.trees && slots == other.slots &&
           payload == other.payload && turn == other.turn;
  }
};

/// Asks for a membership and waits for it up to `limit`, through restarts of the manager. Throws
/// ManagerError: `not_ready` when the group was not ready in time, naming whom it waits for (the
/// manager then does not count on this member any more); `refused` with the manager's words;
/// `unreachable` when it was away to the end.
[[nodiscard]] Membership join(ManagerClient& manager, const JoinRequest& request,
                              std::chrono::milliseconds limit);

/// Asks once, without waiting; nothing while the group is not ready.
[[nodiscard]] std::optional<Membership> ask_to_join(ManagerClient& manager,
                                                    const JoinRequest& request);

/// A member of whom the manager says that something is wrong.
struct Absent {
  std::uint32_t rank = 0;
  std::uint32_t nid = 0;
  std::string host{}; ///< its name, or ""
  std::string why{};  ///< "its lease ended"
  bool gone = false;  ///< for good: it cannot come back
  bool left = false;  ///< it left, as members do in the end
  friend bool operator==(const Absent&, const Absent&) = default;
};

/// How a group stands.
struct GroupNews {
  /// Not empty: it is over, or goes on without this member, and why.
  std::string over_because{};
  bool lease_ended = false; ///< and that is this member's own lease
  /// The first few.
  std::vector<Absent> absent{};
  friend bool operator==(const GroupNews&, const GroupNews&) = default;
};

struct Renewal {
  enum class Outcome {
    renewed,
    forgotten, ///< the manager knows no such group or member: to be joined anew
    over,      ///< the group has ended, or has lost this member
  };
  Outcome outcome = Outcome::renewed;
  GroupNews news{};
};
/// `membership` says which group it has to be. Throws ManagerError for anything else.
[[nodiscard]] Renewal renew(ManagerClient& manager, const JoinRequest& request,
                            const Membership& membership);

/// A group that is not known any more counts as left.
void leave(ManagerClient& manager, const JoinRequest& request, const std::string& job);

} // namespace tributary::manager_client
