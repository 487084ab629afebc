#include "controlplane/manager/allocation_leases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

void AllocationLeases::begin(const group::Job& job) {
  const auto found = leases_.find(job.id);
  if (!job.allocation || job.allocation->lease_ms == 0) {
    if (found != leases_.end()) {
      leases_.erase(found);
    }
    return;
  }
  Lease& lease = leases_[job.id];
  if (lease.followers == 0) {
    lease.end = clock_.now() + std::uint64_t{job.allocation->lease_ms} * 1'000'000;
  }
}

std::function<void()> AllocationLeases::hold(const api::Caller& caller, const std::string& name,
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
      begin(*job);
      environment_.request_reconcile();
    }
  };
}

TimeNs AllocationLeases::next_deadline() const {
  TimeNs first = never;
  for (const auto& [name, lease] : leases_) {
    first = std::min(first, lease.end);
  }
  return first;
}

std::vector<std::string> AllocationLeases::end() {
  std::vector<std::string> over;
  for (const auto& [name, lease] : leases_) {
    if (lease.end <= clock_.now()) {
      over.push_back(name);
    }
  }
  std::vector<std::string> ended;
  for (const std::string& name : over) {
    leases_.erase(name);
    const records::Allocation* const allocation = registry_.find_allocation(name);
    if (allocation == nullptr) {
      continue;
    }
    events_.tell("job",
                 fmt::format("the launcher of job {} has not been heard of for {} s: {}", name,
                             allocation->lease_ms / 1000,
                             allocation->has_made_job ? "the job ends" : "its allocation ends"),
                 {{"job", name}});
    if (allocation->has_made_job) {
      static_cast<void>(registry_.delete_job(name, clock_.now()));
    } else {
      static_cast<void>(registry_.set_allocation(name, std::nullopt));
    }
    ended.push_back(name);
  }
  return ended;
}

} // namespace tributary::manager
