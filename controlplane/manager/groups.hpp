// The registry of groups in the manager's turns: hands its actions to the other controllers, keeps
// or undoes requests, and reports how groups change and end. Remembers why recent groups ended, for
// members that missed the notification and renew their lease; in memory, so that after a restart an
// ended group is unknown.
//
// Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/turn_loop.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace tributary::manager {

class Groups final : public turns::Controller {
public:
  static constexpr std::size_t most_end_reasons = 1024;

  struct Rooms {
    turns::ManagerClock& clock;
    group::Registry& registry;
    turns::Events& events;
    const turns::TurnLoop& turns;
  };
  explicit Groups(const Rooms& rooms) : rooms_(rooms) {}

  /// Why the group ended; nullptr when no such group is known to have ended.
  [[nodiscard]] const std::string* end_reason(const std::string& job,
                                              const std::string& name) const;

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "groups"; }
  [[nodiscard]] std::span<const std::string_view> after() const override;
  /// Reports a group's new state, or its end.
  void acted(const group::Action& action) override;
  void requests_stored() override { rooms_.registry.keep_requests(); }
  void requests_failed(std::uint64_t turn, const api::Answer& error) override;
  void begin(const turns::Turn& turn) override { rooms_.registry.poll(turn.now); }
  bool handle(const turns::Turn& turn) override;
  [[nodiscard]] TimeNs next_deadline(const turns::Turn& /*turn*/) const override {
    return rooms_.registry.next_deadline();
  }

private:
  using Name = std::pair<std::string, std::string>; ///< job and group
  /// Reports the state, unless the last event of the group was the same: several changes of a turn
  /// are one event.
  void report_state(const group::Group& group);
  void remember_end(const group::Group& group);

  Rooms rooms_;
  std::map<group::GroupId, std::string> reported_; ///< the text of a group's last event
  std::map<Name, std::string> end_reasons_;
  std::deque<Name> ended_; ///< keys of `end_reasons_`, oldest first
};

} // namespace tributary::manager
