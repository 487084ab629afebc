// The manager's transactions at one switch: the prepared ones, the committed ones that wait for
// their snapshot to be in force, and the answers to both. agent.hpp has the rules.
//
// Answers are appended to the `out` of each call, in the order in which they become true.
//
// Pure; belongs to one Agent.
#pragma once

#include "dataplane/agent/in_force.hpp"
#include "dataplane/agent/transaction_counts.hpp"
#include "tributary/control.pb.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tributary::agent {

class Transactions {
public:
  using Messages = std::vector<control::SwitchMessage>;
  using Counts = TransactionCounts;

  Transactions(config::Switch file, std::size_t max_prepared)
      : in_force_(std::move(file)), max_prepared_(max_prepared) {}

  void prepare(const control::Prepare& prepare, Messages& out);
  void commit(std::uint64_t transaction, Messages& out);
  void abort(std::uint64_t transaction) { counts_.aborted += prepared_.erase(transaction); }
  /// Discards all prepared transactions and pending answers.
  void forget();

  [[nodiscard]] std::string problem_with(const config::Switch& file) const {
    return in_force_.problem_with(file);
  }
  /// Returns whether the trees of the file changed; prepared transactions are then discarded,
  /// because they were checked against the previous ones.
  bool replace_file(config::Switch file);

  /// Null if nothing has changed since the last one.
  [[nodiscard]] std::shared_ptr<const core::Tables> take_tables() {
    return in_force_.dirty() ? in_force_.make_snapshot() : nullptr;
  }
  void published(std::uint64_t version, Messages& out);
  /// Whether everything committed is in force.
  [[nodiscard]] bool is_in_force() const {
    return !in_force_.dirty() && in_force_.version() == published_;
  }

  [[nodiscard]] const InForce& in_force() const { return in_force_; }
  [[nodiscard]] std::uint64_t published_version() const { return published_; }
  [[nodiscard]] std::size_t prepared_now() const { return prepared_.size(); }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }

private:
  /// Committed, and not yet acknowledged.
  struct Commit {
    std::uint64_t transaction = 0;
    std::uint64_t version = 0; ///< of the first snapshot that contains it
  };

  void refuse(std::uint64_t transaction, std::string reason, Messages& out);
  void acknowledge(std::uint64_t transaction, Messages& out) const;

  InForce in_force_;
  std::size_t max_prepared_;
  std::map<std::uint64_t, control::Prepare> prepared_; ///< by transaction
  std::vector<Commit> unacknowledged_;                 ///< in ascending order of versions
  std::uint64_t published_ = 0;                        ///< version
  Counts counts_;
  std::string last_refusal_;
};

} // namespace tributary::agent
