// Requests that wait for a state of their group: members that join, and creations of a multicast.
//
//   waiters.wait(group, waiter);     checked at the end of the turn, and after every change
//   waiters.changed(group);
//   waiters.ended(group);            it is gone: they are answered now
//   waiters.wake();                  at the end of a turn, when the changes are stored
//   waiters.time_out(now);
//   waiters.take_back(turn, error);  their requests could not be stored
//
// Answers go through Replies. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/manager/manager_clock.hpp"
#include "controlplane/manager/replies.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tributary::manager {

class GroupWaiters {
public:
  struct Waiter {
    api::Reply reply;
    TimeNs until = never;
    std::optional<std::uint32_t> rank; ///< for a membership; otherwise a multicast
    std::uint64_t turn = 0;            ///< in which it arrived
  };
  GroupWaiters(const ManagerClock& clock, group::Registry& registry, const api::Sight& sight,
               Replies& replies)
      : clock_(clock), registry_(registry), sight_(sight), replies_(replies) {}

  void wait(group::GroupId group, Waiter waiter);
  void changed(group::GroupId group) { to_wake_.insert(group); }
  void ended(const group::Group& group) { wake(group); }

  void wake();
  void time_out(TimeNs now);
  void take_back(std::uint64_t turn, const api::Answer& error);
  /// O(waiters).
  [[nodiscard]] TimeNs next_deadline() const;

private:
  [[nodiscard]] api::Views views() const { return {sight_, clock_.time()}; }
  void wake(const group::Group& group);
  [[nodiscard]] std::optional<api::Answer> final_answer(const group::Group& group,
                                                        const Waiter& waiter) const;

  const ManagerClock& clock_;
  group::Registry& registry_;
  const api::Sight& sight_;
  Replies& replies_;
  std::multimap<group::GroupId, Waiter> waiters_;
  std::set<group::GroupId> to_wake_;
};

} // namespace tributary::manager
