#include "controlplane/group/state_machine.hpp"

#include "lib/state_machine/transition_table.hpp"

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

// clang-format off
constexpr state_machine::TransitionTable<GroupState, Event, Transition, state_count, event_count> table{
    {}, // records::name_of has them
    {{
    // a column for each state, in their order
    {Event::join,                "join",                {join,                 full,             full,    full,                late,       none}},
    {Event::join_again,          "join_again",          {join,                 compute,          ready,   leave,               late,       none}},
    {Event::join_after_leaving,  "join_after_leaving",  {join,                 over,             over,    over,                late,       none}},
    {Event::completed,           "completed",           {compute,              _,                _,       _,                   _,          _}},
    {Event::routes_ready,        "routes_ready",        {_,                    compute,          ready,   leave,               _,          _}},
    {Event::routes_failed,       "routes_failed",       {_,                    destr,            ready,   leave,               _,          _}},
    {Event::installed,           "installed",           {_,                    ready,            ready,   leave,               _,          _}},
    {Event::install_failed,      "install_failed",      {_,                    destr,            ready,   leave,               _,          _}},
    {Event::renew,               "renew",               {join,                 compute,          ready,   leave,               late,       none}},
    {Event::renew_after_leaving, "renew_after_leaving", {over,                 over,             over,    over,                late,       none}},
    {Event::leave,               "leave",               {join,                 compute,          leave,   leave,               destr,      none}},
    {Event::leave_again,         "leave_again",         {_,                    _,                _,       _,                   _,          none}},
    {Event::lease_ended,         "lease_ended",         {join,                 compute,          leave,   leave,               _,          _}},
    {Event::emptied,             "emptied",             {destr,                destr,            destr,   destr,               _,          _}},
    {Event::time_limit,          "time_limit",          {destr,                _,                destr,   destr,               _,          _}},
    {Event::destroy,             "destroy",             {destr,                destr,            destr,   destr,               destr,      none}},
    {Event::removed,             "removed",             {_,                    _,                _,       _,                   gone,       _}},
    }}};
// clang-format on
static_assert(table.is_in_order());

} // namespace

std::string_view name_of(Event event) { return table.name_of(event); }

const Transition& transition(records::GroupState state, Event event) {
  return table.at(state, event);
}

} // namespace tributary::group
