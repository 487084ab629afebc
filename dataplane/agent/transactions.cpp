#include "dataplane/agent/transactions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::agent {

void Transactions::prepare(const control::Prepare& prepare, Messages& out) {
  const std::uint64_t transaction = prepare.transaction();
  if (prepared_.contains(transaction)) {
    return refuse(transaction, "a transaction with this number is already prepared", out);
  }
  if (prepared_.size() >= max_prepared_) {
    return refuse(transaction,
                  fmt::format("{} transactions are prepared already, the most that this switch "
                              "keeps; commit or abort some",
                              prepared_.size()),
                  out);
  }
  for (const control::Change& change : prepare.changes()) {
    if (std::string problem = in_force_.problem_with(change); !problem.empty()) {
      return refuse(transaction, std::move(problem), out);
    }
  }
  if (std::string problem = in_force_.lack_of_room(prepare, prepared_); !problem.empty()) {
    refuse(transaction, std::move(problem), out);
    out.back().mutable_refused()->set_no_room(true);
    return;
  }
  prepared_.emplace(transaction, prepare);
  ++counts_.prepared;
  out.emplace_back().mutable_prepared()->set_transaction(transaction);
}

void Transactions::commit(std::uint64_t transaction, Messages& out) {
  const auto it = prepared_.find(transaction);
  if (it == prepared_.end()) {
    return refuse(transaction, "it is not prepared here", out);
  }
  for (const control::Change& change : it->second.changes()) {
    in_force_.apply(change);
  }
  prepared_.erase(it);
  ++counts_.committed;
  const std::uint64_t version = in_force_.version() + (in_force_.dirty() ? 1 : 0);
  if (version <= published_) {
    acknowledge(transaction, out); // the requested state is in force
  } else {
    unacknowledged_.push_back({transaction, version});
  }
}

void Transactions::published(std::uint64_t version, Messages& out) {
  published_ = std::max(published_, version);
  const auto later = std::ranges::find_if(
      unacknowledged_, [&](const Commit& commit) { return commit.version > published_; });
  for (auto it = unacknowledged_.begin(); it != later; ++it) {
    acknowledge(it->transaction, out);
  }
  unacknowledged_.erase(unacknowledged_.begin(), later);
}

void Transactions::forget() {
  counts_.forgotten += prepared_.size();
  prepared_.clear();
  unacknowledged_.clear();
}

bool Transactions::replace_file(config::Switch file) {
  const bool other_trees = in_force_.replace_file(std::move(file));
  if (other_trees) {
    forget();
  }
  return other_trees;
}

void Transactions::refuse(std::uint64_t transaction, std::string reason, Messages& out) {
  ++counts_.refused;
  last_refusal_ = fmt::format("transaction {}: {}", transaction, reason);
  control::Refused& refused = *out.emplace_back().mutable_refused();
  refused.set_transaction(transaction);
  refused.set_reason(std::move(reason));
}

void Transactions::acknowledge(std::uint64_t transaction, Messages& out) const {
  control::Committed& committed = *out.emplace_back().mutable_committed();
  committed.set_transaction(transaction);
  committed.set_version(published_);
}

} // namespace tributary::agent
