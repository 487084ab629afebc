// Differences at one switch are sent as a separate transaction: Prepare and Commit together, since
// no other switch has to agree, and the channel keeps their order. So no later request can come
// between the two; and a permission that is revoked here is requested again by any subject that
// needs it from now on.
#include "controlplane/transaction/coordinator_impl.hpp"

#include <fmt/format.h>

namespace tributary::transaction {

void Coordinator::Impl::reconcile(SwitchId at, TimeNs now) {
  Inventory::Switch& s = inventory_.at(at);
  if (!s.session || reconciling_.contains(at)) {
    return;
  }
  const bool one_by_one = one_by_one_.contains(at);
  Changes changes;
  std::set<Subject>& subjects = to_reconcile_[at];
  while (!subjects.empty() && !(one_by_one && changes.size() > 0)) {
    add_difference(at, subjects.extract(subjects.begin()).value(), changes);
  }
  if (!one_by_one || changes.size() == 0) {
    Permissions::Difference difference = s.permissions.take_difference();
    changes.permit = std::move(difference.permit);
    changes.revoke = std::move(difference.revoke);
  }
  if (changes.size() == 0) {
    one_by_one_.erase(at);
    return;
  }

  const TransactionNumber number{next_wire_number()};
  Running& t = running_[number];
  t.number = number;
  t.purpose = Purpose::reconcile;
  t.state = TransactionState::committing;
  t.since = now;
  if (changes.size() == 1 && !changes.contents.empty()) {
    t.subject = changes.contents.front().first;
  }
  for (const auto& [subject, content] : changes.contents) {
    ++queues_[subject].reconciling;
  }
  reconciling_.insert(at);
  open_[at].emplace(number.value, StepKey{number, 0});
  send(at, Message::Verb::prepare, number.value, changes);
  send(at, Message::Verb::commit, number.value);
  inventory_.sending(at, changes);
  t.steps.push_back({.at = at,
                     .number = number.value,
                     .state = StepState::committing,
                     .changes = std::move(changes)});
  t.unanswered = 1;
  set_deadline(t, now + static_cast<std::uint64_t>(settings_.commit_limit.count()));
}

void Coordinator::Impl::add_difference(SwitchId at, const Subject& subject, Changes& changes) {
  const Inventory::Switch& s = inventory_.at(at);
  const auto queue = queues_.find(subject);
  if (!s.unreconciled.contains(subject) || s.stuck.contains(subject) ||
      undecided_.contains(subject) || (queue != queues_.end() && !queue->second.queue.empty())) {
    return; // the end of the transaction that is under way calls this again
  }
  const auto wanted = s.wanted.find(subject);
  if (wanted == s.wanted.end()) {
    changes.contents.emplace_back(subject, nullptr);
  } else if (s.own.contains(subject)) {
    refuse_own(at, subject);
  } else if (ContentPtr content = kind_of(subject).alone(subject, {at, wanted->second}, inventory_);
             content && !inventory_.holds({at, content}, subject)) {
    changes.contents.emplace_back(subject, std::move(content));
  }
}

void Coordinator::Impl::refuse_own(SwitchId at, const Subject& subject) {
  inventory_.at(at).stuck.insert(subject);
  outcomes.push_back(
      {.transaction = TransactionNumber{next_wire_number()},
       .purpose = Purpose::reconcile,
       .subject = subject,
       .result = Result::refused,
       .blamed = {at},
       .out_of_sync = out_of_sync(subject),
       .text = fmt::format(
           "{} does not get {}: its own file has one with this number; choose another number",
           name_of(at), describe(subject))});
}

void Coordinator::Impl::reconciliation_refused(Running& t, const std::string& reason) {
  RunningStep& step = t.steps.front();
  step.state = StepState::aborted;
  inventory_.not_applied(step.at, step.changes);
  Inventory::Switch& s = inventory_.at(step.at);
  if (step.changes.contents.empty()) {
    // Only permissions: the next hello reports them again.
  } else if (step.changes.size() > 1) {
    one_by_one_.insert(step.at); // so that an impossible one does not block the others
    for (const GuardedPermission& given : step.changes.permit) {
      s.permissions.look_at(given.permission);
    }
    for (const Permission& permission : step.changes.revoke) {
      s.permissions.look_at(permission);
    }
  } else {
    s.stuck.insert(step.changes.contents.front().first);
  }
  finish(t, Result::refused, {step.at}, fmt::format("{}: {}", name_of(step.at), reason));
}

void Coordinator::Impl::reconciliation_ended(const Running& t) {
  const RunningStep& step = t.steps.front();
  reconciling_.erase(step.at);
  switches_due_.insert(step.at);
  for (const auto& [subject, content] : step.changes.contents) {
    --queues_.at(subject).reconciling;
    subjects_due_.insert(subject);
    note_out_of_sync(subject);
  }
}

} // namespace tributary::transaction
