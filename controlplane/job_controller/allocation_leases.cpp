#include "controlplane/job_controller/allocation_leases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tributary::job_controller {

namespace {

/// The lease of an allocation that was restored this often without a request of its launcher.
std::uint64_t term_ns(const records::Allocation& allocation) {
  constexpr std::uint32_t most_halvings = 32;
  const std::uint32_t restarts = std::max(allocation.restarts_unheard, 1U);
  return std::uint64_t{allocation.lease_ms} * 1'000'000 >> std::min(restarts - 1, most_halvings);
}

} // namespace

void AllocationLeases::begin(const group::Job& job) {
  if (!job.allocation || job.allocation->lease_ms == 0) {
    return forget(job.id);
  }
  extend(job.id);
}

void AllocationLeases::restore(const group::Job& job) {
  if (!job.allocation || job.allocation->lease_ms == 0) {
    return;
  }
  records::Allocation allocation = *job.allocation;
  ++allocation.restarts_unheard;
  static_cast<void>(registry_.set_allocation(job.id, std::move(allocation)));
  begin(job);
}

void AllocationLeases::extend(const std::string& job) {
  const records::Allocation* const allocation = registry_.find_allocation(job);
  ends_.set(job, allocation == nullptr ? never : clock_.now() + term_ns(*allocation));
}

void AllocationLeases::renew(const std::string& job) {
  const records::Allocation* const allocation = registry_.find_allocation(job);
  if (allocation == nullptr || allocation->lease_ms == 0) {
    return;
  }
  extend(job);
  if (allocation->restarts_unheard > 0) {
    heard_.insert(job);
    environment_.request_reconcile();
  }
}

void AllocationLeases::forget(const std::string& job) {
  ends_.drop(job);
  heard_.erase(job);
}

std::vector<std::string> AllocationLeases::end() {
  for (const std::string& name : std::exchange(heard_, {})) {
    if (const records::Allocation* const known = registry_.find_allocation(name)) {
      records::Allocation allocation = *known;
      allocation.restarts_unheard = 0;
      static_cast<void>(registry_.set_allocation(name, std::move(allocation)));
      extend(name);
    }
  }
  std::vector<std::string> ended;
  while (const auto due = ends_.take_due(clock_.now())) {
    const std::string& name = *due;
    forget(name);
    const records::Allocation* const allocation = registry_.find_allocation(name);
    if (allocation == nullptr) {
      continue;
    }
    events_.report("job",
                   fmt::format("the launcher of job {} has been silent for {} s: {}", name,
                               term_ns(*allocation) / 1'000'000'000,
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

} // namespace tributary::job_controller
