#include "controlplane/transaction/transaction.hpp"

#include "controlplane/transaction/running.hpp"

namespace tributary::transaction {

std::string_view name(Purpose purpose) {
  switch (purpose) {
  case Purpose::install: return "install";
  case Purpose::change: return "change";
  case Purpose::remove: return "remove";
  case Purpose::reconcile: return "reconcile";
  }
  return "";
}

std::string_view name(Result result) {
  switch (result) {
  case Result::committed: return "committed";
  case Result::refused: return "refused";
  case Result::timed_out: return "timed_out";
  }
  return "";
}

std::string_view name(TransactionState state) {
  switch (state) {
  case TransactionState::queued: return "queued";
  case TransactionState::preparing: return "preparing";
  case TransactionState::committing: return "committing";
  case TransactionState::committed: return "committed";
  case TransactionState::refused: return "refused";
  case TransactionState::timed_out: return "timed_out";
  }
  return "";
}

std::string_view name(StepState state) {
  switch (state) {
  case StepState::preparing: return "preparing";
  case StepState::prepared: return "prepared";
  case StepState::committing: return "committing";
  case StepState::committed: return "committed";
  case StepState::out_of_sync: return "out_of_sync";
  case StepState::aborted: return "aborted";
  }
  return "";
}

bool keeps_waiting(const Running& running, const RunningStep& step) {
  switch (running.state) {
  case TransactionState::preparing:
    return step.state == StepState::preparing && (!step.leaving || running.decision_needs_leaving);
  case TransactionState::committing:
    return step.stage == running.stage &&
           (step.state == StepState::preparing || step.state == StepState::committing);
  default: return false;
  }
}

TransactionView view_of(const Running& running) {
  TransactionView view{.number = running.number,
                       .purpose = running.purpose,
                       .subject = running.subject,
                       .state = running.state,
                       .steps = {},
                       .waits_for = {},
                       .since = running.since,
                       .text = {}};
  for (const RunningStep& step : running.steps) {
    view.steps.push_back({step.at, step.state});
    if (keeps_waiting(running, step)) {
      view.waits_for.push_back(step.at);
    }
  }
  return view;
}

} // namespace tributary::transaction
