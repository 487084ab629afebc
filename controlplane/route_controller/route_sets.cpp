#include "controlplane/route_controller/route_sets.hpp"

#include "lib/state_machine/transition_table.hpp"

#include <utility>

namespace tributary::route_controller {
namespace {

using Cell = std::optional<State>;

constexpr Cell want_ = State::wanted;
constexpr Cell comp = State::computing;
constexpr Cell refu = State::refused;
constexpr Cell veri = State::verified;
constexpr Cell inst = State::installing;
constexpr Cell forc = State::in_force;
constexpr Cell reti = State::retired;
constexpr Cell _ = std::nullopt; // no change

// clang-format off
constexpr state_machine::TransitionTable<State, Event, Cell, state_count, event_count> table{
    {"wanted", "computing", "refused", "verified", "installing", "in_force", "retired"},
    {{
    // a column for each state, in their order
    {Event::begin,      "begin",      {comp,    _,        _,      _,       _,         _,       _}},
    {Event::changed,    "changed",    {_,       want_,    want_,  want_,   _,         _,       _}},
    {Event::refuse,     "refuse",     {_,       refu,     _,      _,       _,         _,       _}},
    {Event::pass,       "pass",       {_,       veri,     _,      _,       _,         _,       _}},
    {Event::install,    "install",    {_,       _,        _,      inst,    _,         _,       _}},
    {Event::failed,     "failed",     {_,       _,        _,      _,       want_,     _,       _}},
    {Event::stalled,    "stalled",    {_,       _,        _,      _,       want_,     _,       _}},
    {Event::everywhere, "everywhere", {_,       _,        _,      _,       forc,      _,       _}},
    {Event::replace,    "replace",    {_,       _,        _,      _,       reti,      reti,    _}},
    {Event::withdraw,   "withdraw",   {reti,    reti,     reti,   reti,    reti,      reti,    _}},
    }}};
// clang-format on
static_assert(table.is_in_order());

} // namespace

std::string_view name_of(State state) { return table.name_of(state); }
std::string_view name_of(Event event) { return table.name_of(event); }

std::optional<State> transition(State state, Event event) { return table.at(state, event); }

void RouteSets::apply(std::optional<Set>& set, Event event) {
  if (!set) {
    return;
  }
  if (const auto state = transition(set->state, event)) {
    set->state = *state;
  }
  if (set->state == State::retired) {
    set.reset();
  }
}

void RouteSets::want(TimeNs at) {
  due_ = at;
  if (next_) {
    apply(next_, Event::changed);
  } else {
    next_.emplace();
  }
}

Epoch RouteSets::begin() {
  apply(next_, Event::begin);
  const Epoch between = last_epoch_ + 1;
  last_epoch_ = between + 1;
  next_->epoch = last_epoch_;
  return between;
}

bool RouteSets::computed(PlanPtr plan) {
  if (!next_ || next_->state != State::computing || next_->epoch != plan->epoch) {
    return false;
  }
  apply(next_, plan->refused.empty() ? Event::pass : Event::refuse);
  next_->plan = std::move(plan);
  return true;
}

void RouteSets::install(TransactionNumber transaction) {
  apply(next_, Event::install);
  apply(installing_, Event::replace);
  installing_ = std::exchange(next_, std::nullopt);
  installing_->transaction = transaction;
}

bool RouteSets::ended(TransactionNumber transaction, const std::string& failure, TimeNs again) {
  if (!installing_ || installing_->transaction != transaction) {
    return false;
  }
  installing_->transaction.reset();
  if (failure.empty()) {
    return true;
  }
  recompute(Event::failed, failure, again);
  return true;
}

bool RouteSets::stalled(const std::string& why, TimeNs again) {
  if (!installing_ || installing_->transaction) {
    return false;
  }
  apply(current_, Event::replace);
  recompute(Event::stalled, why, again);
  return true;
}

void RouteSets::recompute(Event because, const std::string& failure, TimeNs again) {
  apply(installing_, because);
  Set failed = *std::exchange(installing_, std::nullopt);
  failed.failure = failure;
  if (!next_) {
    next_ = std::move(failed);
    due_ = again;
  } else {
    next_->failure = failure;
  }
}

bool RouteSets::everywhere() {
  if (!installing_ || installing_->transaction) {
    return false;
  }
  apply(installing_, Event::everywhere);
  apply(current_, Event::replace);
  current_ = std::exchange(installing_, std::nullopt);
  return true;
}

void RouteSets::withdraw() {
  for (std::optional<Set>* set : {&next_, &installing_, &current_}) {
    apply(*set, Event::withdraw);
  }
  due_ = never;
}

} // namespace tributary::route_controller
