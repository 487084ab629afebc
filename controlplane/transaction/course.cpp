// The course of a transaction on one subject: checked, prepared everywhere, decided, committed
// stage by stage, ended.
#include "controlplane/transaction/coordinator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tributary::transaction {

void Coordinator::Impl::start(Running& t, TimeNs now) {
  const Kind& kind = kind_of(*t.subject);
  if (t.target) {
    t.purpose = wanted(*t.subject) == nullptr ? Purpose::install : Purpose::change;
    if (const auto objection = object_to(*t.target, kind, inventory_, graph_)) {
      refuse(t, *objection);
      return;
    }
  }
  const Order order = kind.order(*t.subject, t.target ? &*t.target : nullptr, inventory_);
  if (!order.objection.empty()) {
    refuse(t, {std::nullopt, order.objection});
    return;
  }
  make_steps(t, order);
  if (t.target) {
    inventory_.need(*t.target);
  }
  t.decision_needs_leaving = !t.target;
  t.state = TransactionState::preparing;
  for (std::size_t i = 0; i < t.steps.size(); ++i) {
    const RunningStep& step = t.steps[i];
    open_[step.at].emplace(step.number, StepKey{t.number, i});
    send(step.at, Message::Verb::prepare, step.number, step.changes);
    t.unanswered += keeps_waiting(t, step);
  }
  set_deadline(t, now + static_cast<std::uint64_t>(settings_.prepare_limit.count()));
  decide_when_ready(t, now);
}

void Coordinator::Impl::make_steps(Running& t, const Order& order) {
  std::set<SwitchId> staying;
  std::map<SwitchId, std::set<GuardedPermission>> missing;
  if (t.target) {
    for (const Part& part : t.target->parts) {
      staying.insert(part.at);
    }
    for (const Need& need : t.target->needs) {
      const Permissions& there = inventory_.at(need.at.at).permissions;
      const GuardedPermission wanted = there.with_other_needs(permission_of(need));
      if (!there.permits(wanted)) {
        missing[need.at.at].insert(wanted);
      }
    }
  }

  // The first message to a switch uses the transaction's own number.
  std::vector<std::uint64_t> numbers{t.number.value};
  std::map<SwitchId, std::size_t> messages_to;
  for (const Move& move : order.moves) {
    const std::size_t before = messages_to[move.at]++;
    if (before == numbers.size()) {
      numbers.push_back(next_wire_number());
    }
    RunningStep step{.at = move.at,
                     .number = numbers[before],
                     .stage = move.stage,
                     .leaving = !move.content && !staying.contains(move.at),
                     .changes = {}};
    step.changes.contents.emplace_back(*t.subject, move.content);
    if (move.content) {
      if (const auto permissions = missing.extract(move.at)) {
        step.changes.permit.assign(permissions.mapped().begin(), permissions.mapped().end());
      }
    }
    t.steps.push_back(std::move(step));
  }

  // Switches that lack only permissions: with the first stage.
  std::vector<RunningStep> permitting;
  for (const auto& [at, permissions] : missing) {
    RunningStep step{.at = at, .number = t.number.value, .changes = {}};
    step.changes.permit.assign(permissions.begin(), permissions.end());
    permitting.push_back(std::move(step));
  }
  t.steps.insert(t.steps.begin(), std::make_move_iterator(permitting.begin()),
                 std::make_move_iterator(permitting.end()));
}

void Coordinator::Impl::decide_when_ready(Running& t, TimeNs now) {
  if (t.unanswered > 0) {
    return;
  }
  if (const Target* old = wanted(*t.subject)) {
    t.released = *old;
  }
  inventory_.want(*t.subject, std::exchange(t.target, std::nullopt));
  undecided_.erase(*t.subject);
  t.state = TransactionState::committing;
  begin_stage(t, 0, now);
}

void Coordinator::Impl::begin_stage(Running& t, unsigned stage, TimeNs now) {
  const unsigned stages = t.steps.empty() ? 0 : t.steps.back().stage + 1;
  for (; stage < stages; ++stage) {
    t.stage = stage;
    t.unanswered = 0;
    for (RunningStep& step : t.steps) {
      if (step.stage == stage && step.state == StepState::prepared) {
        commit(t, step);
      }
      t.unanswered += keeps_waiting(t, step);
    }
    if (t.unanswered > 0) {
      set_deadline(t, now + static_cast<std::uint64_t>(settings_.commit_limit.count()));
      return;
    }
  }
  finish(t, Result::committed, {}, {});
}

void Coordinator::Impl::commit(Running& t, RunningStep& step) {
  if (!inventory_.is_connected(step.at)) {
    step.state = StepState::out_of_sync;
    t.some_out_of_sync = true;
    return;
  }
  // The order of the stages is safe as long as every switch is updated.
  const auto must_wait = [&](const auto& change) {
    const auto& [subject, content] = change;
    return content &&
           !same(kind_of(subject).alone(subject, {step.at, content}, inventory_), content);
  };
  if (t.some_out_of_sync && std::ranges::any_of(step.changes.contents, must_wait)) {
    send(step.at, Message::Verb::abort, step.number);
    open_[step.at].erase(step.number);
    step.state = StepState::out_of_sync;
    return;
  }
  send(step.at, Message::Verb::commit, step.number);
  inventory_.sending(step.at, step.changes);
  step.state = StepState::committing;
}

void Coordinator::Impl::step_answered(Running& t, TimeNs now) {
  if (--t.unanswered > 0) {
    return;
  }
  if (t.state == TransactionState::preparing) {
    decide_when_ready(t, now);
  } else {
    begin_stage(t, t.stage + 1, now);
  }
}

void Coordinator::Impl::refuse(Running& t, const Objection& objection) {
  if (!objection.at) {
    finish(t, Result::refused, {}, objection.why);
    return;
  }
  const bool named = objection.at->value < graph_.switches().size();
  finish(t, Result::refused, {*objection.at},
         named ? fmt::format("{}: {}", name_of(*objection.at), objection.why) : objection.why);
}

void Coordinator::Impl::abort(Running& t, Result result, std::vector<SwitchId> blamed,
                              std::string_view why) {
  for (RunningStep& step : t.steps) {
    if (step.state == StepState::preparing || step.state == StepState::prepared) {
      if (inventory_.is_connected(step.at)) {
        send(step.at, Message::Verb::abort, step.number);
        open_[step.at].erase(step.number);
      }
      step.state = StepState::aborted;
    }
  }
  t.released = std::exchange(t.target, std::nullopt);
  finish(t, result, std::move(blamed), why);
}

std::string Coordinator::Impl::outcome_text(const Running& t, const Outcome& outcome,
                                            std::string_view why) const {
  const bool done = outcome.result == Result::committed;
  std::string text;
  if (t.purpose == Purpose::reconcile) {
    const RunningStep& step = t.steps.front();
    const std::size_t changes = step.changes.size();
    text = fmt::format("{}: {} table update{} {}applied", name_of(step.at), changes,
                       changes == 1 ? "" : "s", done ? "" : "not ");
  } else {
    const char* what = t.purpose == Purpose::install  ? "installed"
                       : t.purpose == Purpose::change ? "changed"
                                                      : "removed";
    text = fmt::format("{} is {}{}", describe(*t.subject), done ? "" : "not ", what);
  }
  if (!why.empty()) {
    text += fmt::format(": {}", why);
  }
  if (done && !outcome.out_of_sync.empty()) {
    text += fmt::format("; out of sync: {}", names_of(outcome.out_of_sync));
  }
  return text;
}

void Coordinator::Impl::finish(Running& t, Result result, std::vector<SwitchId> blamed,
                               std::string_view why) {
  clear_deadline(t);
  t.state = result == Result::committed ? TransactionState::committed
            : result == Result::refused ? TransactionState::refused
                                        : TransactionState::timed_out;
  Outcome outcome{.transaction = t.number,
                  .purpose = t.purpose,
                  .subject = t.subject,
                  .result = result,
                  .blamed = std::move(blamed),
                  .out_of_sync = t.subject ? out_of_sync(*t.subject) : std::vector<SwitchId>{},
                  .text = {},
                  .no_room = t.no_room};
  outcome.text = outcome_text(t, outcome, why);
  remember(t, outcome.text);
  outcomes.push_back(std::move(outcome));

  if (t.purpose == Purpose::reconcile) {
    reconciliation_ended(t);
  } else {
    if (t.released) {
      inventory_.release(*t.released);
      for (const Need& need : t.released->needs) {
        switches_due_.insert(need.at.at);
      }
    }
    for (const RunningStep& step : t.steps) {
      if (step.state == StepState::out_of_sync) {
        for (const GuardedPermission& given : step.changes.permit) {
          inventory_.at(step.at).permissions.look_at(given.permission);
        }
        switches_due_.insert(step.at);
      }
    }
    queues_.at(*t.subject).queue.pop_front();
    subjects_due_.insert(*t.subject);
    note_out_of_sync(*t.subject);
  }
  running_.erase(t.number);
}

void Coordinator::Impl::remember(const Running& t, const std::string& text) {
  if (settings_.history == 0) {
    return;
  }
  if (history_.size() >= settings_.history) {
    history_.pop_back();
  }
  history_.push_front(view_of(t));
  history_.front().text = text;
}

} // namespace tributary::transaction
