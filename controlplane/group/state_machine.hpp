// What happens to a group, in every state: one table.
//
// The states are those of the join and leave protocol for multicast groups with a member count
// (docs/protocol/groups.md has the picture):
//
//   receiving_join_req -> computing_routes -> ready -> receiving_leave_req -> destroying -> gone
//           |                    |              |                                ^
//           +--------------------+--------------+------- time limit, failure, ---+
//                                                        destroyed, nobody left
//
// The table answers for each pair of state and event whether it is accepted and where it leads, is
// ignored (a late or repeated message that changes nothing and harms nobody), or is refused, with
// which kind of error and words. The registry asks the table first and acts only on what is
// accepted.
//
// Pure functions of their arguments.
#pragma once

#include "controlplane/group/error.hpp"
#include "controlplane/records/records.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tributary::group {

enum class Event : std::uint8_t {
  join,               ///< a rank that the group does not know asks to be in
  join_again,         ///< a member asks once more, with the same NID
  join_after_leaving, ///< one that has left, or whose lease ran out, asks
  completed,          ///< all members are there, their hosts located, and one can be the root
  routes_ready,
  routes_failed,
  installed,
  install_failed,
  renew,
  renew_after_leaving,
  leave,       ///< a member leaves
  leave_again, ///< one that has left before, or whose lease ran out, leaves
  lease_ended, ///< of a member
  emptied,     ///< the last member is away
  time_limit,  ///< of the state
  destroy,     ///< asked for from outside, or there is no root or address for it
  removed,     ///< no switch has its trees any more
};
inline constexpr std::size_t event_count = 17;
inline constexpr std::size_t state_count = 6;

/// "join_again"
[[nodiscard]] std::string_view name_of(Event event);

struct Transition {
  enum class Kind : std::uint8_t { accepted, ignored, refused };
  Kind kind = Kind::ignored;
  records::GroupState next = records::GroupState::gone; ///< when accepted
  ErrorKind error{};                                    ///< when refused
  std::string_view message;                             ///< when refused: follows the group's name
  [[nodiscard]] bool accepted() const { return kind == Kind::accepted; }
};

[[nodiscard]] const Transition& transition(records::GroupState state, Event event);

} // namespace tributary::group
