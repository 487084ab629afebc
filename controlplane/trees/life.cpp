#include "controlplane/trees/life.hpp"

namespace tributary::trees {
namespace {

using Cell = std::optional<State>;
using Row = std::array<Cell, state_count>;

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
constexpr std::array<Row, event_count> table = {{
  // absent  wanted  planned  installing  in_force  broken  retrying  removing
  {want,     want,   _,       _,          _,        _,      _,        _   }, // want
  {forc,     _,      _,       _,          _,        _,      _,        _   }, // restored
  {_,        plan,   plan,    plan,       plan,     plan,   plan,     _   }, // plan
  {_,        want,   _,       _,          _,        brok,   _,        _   }, // no_path
  {_,        _,      inst,    _,          _,        _,      _,        _   }, // tell
  {_,        _,      _,       retr,       _,        _,      _,        _   }, // failed
  {_,        _,      _,       forc,       _,        _,      _,        _   }, // everywhere
  {brok,     _,      brok,    brok,       brok,     brok,   brok,     _   }, // torn
  {remo,     remo,   remo,    remo,       remo,     remo,   remo,     remo}, // remove
  {_,        _,      _,       _,          _,        _,      _,        abse}, // removed
}};
// clang-format on

constexpr std::array<std::string_view, state_count> state_names = {
    "absent", "wanted", "planned", "installing", "in_force", "broken", "retrying", "removing"};
constexpr std::array<std::string_view, event_count> event_names = {
    "want",   "restored",   "plan", "no_path", "tell",
    "failed", "everywhere", "torn", "remove",  "removed"};

std::size_t index(State state) { return static_cast<std::size_t>(state); }

} // namespace

std::string_view name_of(State state) { return state_names[index(state)]; }
std::string_view name_of(Event event) { return event_names[static_cast<std::size_t>(event)]; }

std::optional<State> transition(State state, Event event) {
  return table[static_cast<std::size_t>(event)][index(state)];
}

const Life* Lives::find(GroupId group) const {
  const auto found = lives_.find(group);
  return found == lives_.end() ? nullptr : &found->second;
}

State Lives::state(GroupId group) const {
  const Life* life = find(group);
  return life == nullptr ? State::absent : life->state;
}

const std::set<GroupId>& Lives::in_state(State state) const { return by_state_[index(state)]; }

bool Lives::apply(GroupId group, Event event, TimeNs now) {
  const std::optional<State> next = transition(state(group), event);
  if (!next) {
    return false;
  }
  Life& life = lives_[group];
  by_state_[index(life.state)].erase(group);
  life.state = *next;
  life.postponed.clear();
  set_due(group, event == Event::want || event == Event::plan ? now : never);
  if (*next != State::installing && *next != State::removing) {
    life.open.clear();
  }
  if (*next == State::absent) {
    behind_.erase(group);
    lives_.erase(group);
    return true;
  }
  by_state_[index(*next)].insert(group);
  note_behind(group, life);
  return true;
}

void Lives::set_due(GroupId group, TimeNs at) {
  Life& life = lives_.at(group);
  due_.erase({life.due, group});
  life.due = at;
  if (at != never) {
    due_.emplace(at, group);
  }
}

std::optional<GroupId> Lives::take_due(TimeNs now) {
  if (due_.empty() || due_.begin()->first > now) {
    return std::nullopt;
  }
  const GroupId group = due_.begin()->second;
  set_due(group, never);
  return group;
}

void Lives::wait_for(GroupId group, const std::vector<TransactionNumber>& transactions) {
  Life& life = lives_.at(group);
  life.failure.clear();
  life.open = {transactions.begin(), transactions.end()};
  for (const TransactionNumber one : transactions) {
    owners_.emplace(one, group);
  }
  note_behind(group, life);
}

std::optional<GroupId> Lives::owner(TransactionNumber transaction) const {
  const auto found = owners_.find(transaction);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<GroupId> Lives::ended(TransactionNumber transaction, const std::string& failure) {
  const auto owner = owners_.extract(transaction);
  const auto found = owner ? lives_.find(owner.mapped()) : lives_.end();
  if (found == lives_.end() || found->second.open.erase(transaction) == 0) {
    return std::nullopt; // its successor is pending
  }
  Life& life = found->second;
  if (life.failure.empty()) {
    life.failure = failure;
  }
  if (!life.open.empty()) {
    return std::nullopt;
  }
  note_behind(found->first, life);
  return found->first;
}

void Lives::note_behind(GroupId group, const Life& life) {
  if (life.state == State::installing && life.open.empty() && life.failure.empty()) {
    behind_.insert(group);
  } else {
    behind_.erase(group);
  }
}

} // namespace tributary::trees
