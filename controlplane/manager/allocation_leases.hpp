// Launchers that are gone without a word: an allocation with a lease ends when for so long nobody
// has followed the job's events with its token, as its launcher does while the job runs.
//
//   leases.begin(job);                       it has an allocation, or another one
//   end = leases.hold(caller, job, end);     a follower; the answer ends that
//   for (job : leases.end()) ...             in a turn: those whose allocation has ended now
//   leases.forget(job);                      it has none any more
//
// In memory: after a restart every lease begins anew. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/manager/environment.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/manager_clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tributary::manager {

class AllocationLeases {
public:
  AllocationLeases(Environment& environment, ManagerClock& clock, group::Registry& registry,
                   Events& events)
      : environment_(environment), clock_(clock), registry_(registry), events_(events) {}

  /// Or the end of it, where the job's allocation has none any more.
  void begin(const group::Job& job);
  /// As long as the caller follows; `unsubscribe` ends that, and what is answered does that, too.
  [[nodiscard]] std::function<void()> hold(const api::Caller& caller, const std::string& job,
                                           std::function<void()> unsubscribe);
  void forget(const std::string& job) { leases_.erase(job); }
  /// Ends the allocations whose time has come, and jobs that were made for them.
  [[nodiscard]] std::vector<std::string> end();
  [[nodiscard]] TimeNs next_deadline() const;

private:
  struct Lease {
    std::uint32_t followers = 0; ///< of the job's events, with its token
    TimeNs end = never;          ///< `never` while there are any
  };
  Environment& environment_;
  ManagerClock& clock_;
  group::Registry& registry_;
  Events& events_;
  std::map<std::string, Lease> leases_; ///< of jobs whose allocation has one
};

} // namespace tributary::manager
