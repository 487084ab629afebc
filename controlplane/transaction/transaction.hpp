// Reports on a transaction: its outcome, and its state.
//
// Plain data.
#pragma once

#include "controlplane/transaction/subject.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::transaction {

enum class Purpose : std::uint8_t {
  install,
  change,
  remove,
  reconcile, ///< one switch receives the differences to what is wanted there
};

enum class Result : std::uint8_t {
  /// In force everywhere except at the switches of `out_of_sync`, which get it when they reconnect.
  committed,
  /// Nothing has changed anywhere; the switches of `blamed` refused, or were lost.
  refused,
  /// Nothing has changed anywhere; the switches of `blamed` did not answer in time.
  timed_out,
};

/// How a transaction ended.
struct Outcome {
  TransactionNumber transaction;
  Purpose purpose = Purpose::install;
  /// Nothing for a reconciliation of several.
  std::optional<Subject> subject;
  Result result = Result::committed;
  std::vector<SwitchId> blamed;      ///< why it failed; empty when committed
  std::vector<SwitchId> out_of_sync; ///< decided, and not in force there yet
  std::string text;     ///< for a person: "tree 7 is not installed: leaf0: port 9 does..."
  bool no_room = false; ///< refused, and a smaller request may fit
};

enum class TransactionState : std::uint8_t {
  queued,     ///< behind another one on the same subject
  preparing,  ///< not decided yet
  committing, ///< decided
  committed,
  refused,
  timed_out,
};

enum class StepState : std::uint8_t {
  preparing,  ///< asked, not answered
  prepared,   ///< waits for its stage to commit
  committing, ///< sent, not answered
  committed,
  out_of_sync, ///< decided, but the switch is lost or cannot be updated yet
  aborted,     ///< forgotten, here or everywhere
};

/// A transaction as `GET /api/v1/transactions` shows it.
struct TransactionView {
  struct Step {
    SwitchId at;
    StepState state = StepState::preparing;
  };
  TransactionNumber number;
  Purpose purpose = Purpose::install;
  std::optional<Subject> subject;
  TransactionState state = TransactionState::queued;
  std::vector<Step> steps;         ///< by switch; one with two updates is listed twice
  std::vector<SwitchId> waits_for; ///< pending answers
  TimeNs since;                    ///< time of the request
  std::string text;                ///< of the outcome, once decided
};

[[nodiscard]] std::string_view name(Purpose purpose);
[[nodiscard]] std::string_view name(Result result);
[[nodiscard]] std::string_view name(TransactionState state);
[[nodiscard]] std::string_view name(StepState state);

} // namespace tributary::transaction
