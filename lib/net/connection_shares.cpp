#include "lib/net/connection_shares.hpp"

#include <limits>
#include <utility>

namespace tributary::net {

namespace {

/// Callers that are examined for an idle connection.
constexpr int most_looked_at = 16;

} // namespace

ConnectionShares::Rank ConnectionShares::rank_of(const Caller& caller) {
  return {weight(caller.is_job, caller.count()), !caller.is_job,
          std::numeric_limits<std::uint64_t>::max() - caller.since};
}

template <typename Change> void ConnectionShares::change(Callers::iterator caller, Change make) {
  const std::size_t before = caller->second.count();
  if (before != 0) {
    ranks_.erase(rank_of(caller->second));
  }
  make(caller->second);
  if (caller->second.count() == 0) {
    callers_.erase(caller);
    return;
  }
  if (caller->second.count() != before) {
    caller->second.since = ++changes_;
  }
  ranks_.emplace(rank_of(caller->second), caller);
}

void ConnectionShares::put(Id connection, const std::string& name, bool is_job, bool is_working) {
  const auto caller = callers_.try_emplace(name).first;
  change(caller, [&](Caller& of) {
    of.is_job = is_job;
    std::list<Id>& list = is_working ? of.working : of.resting;
    connections_[connection] = {caller, list.insert(list.end(), connection), is_working};
  });
}

ConnectionShares::Admission ConnectionShares::admit(Id connection, const std::string& address,
                                                    bool is_full) {
  std::optional<Id> goes;
  if (is_full || connections_.size() >= most_) {
    goes = to_go_for(address);
    if (!goes) {
      return {};
    }
    remove(*goes);
  }
  put(connection, address, false, false);
  return {.is_admitted = true, .to_close = goes};
}

std::optional<ConnectionShares::Id> ConnectionShares::to_go_for(const std::string& address) const {
  const auto own = callers_.find(address);
  const std::size_t before = own == callers_.end() ? 0 : own->second.count();
  const std::size_t after = weight(false, before + 1);
  int looked_at = 0;
  for (auto it = ranks_.rbegin(); it != ranks_.rend() && looked_at < most_looked_at;
       ++it, ++looked_at) {
    const Caller& caller = it->second->second;
    const std::size_t theirs = std::get<0>(it->first);
    const bool has_more = theirs > after;
    if (!caller.resting.empty() &&
        (has_more || theirs >= after || it->second == own || (before == 0 && caller.count() > 1))) {
      return caller.resting.front();
    }
    if (has_more) {
      return caller.working.front();
    }
  }
  if (own != callers_.end() && !own->second.resting.empty()) {
    return own->second.resting.front();
  }
  return std::nullopt;
}

void ConnectionShares::belongs_to(Id connection, const std::string& caller, bool is_job) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.caller->first == caller) {
    return;
  }
  const bool is_working = found->second.is_working;
  remove(connection);
  put(connection, caller, is_job, is_working);
}

void ConnectionShares::works(Id connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || std::exchange(found->second.is_working, true)) {
    return;
  }
  Caller& caller = found->second.caller->second;
  caller.working.splice(caller.working.end(), caller.resting, found->second.at);
}

void ConnectionShares::rests(Id connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || !std::exchange(found->second.is_working, false)) {
    return;
  }
  Caller& caller = found->second.caller->second;
  caller.resting.splice(caller.resting.end(), caller.working, found->second.at);
}

void ConnectionShares::remove(Id connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) {
    return;
  }
  const Connection gone = found->second;
  connections_.erase(found);
  change(gone.caller,
         [&gone](Caller& of) { (gone.is_working ? of.working : of.resting).erase(gone.at); });
}

} // namespace tributary::net
