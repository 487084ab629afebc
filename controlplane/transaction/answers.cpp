// Answers of switches, and missing answers.
#include "controlplane/transaction/coordinator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::transaction {

void Coordinator::Impl::prepared(Running& t, RunningStep& step, TimeNs now) {
  if (step.state != StepState::preparing) {
    return;
  }
  const bool waited_for = keeps_waiting(t, step);
  step.state = StepState::prepared;
  if (t.state == TransactionState::committing && waited_for) {
    commit(t, step); // its stage has begun without it
  }
  if (waited_for && !keeps_waiting(t, step)) {
    step_answered(t, now);
  }
}

void Coordinator::Impl::refused(Running& t, RunningStep& step, const Answer& answer, TimeNs now) {
  const SwitchId at = step.at;
  open_[at].erase(step.number);
  if (t.purpose == Purpose::reconcile) {
    reconciliation_refused(t, answer.reason);
  } else if (t.state == TransactionState::preparing) {
    step.state = StepState::aborted;
    t.no_room = answer.no_room;
    abort(t, Result::refused, {at}, fmt::format("{}: {}", name_of(at), answer.reason));
  } else {
    if (step.state == StepState::committing) {
      inventory_.not_applied(at, step.changes);
    }
    leave_out_of_sync(t, step, now);
  }
}

void Coordinator::Impl::committed(Running& t, RunningStep& step, TimeNs now) {
  if (step.state != StepState::committing) {
    return;
  }
  step.state = StepState::committed;
  open_[step.at].erase(step.number);
  inventory_.applied(step.at, step.changes);
  if (t.purpose == Purpose::reconcile) {
    finish(t, Result::committed, {}, {});
  } else {
    step_answered(t, now);
  }
}

void Coordinator::Impl::lose(SwitchId at, std::string_view why, TimeNs now) {
  inventory_.lost(at);
  to_reconcile_.erase(at);
  const auto steps = open_.extract(at);
  if (!steps) {
    return;
  }
  for (const auto& [number, key] : steps.mapped()) {
    const auto found = running_.find(key.transaction);
    if (found != running_.end()) { // an earlier step of this switch may have ended it
      lose_step(found->second, found->second.steps[key.step], why, now);
    }
  }
}

void Coordinator::Impl::lose_step(Running& t, RunningStep& step, std::string_view why, TimeNs now) {
  if (step.state == StepState::out_of_sync) {
    return; // its stage has begun meanwhile
  }
  const std::string text = fmt::format("{} is lost: {}", name_of(step.at), why);
  if (t.purpose == Purpose::reconcile) {
    step.state = StepState::out_of_sync;
    finish(t, Result::refused, {step.at}, text);
  } else if (t.state == TransactionState::preparing && !step.leaving) {
    step.state = StepState::aborted;
    abort(t, Result::refused, {step.at}, text);
  } else {
    leave_out_of_sync(t, step, now);
  }
}

void Coordinator::Impl::leave_out_of_sync(Running& t, RunningStep& step, TimeNs now) {
  const bool waited_for = keeps_waiting(t, step);
  step.state = StepState::out_of_sync;
  t.some_out_of_sync = true;
  if (waited_for) {
    step_answered(t, now);
  }
}

void Coordinator::Impl::give_up(SwitchId at, const std::string& why, TimeNs now) {
  if (const auto session = inventory_.at(at).session) {
    closures.push_back({at, *session, why});
    lose(at, why, now);
  }
}

void Coordinator::Impl::out_of_time(Running& t, TimeNs now) {
  clear_deadline(t);
  std::vector<SwitchId> late;
  bool stops_it = false;
  for (const RunningStep& step : t.steps) {
    if (keeps_waiting(t, step) && std::find(late.begin(), late.end(), step.at) == late.end()) {
      late.push_back(step.at);
      stops_it = stops_it || !step.leaving;
    }
  }
  if (t.state == TransactionState::preparing && stops_it) {
    const auto limit =
        std::chrono::duration_cast<std::chrono::milliseconds>(settings_.prepare_limit);
    const std::string text =
        fmt::format("no answer from {} within {} ms", names_of(late), limit.count());
    abort(t, Result::timed_out, std::move(late), text);
    return;
  }
  const std::string why = fmt::format("it does not answer transaction {}", t.number.value);
  for (const SwitchId at : late) {
    give_up(at, why, now);
  }
}

} // namespace tributary::transaction
