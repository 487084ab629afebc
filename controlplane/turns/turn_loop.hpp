// The manager's turn: requests are stored, controllers act until none has anything left, the
// resulting changes are stored, and then clients and switches are notified.
//
//   TurnLoop turns(rooms, {&first, &second}, waits_until);
//   turns.reconcile()       when the environment was asked for it, and at next_deadline()
//   turns.stored(failure)   at the end of a write
//
// First the requests since the last turn are stored, in one transaction; if the store fails (disk
// full), they are taken back. Then the controllers act; the resulting changes are stored, in
// another transaction; and only then do they finish. So thousands of simultaneous requests cost one
// write, and nothing is acknowledged that a crash could lose.
//
// A write takes as long as the disk takes, and does not block the loop: the turn continues when
// `stored` is called. Requests for changes wait until the turn is over (`hold_back`), because they
// could not be taken back separately from those that are being written.
//
// With a replicated store a turn whose answers no write has confirmed ends with a confirmation
// (replies.hpp). While the manager is suspended (`suspend`) no turn begins, and the one that waits
// for its write waits on: no answer is sent, and no switch is changed.
//
// Pure.
#pragma once

#include "controlplane/group/registry.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"
#include "controlplane/turns/replies.hpp"
#include "controlplane/turns/stall_detector.hpp"
#include "controlplane/turns/store_writer.hpp"
#include "controlplane/turns/turn_slice.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tributary::turns {

class TurnLoop {
public:
  struct Rooms {
    Environment& environment;
    ManagerClock& clock;
    StallDetector& stalls;
    TurnSlice& slice;
    Events& events;
    StoreWriter& store;
    Replies& replies;
    group::Registry& registry;
    const topology::Graph& graph;
  };
  /// `waits_until`: until when known switches are waited for; TimeNs{} once they are not. Throws
  /// std::logic_error when the order is wrong (Controllers).
  TurnLoop(const Rooms& rooms, std::vector<Controller*> in_order,
           std::function<TimeNs()> waits_until)
      : rooms_(rooms), controllers_(rooms.stalls, std::move(in_order)),
        waits_until_(std::move(waits_until)) {}

  void reconcile();
  void stored(const std::string& failure);
  /// It is not known whether this manager leads. Held back requests are handed over, to be refused.
  void suspend(const std::string& why);
  void resume();
  /// In the environment's time.
  [[nodiscard]] TimeNs next_deadline() const;

  /// Calls it when the turn is over.
  void hold_back(std::function<void()> request) { held_back_.push_back(std::move(request)); }
  /// The number of the turn that takes the next request.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const Controllers& controllers() const { return controllers_; }

private:
  [[nodiscard]] Turn turn() const;
  /// Four parts; each is followed by a write or a confirmation, or by the next part.
  void store_requests();
  void run();
  void finish();
  void end();
  void hand_over_held_back();
  void report_pause();

  Rooms rooms_;
  Controllers controllers_;
  std::function<TimeNs()> waits_until_;
  std::uint64_t number_ = 1;
  bool is_wanted_ = false; ///< requested during a write
  std::vector<std::function<void()>> held_back_;
  std::optional<std::string> stored_; ///< a write that ended while the manager is suspended
};

} // namespace tributary::turns
