// Leases against launchers that vanish: an allocation with a lease ends when its launcher was
// silent for that long. Only its own requests count: the allocation, and each renewal. An open
// connection does not, because TCP keeps connections to machines that are dead.
//
//   leases.begin(job);                       it has an allocation, or a new one
//   leases.renew(job);                       its launcher is alive
//   for (job : leases.end()) ...             in a turn: those whose allocation has ended now
//   leases.forget(job);                      its allocation is gone
//
// Each lease starts again after a restart, because no launcher could renew meanwhile. It is halved
// with each further restart without a request of the launcher, so that restarts do not keep the
// allocation of a dead launcher forever. Pure.
#pragma once

#include "controlplane/group/deadline_queue.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tributary::job_controller {

class AllocationLeases {
public:
  AllocationLeases(turns::Environment& environment, turns::ManagerClock& clock,
                   group::Registry& registry, turns::Events& events)
      : environment_(environment), clock_(clock), registry_(registry), events_(events) {}

  /// Ends the lease if the job's allocation has none any more.
  void begin(const group::Job& job);
  /// The manager has restarted.
  void restore(const group::Job& job);
  /// No effect without a lease. The first one after a restart is stored, in the next turn.
  void renew(const std::string& job);
  void forget(const std::string& job);
  /// Ends the allocations whose lease has run out, and jobs that were made for them.
  [[nodiscard]] std::vector<std::string> end();
  [[nodiscard]] TimeNs next_deadline() const { return ends_.next(); }

private:
  /// The launcher has sent a request now.
  void extend(const std::string& job);

  turns::Environment& environment_;
  turns::ManagerClock& clock_;
  group::Registry& registry_;
  turns::Events& events_;
  group::DeadlineQueue<std::string> ends_;
  std::set<std::string> heard_; ///< jobs with a first request since a restart
};

} // namespace tributary::job_controller
