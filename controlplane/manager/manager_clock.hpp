// The manager's time: that of the environment without the spans in which the manager did not run.
//
// While something is waited for, the manager wants to be called every `beat_ns`. Where it was not
// for longer than `longest_turn_ns` it was stopped, or a write hung, and nobody could reach it:
// none of that counts for anybody's lease, time limit or answer.
//
//   clock.now()                          in everything that the manager does: sees a pause
//   clock.time()                         the same for those who only look
//   clock.wait_until(deadline)           at the end of a turn: whether anything is waited for
//
// One for the manager; all that it is made of read theirs from it. Pure: the environment reads the
// clock.
#pragma once

#include "controlplane/manager/environment.hpp"
#include "tributary/types.hpp"

#include <cstdint>

namespace tributary::manager {

class ManagerClock {
public:
  explicit ManagerClock(Environment& environment)
      : environment_(environment), last_look_(environment.now()), started_(last_look_) {}

  /// Asks for a turn where there was a pause, so that it is told of.
  [[nodiscard]] TimeNs now();
  [[nodiscard]] TimeNs time() const { return {environment_.now().value - paused_ns_}; }
  /// When this one was made.
  [[nodiscard]] TimeNs started() const { return started_; }

  /// The first deadline there is, in this time; `never`: a pause would not be noticed.
  void wait_until(TimeNs deadline) { waits_ = deadline != never; }
  /// When the manager is to be called for this deadline, in the environment's time: no later than
  /// after a beat.
  [[nodiscard]] TimeNs call_at(TimeNs deadline) const;
  /// Of pauses since the last call.
  [[nodiscard]] std::uint64_t take_pause_ns();

private:
  Environment& environment_;
  TimeNs last_look_; ///< at the time of the environment
  TimeNs started_;
  std::uint64_t paused_ns_ = 0; ///< which this time is behind that
  std::uint64_t pause_told_ns_ = 0;
  bool waits_ = true; ///< for some deadline, as of the last turn
};

} // namespace tributary::manager
