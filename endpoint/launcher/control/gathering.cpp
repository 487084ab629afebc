#include "endpoint/launcher/control/gathering.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tributary::launch::control {

namespace {

constexpr std::uint64_t longest_limit_ms = UINT32_MAX * std::uint64_t{1000};

Gatherings::Answer answer_to(NodeIndex node, const messages::Fence& part, int status) {
  Gatherings::Answer answer{node, {}};
  answer.fence.set_kind(part.kind());
  answer.fence.set_name(part.name());
  answer.fence.set_number(part.number());
  answer.fence.set_status(status);
  return answer;
}

/// Ascending, without duplicates; all ranks of the job where none are named.
std::vector<std::uint32_t> ranks_of(const messages::Fence& part, std::size_t job) {
  std::vector<std::uint32_t> ranks(part.ranks().begin(), part.ranks().end());
  if (ranks.empty()) {
    ranks.resize(job);
    std::iota(ranks.begin(), ranks.end(), 0U);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

} // namespace

Gatherings::Gatherings(std::vector<NodeIndex> node_of_rank, GatheringLimits limits)
    : node_of_(std::move(node_of_rank)), limits_(limits) {}

int Gatherings::first_problem(NodeIndex node, const messages::Fence& part,
                              const std::vector<std::uint32_t>& ranks) const {
  if (part.name().size() > limits_.name_bytes) {
    return messages::bad_parameter;
  }
  if (ranks.back() >= node_of_.size()) {
    return messages::not_found;
  }
  if (std::none_of(ranks.begin(), ranks.end(),
                   [&](std::uint32_t rank) { return node_of_[rank] == node; })) {
    return messages::bad_parameter;
  }
  for (const auto& [rank, status] : ended_) {
    if (std::binary_search(ranks.begin(), ranks.end(), rank)) {
      return status;
    }
  }
  return messages::success;
}

std::optional<int> Gatherings::failed_before(NodeIndex node, const Key& key) {
  const auto found = failed_.find(key);
  if (found == failed_.end()) {
    return {};
  }
  const bool came_late = found->second.missing.erase(node) != 0;
  const int status = found->second.status;
  if (!came_late || found->second.missing.empty()) {
    failed_.erase(found);
  }
  return came_late ? std::optional(status) : std::nullopt;
}

Gatherings::Answers Gatherings::contribute(NodeIndex node, const messages::Fence& part,
                                           TimeNs now) {
  std::vector<std::uint32_t> ranks = ranks_of(part, node_of_.size());
  if (part.local()) {
    std::erase_if(ranks, [&](std::uint32_t rank) {
      return rank < node_of_.size() && node_of_[rank] != node;
    });
  }
  if (ranks.empty()) {
    return {answer_to(node, part, messages::bad_parameter)};
  }
  if (const int problem = first_problem(node, part, ranks); problem != messages::success) {
    return {answer_to(node, part, problem)};
  }
  const Key key{part.kind(), part.name(), std::move(ranks)};
  if (const auto status = failed_before(node, key)) {
    return {answer_to(node, part, *status)};
  }
  auto at = open_.find(key);
  if (at != open_.end() && at->second.waiting.contains(node)) {
    return {answer_to(node, part, messages::bad_parameter)}; // the first one counts
  }
  if (at == open_.end()) {
    const std::size_t own = part.name().size() + std::get<2>(key).size() * sizeof(std::uint32_t);
    if (open_.size() >= limits_.operations || bytes_ + own > limits_.all_bytes) {
      return {answer_to(node, part, messages::out_of_resource)};
    }
    at = open_.emplace(key, Operation{}).first;
    at->second.bytes = own;
    bytes_ += own;
    for (const std::uint32_t rank : std::get<2>(key)) {
      at->second.missing.insert(node_of_[rank]);
    }
  }
  Operation& operation = at->second;
  operation.missing.erase(node);
  operation.waiting[node] = part.number();
  operation.wants_id |= part.wants_id();
  if (part.limit_ms() != 0) {
    const std::uint64_t limit_ms = std::min<std::uint64_t>(part.limit_ms(), longest_limit_ms);
    operation.end_by = std::min(operation.end_by, now + limit_ms * ns_per_ms);
  }
  if (operation.data.size() + part.data().size() > limits_.data_bytes ||
      bytes_ + part.data().size() > limits_.all_bytes) {
    return fail(at, messages::out_of_resource);
  }
  if (part.status() != messages::success) {
    return fail(at, messages::ended_without_sync);
  }
  operation.data += part.data();
  operation.bytes += part.data().size();
  bytes_ += part.data().size();
  return operation.missing.empty() ? complete(at) : Answers{};
}

Gatherings::Answers Gatherings::complete(Open::iterator at) {
  const bool gives_id = at->second.wants_id && std::get<0>(at->first) == messages::Fence::CONSTRUCT;
  if (gives_id && next_id_ == 0) {
    return end(at, messages::out_of_resource, 0);
  }
  return end(at, messages::success, gives_id ? next_id_-- : 0);
}

Gatherings::Answers Gatherings::fail(Open::iterator at, int status) {
  if (!at->second.missing.empty() && limits_.failed > 0) {
    while (failed_order_.size() >= limits_.failed) {
      failed_.erase(failed_order_.front());
      failed_order_.pop_front();
    }
    failed_order_.push_back(at->first);
    failed_[at->first] = {at->second.missing, status};
  }
  return end(at, status, 0);
}

Gatherings::Answers Gatherings::end(Open::iterator at, int status, std::uint32_t context_id) {
  Operation& operation = at->second;
  bytes_ -= operation.bytes;
  Answers answers;
  for (const auto& [node, number] : operation.waiting) {
    Answer& answer = answers.emplace_back();
    answer.node = node;
    answer.fence.set_kind(static_cast<messages::Fence::Kind>(std::get<0>(at->first)));
    answer.fence.set_name(std::get<1>(at->first));
    answer.fence.set_number(number);
    answer.fence.set_status(status);
    answer.fence.set_context_id(context_id);
    if (status == messages::success) {
      answer.fence.set_data(operation.data);
    }
  }
  open_.erase(at);
  return answers;
}

Gatherings::Answers Gatherings::fail_with(std::uint32_t rank, int status) {
  ended_.try_emplace(rank, status);
  Answers answers;
  for (auto at = open_.begin(); at != open_.end();) {
    const auto& ranks = std::get<2>(at->first);
    const auto failing = at++;
    if (std::binary_search(ranks.begin(), ranks.end(), rank)) {
      std::ranges::move(end(failing, status, 0), std::back_inserter(answers));
    }
  }
  return answers;
}

Gatherings::Answers Gatherings::node_lost(NodeIndex node) {
  Answers answers;
  for (std::uint32_t rank = 0; rank < node_of_.size(); ++rank) {
    if (node_of_[rank] == node) {
      std::ranges::move(fail_with(rank, messages::lost_connection), std::back_inserter(answers));
    }
  }
  return answers;
}

Gatherings::Answers Gatherings::time_is(TimeNs now) {
  Answers answers;
  for (auto at = open_.begin(); at != open_.end();) {
    const auto failing = at++;
    if (failing->second.end_by <= now) {
      std::ranges::move(fail(failing, messages::timed_out), std::back_inserter(answers));
    }
  }
  return answers;
}

TimeNs Gatherings::deadline() const {
  TimeNs first = never;
  for (const auto& [key, operation] : open_) {
    first = std::min(first, operation.end_by);
  }
  return first;
}

} // namespace tributary::launch::control
