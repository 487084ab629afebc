// What is told about a transaction: how it ended, and how it stands.
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
  reconcile, ///< one switch gets what differs from what is wanted there
};

enum class Result : std::uint8_t {
  /// In force everywhere but at the switches of `behind`, which get it when they are back.
  committed,
  /// Nothing has changed anywhere; `blamed` refused, or were lost.
  refused,
  /// Nothing has changed anywhere; `blamed` did not answer in time.
  timed_out,
};

/// How a transaction ended.
struct Outcome {
  TransactionNumber transaction;
  Purpose purpose = Purpose::install;
  /// None for a reconciliation of several.
  std::optional<Subject> subject;
  Result result = Result::committed;
  std::vector<SwitchId> blamed; ///< why it did not become; empty when committed
  std::vector<SwitchId> behind; ///< decided, and not in force there yet
  std::string text;             ///< for a person: "tree 7 is not installed: leaf0: port 9 does..."
  bool no_room = false;         ///< refused, and less of the same might go
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
  prepared,   ///< its turn to commit has not come
  committing, ///< told to, not answered
  committed,
  behind,  ///< decided, but the switch is lost or cannot be told yet
  aborted, ///< forgotten, here or everywhere
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
  std::vector<Step> steps;         ///< by switch; one that is told twice stands there twice
  std::vector<SwitchId> waits_for; ///< whose answer is missing now
  TimeNs since;                    ///< when it was asked for
  std::string text;                ///< of the outcome, once there is one
};

[[nodiscard]] std::string_view name(Purpose purpose);
[[nodiscard]] std::string_view name(Result result);
[[nodiscard]] std::string_view name(TransactionState state);
[[nodiscard]] std::string_view name(StepState state);

} // namespace tributary::transaction
