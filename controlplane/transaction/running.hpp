// A transaction in progress.
//
// Plain data; the coordinator's own.
#pragma once

#include "controlplane/transaction/messages.hpp"
#include "controlplane/transaction/transaction.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::transaction {

/// One Prepare at one switch, and its state.
struct RunningStep {
  SwitchId at;
  std::uint64_t number = 0; ///< on the wire; two updates of one switch have two numbers
  unsigned stage = 0;
  /// The switch only removes content: it never aborts the transaction.
  bool leaving = false;
  StepState state = StepState::preparing;
  Changes changes;
};

struct Running {
  TransactionNumber number;
  Purpose purpose = Purpose::install;
  std::optional<Subject> subject;
  std::optional<Target> target; ///< none for a removal; handed on when it is decided
  TransactionState state = TransactionState::queued;
  TimeNs since;
  TimeNs deadline = never;

  std::vector<RunningStep> steps;      ///< by stage
  unsigned stage = 0;                  ///< the one that commits
  std::size_t unanswered = 0;          ///< steps for which `keeps_waiting` holds
  bool decision_needs_leaving = false; ///< a removal
  bool some_out_of_sync = false;       ///< from here on the order of stages is broken
  bool no_room = false;                ///< why it was refused: a smaller request may fit

  std::optional<Target> released; ///< its needs end with the transaction
};

/// Whether the decision, or the stage, waits for this step's answer.
[[nodiscard]] bool keeps_waiting(const Running& running, const RunningStep& step);

[[nodiscard]] TransactionView view_of(const Running& running);

} // namespace tributary::transaction
