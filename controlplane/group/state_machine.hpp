// The transitions of a group in every state: one table.
//
// The states are those of the join and leave protocol for multicast groups with a member count
// (docs/protocol/groups.md has the picture):
//
//   receiving_join_req -> computing_routes -> ready -> receiving_leave_req -> destroying -> gone
//           |                    |              |                                ^
//           +--------------------+--------------+------- time limit, failure, ---+
//                                                        destroyed, no member left
//
// For each pair of state and event the table says whether it is accepted and where it leads, is
// ignored (a late or repeated message that changes nothing and does no harm), or is refused, with
// which kind of error and words. The registry consults the table first and acts only on what is
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
  join,               ///< a rank that the group does not know asks to join
  join_again,         ///< a member asks again, with the same NID
  join_after_leaving, ///< a rank that has left, or whose lease ran out, asks
  completed,          ///< all members joined, their hosts are located, and one can be the root
  routes_ready,
  routes_failed,
  installed,
  install_failed,
  renew,
  renew_after_leaving,
  leave,       ///< a member leaves
  leave_again, ///< a rank that has left before, or whose lease ran out, leaves
  lease_ended, ///< the lease of a member
  emptied,     ///< the last member is gone
  time_limit,  ///< the time limit of the state
  destroy,     ///< requested from outside, or no root or address is available
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
