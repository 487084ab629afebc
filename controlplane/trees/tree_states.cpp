#include "controlplane/trees/tree_states.hpp"

#include "lib/state_machine/transition_table.hpp"

namespace tributary::trees {
namespace {

using Cell = std::optional<State>;

constexpr Cell want = State::wanted;
constexpr Cell plan = State::planned;
constexpr Cell inst = State::installing;
constexpr Cell forc = State::in_force;
constexpr Cell brok = State::broken;
constexpr Cell retr = State::retrying;
constexpr Cell remo = State::removing;
constexpr Cell abse = State::absent;
constexpr Cell _ = std::nullopt; // no change

// clang-format off
constexpr state_machine::TransitionTable<State, Event, Cell, state_count, event_count> table{
    {"absent", "wanted", "planned", "installing", "in_force", "broken", "retrying", "removing"},
    {{
    // a column for each state, in their order
    {Event::want,       "want",       {want,     want,   _,       _,          _,        _,      _,        _}},
    {Event::restored,   "restored",   {forc,     _,      _,       _,          _,        _,      _,        _}},
    {Event::plan,       "plan",       {_,        plan,   plan,    plan,       plan,     plan,   plan,     _}},
    {Event::no_path,    "no_path",    {_,        want,   _,       _,          _,        brok,   _,        _}},
    {Event::install,    "install",    {_,        _,      inst,    _,          _,        _,      _,        _}},
    {Event::failed,     "failed",     {_,        _,      _,       retr,       _,        _,      _,        _}},
    {Event::everywhere, "everywhere", {_,        _,      _,       forc,       _,        _,      _,        _}},
    {Event::torn,       "torn",       {brok,     _,      brok,    brok,       brok,     brok,   brok,     _}},
    {Event::remove,     "remove",     {remo,     remo,   remo,    remo,       remo,     remo,   remo,     remo}},
    {Event::removed,    "removed",    {_,        _,      _,       _,          _,        _,      _,        abse}},
    }}};
// clang-format on
static_assert(table.is_in_order());

std::size_t index(State state) { return static_cast<std::size_t>(state); }

} // namespace

std::string_view name_of(State state) { return table.name_of(state); }
std::string_view name_of(Event event) { return table.name_of(event); }

std::optional<State> transition(State state, Event event) { return table.at(state, event); }

const GroupTrees* TreeStates::find(GroupId group) const {
  const auto found = states_.find(group);
  return found == states_.end() ? nullptr : &found->second;
}

State TreeStates::state(GroupId group) const {
  const GroupTrees* group_trees = find(group);
  return group_trees == nullptr ? State::absent : group_trees->state;
}

const std::set<GroupId>& TreeStates::in_state(State state) const { return by_state_[index(state)]; }

bool TreeStates::apply(GroupId group, Event event, TimeNs now) {
  const std::optional<State> next = transition(state(group), event);
  if (!next) {
    return false;
  }
  GroupTrees& group_trees = states_[group];
  by_state_[index(group_trees.state)].erase(group);
  group_trees.state = *next;
  group_trees.postponed.clear();
  set_due(group, event == Event::want || event == Event::plan ? now : never);
  if (*next != State::installing && *next != State::removing) {
    group_trees.open.clear();
  }
  if (*next == State::absent) {
    out_of_sync_.erase(group);
    states_.erase(group);
    return true;
  }
  by_state_[index(*next)].insert(group);
  note_out_of_sync(group, group_trees);
  return true;
}

void TreeStates::set_due(GroupId group, TimeNs at) {
  GroupTrees& group_trees = states_.at(group);
  due_.erase({group_trees.due, group});
  group_trees.due = at;
  if (at != never) {
    due_.emplace(at, group);
  }
}

std::optional<GroupId> TreeStates::take_due(TimeNs now) {
  if (due_.empty() || due_.begin()->first > now) {
    return std::nullopt;
  }
  const GroupId group = due_.begin()->second;
  set_due(group, never);
  return group;
}

void TreeStates::wait_for(GroupId group, const std::vector<TransactionNumber>& transactions) {
  GroupTrees& group_trees = states_.at(group);
  group_trees.failure.clear();
  group_trees.open = {transactions.begin(), transactions.end()};
  for (const TransactionNumber one : transactions) {
    owners_.emplace(one, group);
  }
  note_out_of_sync(group, group_trees);
}

std::optional<GroupId> TreeStates::owner(TransactionNumber transaction) const {
  const auto found = owners_.find(transaction);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<GroupId> TreeStates::ended(TransactionNumber transaction,
                                         const std::string& failure) {
  const auto owner = owners_.extract(transaction);
  const auto found = owner ? states_.find(owner.mapped()) : states_.end();
  if (found == states_.end() || found->second.open.erase(transaction) == 0) {
    return std::nullopt; // its successor is pending
  }
  GroupTrees& group_trees = found->second;
  if (group_trees.failure.empty()) {
    group_trees.failure = failure;
  }
  if (!group_trees.open.empty()) {
    return std::nullopt;
  }
  note_out_of_sync(found->first, group_trees);
  return found->first;
}

void TreeStates::note_out_of_sync(GroupId group, const GroupTrees& group_trees) {
  if (group_trees.state == State::installing && group_trees.open.empty() &&
      group_trees.failure.empty()) {
    out_of_sync_.insert(group);
  } else {
    out_of_sync_.erase(group);
  }
}

} // namespace tributary::trees
