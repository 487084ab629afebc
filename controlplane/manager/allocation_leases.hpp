// Launchers that are gone without a word: an allocation with a lease ends when its launcher said
// nothing for so long. What counts is a request of its own: the allocation, and each renewal. That
// a connection is open says nothing, because TCP keeps connections to machines that are dead.
//
//   leases.begin(job);                       it has an allocation, or another one
//   leases.renew(job);                       its launcher has said that it lives
//   end = leases.hold(caller, job, end);     a follower of its events; the answer ends that
//   for (job : leases.end()) ...             in a turn: those whose allocation has ended now
//   leases.forget(job);                      it has none any more
//
// A launcher of a version that renews nothing follows the job's events: until the job's first
// renewal that keeps the allocation, as long as the connection lasts.
//
// A restart begins each lease again, because no launcher could renew meanwhile. A launcher that was
// not heard between two restarts gets half as long with each further one, so that restarts keep no
// allocation of a dead launcher for ever. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/deadline_queue.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/manager/environment.hpp"
#include "controlplane/manager/events.hpp"
#include "controlplane/manager/manager_clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
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
  /// The manager has restarted.
  void restore(const group::Job& job);
  /// Nothing without a lease.
  void renew(const std::string& job);
  /// As long as the caller follows; `unsubscribe` ends that, and what is answered does that, too.
  [[nodiscard]] std::function<void()> hold(const api::Caller& caller, const std::string& job,
                                           std::function<void()> unsubscribe);
  void forget(const std::string& job);
  /// Ends the allocations whose time has come, and jobs that were made for them.
  [[nodiscard]] std::vector<std::string> end();
  [[nodiscard]] TimeNs next_deadline() const { return ends_.next(); }

private:
  struct Lease {
    std::uint32_t followers = 0; ///< of the job's events, with its token
    bool is_renewed = false;     ///< by requests: followers do not count
  };
  /// The launcher was heard, now.
  void extend(const std::string& job, const Lease& lease);
  /// The first word after a restart is stored, in the next turn.
  void note_heard(const std::string& job);

  Environment& environment_;
  ManagerClock& clock_;
  group::Registry& registry_;
  Events& events_;
  std::map<std::string, Lease> leases_; ///< of jobs whose allocation has one
  group::DeadlineQueue<std::string> ends_;
  std::set<std::string> heard_; ///< for the first time since a restart
};

} // namespace tributary::manager
