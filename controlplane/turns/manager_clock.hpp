// The manager's time: the environment's without the spans in which the manager did not run.
//
// While a deadline is pending, the manager wants to be called every `beat_ns`. If the gap exceeds
// `longest_turn_ns`, it was stopped, or a write hung, and no client could reach it: such a gap
// counts for no lease, time limit or answer. Nor does the time in which the manager is suspended
// and refuses its clients.
//
//   clock.now()                          in everything that changes state: notices a pause
//   clock.time()                         the same for const queries
//   clock.wait_until(deadline)           at the end of a turn: whether a deadline is pending
//   clock.stop(), clock.resume()         around a suspension
//   clock.hold(), clock.release()        while it may not act; neither is reported as a pause
//
// One clock for the manager and all its parts. Pure: the environment reads the real clock.
#pragma once

#include "controlplane/turns/environment.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>

namespace tributary::turns {

class ManagerClock {
public:
  explicit ManagerClock(Environment& environment)
      : environment_(environment), last_look_(environment.now()), started_(last_look_) {}

  /// Requests a turn after a pause, so that the pause is reported.
  [[nodiscard]] TimeNs now();
  [[nodiscard]] TimeNs time() const {
    return {stopped_at_.value_or(environment_.now()).value - paused_ns_};
  }
  /// When this clock was created, or released last.
  [[nodiscard]] TimeNs started() const { return started_; }

  /// It is not known whether the manager leads: the time stands still until `resume`. Once stopped,
  /// it is stopped.
  void stop();
  void resume();
  /// The manager may not act, as the operator may change: the time stands still until `release`,
  /// and switches are then waited for as after a start.
  void hold();
  void release();
  [[nodiscard]] bool is_held() const { return is_held_; }

  /// The first deadline, in this time; `never`: a pause would not be noticed.
  void wait_until(TimeNs deadline) { waits_ = deadline != never; }
  /// When to call the manager for this deadline, in the environment's time: at most one beat from
  /// now.
  [[nodiscard]] TimeNs call_at(TimeNs deadline) const;
  /// Length of the pauses since the last call.
  [[nodiscard]] std::uint64_t take_pause_ns();

private:
  void freeze();
  void thaw();

  Environment& environment_;
  TimeNs last_look_; ///< in the environment's time
  TimeNs started_;
  std::uint64_t paused_ns_ = 0; ///< how far this time is behind the environment's
  std::uint64_t pause_reported_ns_ = 0;
  bool waits_ = true; ///< for some deadline, as of the last turn
  bool is_suspended_ = false;
  bool is_held_ = false;
  std::optional<TimeNs> stopped_at_; ///< in the environment's time; with one of both
};

} // namespace tributary::turns
