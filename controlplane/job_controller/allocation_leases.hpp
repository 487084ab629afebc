// Leases against launchers that vanish: an allocation with a lease ends when its launcher was
// silent for that long. Only its own requests count: the allocation, and each renewal. An open
// connection does not, because TCP keeps connections to machines that are dead.
//
//   leases.begin(job);                       it has an allocation, or a new one
//   leases.renew(job);                       its launcher is alive
//   end = leases.hold(caller, job, end);     a follower of its events, until `end` is called
//   for (job : leases.end()) ...             in a turn: those whose allocation has ended now
//   leases.forget(job);                      its allocation is gone
//
// A launcher of a version without renewals follows the job's events: until the job's first renewal
// an open connection extends the lease.
//
// Each lease starts again after a restart, because no launcher could renew meanwhile. It is halved
// with each further restart without a request of the launcher, so that restarts do not keep the
// allocation of a dead launcher forever. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/deadline_queue.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
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
  /// No effect without a lease.
  void renew(const std::string& job);
  /// Extends the lease as long as the caller follows. The returned function replaces `unsubscribe`.
  [[nodiscard]] std::function<void()> hold(const api::Caller& caller, const std::string& job,
                                           std::function<void()> unsubscribe);
  void forget(const std::string& job);
  /// Ends the allocations whose lease has run out, and jobs that were made for them.
  [[nodiscard]] std::vector<std::string> end();
  [[nodiscard]] TimeNs next_deadline() const { return ends_.next(); }

private:
  struct Lease {
    std::uint32_t followers = 0; ///< of the job's events, with its token
    bool is_renewed = false;     ///< by requests: followers do not extend the lease
  };
  /// The launcher has sent a request now.
  void extend(const std::string& job, const Lease& lease);
  /// The first request after a restart is stored, in the next turn.
  void note_heard(const std::string& job);

  turns::Environment& environment_;
  turns::ManagerClock& clock_;
  group::Registry& registry_;
  turns::Events& events_;
  std::map<std::string, Lease> leases_; ///< jobs whose allocation has a lease
  group::DeadlineQueue<std::string> ends_;
  std::set<std::string> heard_; ///< jobs with a first request since a restart
};

} // namespace tributary::job_controller
