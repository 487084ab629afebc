#include "controlplane/group/state_machine.hpp"

#include <array>

namespace tributary::group {
namespace {

using records::GroupState;

constexpr Transition to(GroupState next) { return {Transition::Kind::accepted, next, {}, {}}; }
constexpr Transition refuse(ErrorKind error, std::string_view message) {
  return {Transition::Kind::refused, GroupState::gone, error, message};
}

constexpr Transition join = to(GroupState::receiving_join_req);
constexpr Transition compute = to(GroupState::computing_routes);
constexpr Transition ready = to(GroupState::ready);
constexpr Transition leave = to(GroupState::receiving_leave_req);
constexpr Transition destr = to(GroupState::destroying);
constexpr Transition gone = to(GroupState::gone);
constexpr Transition _ = {}; // ignored

constexpr Transition full = refuse(ErrorKind::conflict, "has all its members");
constexpr Transition over =
    refuse(ErrorKind::conflict,
           "ends when the others have left, and this member has left or its lease ran out; "
           "join again when the group is gone");
constexpr Transition late =
    refuse(ErrorKind::conflict,
           "is being removed from the switches; ask again, which makes a new group of this name");
constexpr Transition none = refuse(ErrorKind::not_found, "is not there");

using Row = std::array<Transition, state_count>;

// clang-format off
constexpr std::array<Row, event_count> table = {{
  // receiving_join_req  computing_routes  ready    receiving_leave_req  destroying  gone
  {join,                 full,             full,    full,                late,       none}, // join
  {join,                 compute,          ready,   leave,               late,       none}, // join_again
  {join,                 over,             over,    over,                late,       none}, // join_after_leaving
  {compute,              _,                _,       _,                   _,          _   }, // completed
  {_,                    compute,          ready,   leave,               _,          _   }, // routes_ready
  {_,                    destr,            ready,   leave,               _,          _   }, // routes_failed
  {_,                    ready,            ready,   leave,               _,          _   }, // installed
  {_,                    destr,            ready,   leave,               _,          _   }, // install_failed
  {join,                 compute,          ready,   leave,               late,       none}, // renew
  {over,                 over,             over,    over,                late,       none}, // renew_after_leaving
  {join,                 compute,          leave,   leave,               destr,      none}, // leave
  {_,                    _,                _,       _,                   _,          none}, // leave_again
  {join,                 compute,          leave,   leave,               _,          _   }, // lease_ended
  {destr,                destr,            destr,   destr,               _,          _   }, // emptied
  {destr,                _,                destr,   destr,               _,          _   }, // time_limit
  {destr,                destr,            destr,   destr,               destr,      none}, // destroy
  {_,                    _,                _,       _,                   gone,       _   }, // removed
}};
// clang-format on

constexpr std::array<std::string_view, event_count> event_names = {
    "join",          "join_again",  "join_after_leaving", "completed", "routes_ready",
    "routes_failed", "installed",   "install_failed",     "renew",     "renew_after_leaving",
    "leave",         "leave_again", "lease_ended",        "emptied",   "time_limit",
    "destroy",       "removed"};

} // namespace

std::string_view name_of(Event event) { return event_names[static_cast<std::size_t>(event)]; }

const Transition& transition(records::GroupState state, Event event) {
  return table[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}

} // namespace tributary::group
