// Requests that wait for a state of their group: members that join, and creations of a multicast.
//
//   waiters.wait(group, waiter);     checked at the end of the turn, and after every change
//
// Answers go through Replies. Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/api/views.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/replies.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tributary::manager {

class GroupWaiters final : public turns::Controller {
public:
  struct Waiter {
    api::Reply reply;
    TimeNs until = never;
    std::optional<std::uint32_t> rank; ///< for a membership; otherwise a multicast
    std::uint64_t turn = 0;            ///< in which it arrived
  };
  GroupWaiters(const turns::ManagerClock& clock, group::Registry& registry,
               const api::ReadView& read_view, turns::Replies& replies)
      : clock_(clock), registry_(registry), read_view_(read_view), replies_(replies) {}

  void wait(group::GroupId group, Waiter waiter);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "waiting requests"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  /// Those of a group that is gone are answered now.
  void acted(const group::Action& action) override;
  /// Answers the requests of this turn.
  void requests_failed(std::uint64_t turn, const api::Answer& error) override;
  void superseded(const api::Answer& error) override;
  void finish(const turns::Turn& turn) override;
  /// O(waiters).
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& turn) const override;

private:
  [[nodiscard]] api::Views views() const { return {read_view_, clock_.time()}; }
  void wake(const group::Group& group);
  void wake();
  void time_out(TimeNs now);
  [[nodiscard]] std::optional<api::Answer> final_answer(const group::Group& group,
                                                        const Waiter& waiter) const;

  const turns::ManagerClock& clock_;
  group::Registry& registry_;
  const api::ReadView& read_view_;
  turns::Replies& replies_;
  std::multimap<group::GroupId, Waiter> waiters_;
  std::set<group::GroupId> to_wake_;
};

} // namespace tributary::manager
