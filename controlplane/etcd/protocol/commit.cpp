#include "controlplane/etcd/protocol/commit.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace tributary::etcd::protocol {

Commit::Commit(Keys keys, Fence fence, std::uint64_t sequence, std::vector<Part> parts)
    : keys_(std::move(keys)), fence_(std::move(fence)), sequence_(sequence),
      parts_(std::move(parts)) {}

std::string Commit::number(std::uint64_t sequence) const {
  return fmt::format("{}/{}", fence_.term, sequence);
}

Request Commit::request() const {
  Transaction transaction;
  transaction.when({.target = Compare::Target::created,
                    .key = keys_.of(fence_.name),
                    .revision = fence_.created});
  if (parts_.empty()) {
    return transaction.read(keys_.of(fence_.name)).request();
  }
  const std::string commit = keys_.of("commit");
  transaction.when({.target = Compare::Target::value, .key = commit, .value = number(sequence_)})
      .read_otherwise(keys_.of(fence_.name))
      .read_otherwise(commit)
      .put(commit, number(sequence_ + 1));
  for (const record_text::Operation& operation : parts_[part_]) {
    if (const auto* const put = std::get_if<record_text::Put>(&operation)) {
      transaction.put(keys_.record(put->key), put->text);
    } else if (const auto* const erased = std::get_if<record_text::Erase>(&operation)) {
      transaction.erase(keys_.record(erased->key));
    } else {
      const std::string key = keys_.record(std::get<record_text::EraseAll>(operation).key);
      transaction.erase_range(key, record_text::end_of(key));
    }
  }
  return transaction.request();
}

void Commit::answered(const Reply& reply) {
  pauses_ = false;
  if (const auto* const failure = std::get_if<Failure>(&reply)) {
    return failed(*failure);
  }
  try {
    judge(transaction_answer(std::get<boost::json::object>(reply)));
  } catch (const std::exception& wrong) {
    failed({Failure::Kind::unknown,
            fmt::format("etcd's answer is not one to a transaction: {}", wrong.what())});
  }
}

void Commit::judge(const TransactionAnswer& answer) {
  if (answer.succeeded) {
    return accepted();
  }
  const std::optional<KeyValue>& held = answer.read.at(0);
  if (!held || held->created != fence_.created || parts_.empty()) {
    state_ = State::fenced;
    return;
  }
  const std::optional<KeyValue>& commit = answer.read.at(1);
  if (commit && commit->value == number(sequence_ + 1)) {
    return accepted();
  }
  state_ = State::fenced; // another writer with the same right: one of the two is wrong
}

void Commit::accepted() {
  if (parts_.empty()) {
    state_ = State::done;
    return;
  }
  may_be_stored_ = true;
  ++sequence_;
  ++part_;
  if (part_ == parts_.size()) {
    state_ = State::done;
  }
}

void Commit::failed(const Failure& failure) {
  using Kind = Failure::Kind;
  failure_ = failure;
  switch (failure.kind) {
  case Kind::unknown:
    may_be_stored_ |= !parts_.empty();
    ++unknown_attempts_;
    break;
  case Kind::busy:
  case Kind::token: break;
  case Kind::no_room:
  case Kind::denied:
  case Kind::gone:
  case Kind::rejected:
    if (!may_be_stored_) {
      state_ = State::refused;
      return;
    }
    break;
  }
  pauses_ = true;
}

} // namespace tributary::etcd::protocol
