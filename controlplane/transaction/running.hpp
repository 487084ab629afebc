// A transaction while it is under way.
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

/// One Prepare at one switch, and what has become of it.
struct RunningStep {
  SwitchId at;
  std::uint64_t number = 0; ///< on the wire; a switch that is told twice is told under two numbers
  unsigned stage = 0;
  /// The switch only loses what it has: it never stops the transaction.
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
  std::size_t unanswered = 0;          ///< steps that `keeps_waiting` is true of
  bool decision_needs_leaving = false; ///< a removal
  bool some_behind = false;            ///< from here on the order of stages is broken
  bool no_room = false;                ///< why it was refused: less of the same might go

  std::optional<Target> released; ///< its needs are over with the end
};

/// Whether the decision, or the stage, waits for this step's answer.
[[nodiscard]] bool keeps_waiting(const Running& running, const RunningStep& step);

[[nodiscard]] TransactionView view_of(const Running& running);

} // namespace tributary::transaction
