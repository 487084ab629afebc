#include "controlplane/turns/store_writer.hpp"

#include "controlplane/api/status.hpp"
#include "controlplane/turns/topology_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tributary::turns {
namespace {

constexpr std::uint64_t store_pause_ns = 1'000'000'000;
/// How long changes of the topology alone may wait.
constexpr std::uint64_t topology_pause_ns = 1'000'000'000;

} // namespace

void StoreWriter::replace_topology(topology::Touched touched) {
  topology_ = {.touched = std::move(touched), .replaces_stored = true};
}

void StoreWriter::write_requests(std::vector<records::Change> changes) {
  records::Backlog asked;
  asked.add(std::move(changes));
  begin(Written::requests, [changes = asked.changes()] { return changes; });
}

void StoreWriter::confirm() {
  begin(Written::confirmation, [] { return std::vector<records::Change>(); });
}

void StoreWriter::begin(Written what, std::function<std::vector<records::Change>()> changes) {
  const Section section(stalls_, "the store");
  writing_ = what;
  began_ = environment_.now();
  ++(what == Written::confirmation ? confirmations_ : writes_);
  environment_.store(std::move(changes));
}

bool StoreWriter::has_waiting() {
  if (topology_at_ == never && !topology_.empty()) {
    topology_at_ = clock_.now() + topology_pause_ns;
  }
  return again_ == never && (!backlog_.empty() || topology_is_due());
}

bool StoreWriter::write_waiting(const topology::Graph& graph) {
  if (!has_waiting()) {
    return false;
  }
  begin(Written::waiting, take(graph));
  return true;
}

StoreWriter::Written StoreWriter::stored(const std::string& failure) {
  longest_write_ns_ = std::max(longest_write_ns_, elapsed_ns(environment_.now(), began_));
  if (!failure.empty()) {
    note_failure(failure);
  } else if (is_failing() && writing_ != Written::confirmation) {
    failure_.clear();
    events_.report("manager", "the store accepts changes again");
  }
  const Written written = std::exchange(writing_, Written::nothing);
  if (written == Written::waiting) {
    if (failure.empty()) {
      backlog_.clear();
    } else if (written_topology_) {
      topology_.touched.add(written_topology_->touched);
      topology_.replaces_stored |= written_topology_->replaces_stored;
      topology_at_ = again_;
    }
    written_topology_.reset();
  }
  return written;
}

std::function<std::vector<records::Change>()> StoreWriter::take(const topology::Graph& graph) {
  topology_at_ = never;
  if (!topology_.empty()) {
    written_topology_ = std::make_shared<TopologyChanges>(std::exchange(topology_, {}));
    written_topology_->snapshot = graph;
  }
  return [changes = backlog_.changes(), topology = written_topology_]() mutable {
    if (topology && topology->replaces_stored) {
      changes.emplace_back(records::EraseTopology{});
    }
    if (topology) {
      std::ranges::move(changes_of(topology->snapshot, topology->touched),
                        std::back_inserter(changes));
    }
    return std::move(changes);
  };
}

std::vector<records::Change> StoreWriter::take_waiting(const topology::Graph& graph) {
  return take(graph)();
}

void StoreWriter::begin(const Turn& turn) {
  if (again_ <= turn.now || clock_.is_held()) { // a time that stands still comes to no attempt
    again_ = never;
  }
}

TimeNs StoreWriter::next_deadline(const Turn& /*turn*/) const {
  return again_ == never ? topology_at_ : again_;
}

void StoreWriter::begin_failing(const std::string& why) {
  failure_ = why;
  events_.report("manager", fmt::format("changes cannot be stored: {}", failure_), {},
                 Severity::error);
}

void StoreWriter::is_away(std::string_view why) {
  if (!is_failing()) {
    away_ = why;
    environment_.request_reconcile();
  }
}

bool StoreWriter::notice_away() {
  const std::string why = std::exchange(away_, {});
  if (why.empty() || is_failing()) {
    return false;
  }
  note_failure(why);
  return true;
}

void StoreWriter::note_failure(std::string_view why) {
  if (!is_failing()) {
    events_.report("manager", fmt::format("changes cannot be stored: {}", why), {},
                   Severity::error);
  }
  failure_ = why;
  again_ = clock_.now() + store_pause_ns;
}

api::Answer StoreWriter::error_answer() const {
  api::Answer answer = api::error_answer(
      503, fmt::format("nothing can be changed now: {}; running groups continue", failure_));
  answer.retry_after = api::retry_soon_seconds;
  return answer;
}

void StoreWriter::suspend(const std::string& why) {
  if (!is_suspended()) {
    ++suspensions_;
    events_.report("manager", fmt::format("suspended: {}; running groups continue", why), {},
                   Severity::error);
  }
  suspended_ = why;
}

void StoreWriter::resume() {
  if (is_suspended()) {
    suspended_.clear();
    events_.report("manager", "this manager leads again");
  }
}

api::Answer StoreWriter::suspended_answer() const {
  api::Answer answer = api::error_answer(
      503, fmt::format("it is not known whether this manager leads: {}; running groups continue",
                       suspended_));
  answer.retry_after = api::retry_soon_seconds;
  return answer;
}

bool StoreWriter::refuses(const api::Reply& reply) const {
  if (!is_failing()) {
    return false;
  }
  reply(error_answer());
  return true;
}

} // namespace tributary::turns
