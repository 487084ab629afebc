// The parts of the manager as its turn knows them.
//
// A controller decides about one subject: trees of groups, unicast routes, ports of jobs. It hears
// notices, says when it is due, and carries out in a turn what it wants changed:
//
//   begin       once, first: what is due by time
//   handle      again and again, in the order of the list, until no controller has anything left
//   conclude    once, when nothing is left and before the changes are written
//   finish      once, after the write: answers to clients, messages to switches
//
// `Controllers` is the list in the order of a turn. Each controller names those that have to come
// before it, and the list is refused if they do not: the order is written in one place (the
// constructor of Manager) and checked wherever a manager is made.
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::turns {

class StallDetector;

/// The situation in which a controller acts.
struct Turn {
  TimeNs now{};
  /// Shortly after a start, while known switches have not reconnected: no table of a switch is
  /// computed again.
  bool waits_for_switches = false;
  /// When that wait ends at the latest; TimeNs{} without one.
  TimeNs waits_until{};
  bool store_is_failing = false;
  /// No controller has work that is due. Valid in `conclude`.
  bool is_idle = false;

  /// When work may begin that has to wait for switches.
  [[nodiscard]] TimeNs start_of(TimeNs due) const {
    return due == never ? never : std::max(due, waits_until);
  }
};

class Controller {
public:
  Controller() = default;
  virtual ~Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  /// A literal: the subject, for the order and for reports of long turns.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Names of controllers that come before it, if they are in the list. Literals.
  [[nodiscard]] virtual std::span<const std::string_view> after() const { return {}; }

  // ---- what it hears ----

  /// The topology has changed.
  virtual void fabric_changed() {}
  /// The host was learned or lost, has moved, or its switch has gained or lost its channel.
  virtual void host_changed(Nid /*host*/) {}
  /// The registry wants something done for a group, or a group has changed.
  virtual void acted(const group::Action& /*action*/) {}
  virtual void ended(const transaction::Outcome& /*outcome*/) {}
  /// The requests since the last turn are on disk.
  virtual void requests_stored() {}
  /// They are not, and are taken back: those that arrived in this turn are answered with the error.
  virtual void requests_failed(std::uint64_t /*turn*/, const api::Answer& /*error*/) {}

  /// The manager may change nothing from now on: who waits for a change gets this answer.
  virtual void superseded(const api::Answer& /*error*/) {}

  // ---- what it does in a turn ----

  virtual void begin(const Turn& /*turn*/) {}
  /// Returns whether something was done, which may be work for others.
  virtual bool handle(const Turn& /*turn*/) { return false; }
  /// Whether nothing is due now.
  [[nodiscard]] virtual bool is_idle(const Turn& /*turn*/) const { return true; }
  virtual void conclude(const Turn& /*turn*/) {}
  virtual void finish(const Turn& /*turn*/) {}

  /// When it wants the next turn, in the manager's time.
  [[nodiscard]] virtual TimeNs next_deadline(const Turn& /*turn*/) const { return never; }
};

class Controllers {
public:
  /// Throws std::logic_error when two have one name, or one stands before a controller that it has
  /// to follow.
  Controllers(StallDetector& stalls, std::vector<Controller*> in_order);

  /// Calls one of the functions of Controller, in order.
  template <typename... Parameters, typename... Arguments>
  void notify(void (Controller::*notice)(Parameters...), const Arguments&... arguments) const {
    for (Controller* const one : in_order_) {
      (one->*notice)(arguments...);
    }
  }
  void run(void (Controller::*phase)(const Turn&), const Turn& turn) const;
  /// Lets the first act that has something to do; false when none has.
  [[nodiscard]] bool handle(const Turn& turn) const;
  [[nodiscard]] bool are_idle(const Turn& turn) const;
  [[nodiscard]] TimeNs next_deadline(const Turn& turn) const;

private:
  StallDetector& stalls_;
  std::vector<Controller*> in_order_;
};

} // namespace tributary::turns
