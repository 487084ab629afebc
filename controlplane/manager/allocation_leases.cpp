// Launchers that are gone without a word: an allocation with a lease ends when for so long nobody
// has followed the job's events with its token, as its launcher does while the job runs.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

void Manager::begin_lease(const group::Job& job) {
  const auto found = leases_.find(job.id);
  if (!job.allocation || job.allocation->lease_ms == 0) {
    if (found != leases_.end()) {
      leases_.erase(found);
    }
    return;
  }
  AllocationLease& lease = leases_[job.id];
  if (lease.followers == 0) {
    lease.end = now() + std::uint64_t{job.allocation->lease_ms} * 1'000'000;
  }
}

std::function<void()> Manager::hold_lease(const api::Caller& caller, const std::string& name,
                                          std::function<void()> unsubscribe) {
  const auto own = registry_.job_of_token(caller.token);
  const auto found = leases_.find(name);
  if (caller.token.empty() || !own || (*own)->id != name || found == leases_.end()) {
    return unsubscribe;
  }
  ++found->second.followers;
  found->second.end = never;
  return [this, name, unsubscribe = std::move(unsubscribe), is_over = false]() mutable {
    unsubscribe();
    const auto lease = leases_.find(name);
    if (std::exchange(is_over, true) || lease == leases_.end() || lease->second.followers == 0) {
      return;
    }
    --lease->second.followers;
    if (const group::Job* const job = registry_.find_job(name)) {
      begin_lease(*job);
      environment_.request_reconcile();
    }
  };
}

TimeNs Manager::first_lease_end() const {
  TimeNs first = never;
  for (const auto& [name, lease] : leases_) {
    first = std::min(first, lease.end);
  }
  return first;
}

void Manager::end_leases() {
  if (store_.is_failing()) {
    return;
  }
  std::vector<std::string> over;
  for (const auto& [name, lease] : leases_) {
    if (lease.end <= now()) {
      over.push_back(name);
    }
  }
  for (const std::string& name : over) {
    leases_.erase(name);
    const records::Allocation* const allocation = allocation_of(name);
    if (allocation == nullptr) {
      continue;
    }
    events_.tell("job",
                 fmt::format("the launcher of job {} has not been heard of for {} s: {}", name,
                             allocation->lease_ms / 1000,
                             allocation->has_made_job ? "the job ends" : "its allocation ends"),
                 {{"job", name}});
    if (allocation->has_made_job) {
      static_cast<void>(registry_.delete_job(name, now()));
    } else {
      static_cast<void>(registry_.set_allocation(name, std::nullopt));
    }
    look_at_ports(name);
  }
}

} // namespace tributary::manager
