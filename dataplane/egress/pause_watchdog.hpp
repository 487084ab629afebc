// Limits the effect of a neighbour that never stops pausing: a full queue that fills the queues of
// all ports before it, until nothing moves. As SONiC's PFC watchdog, with the action drop.
//
//              paused for detection_ns without a break
//   watching  ------------------------------------------>  given up
//             <------------------------------------------
//              not paused for restoration_ns without a break
//
// While a class is given up, frames in its queue and new ones are dropped as `paused_too_long`.
// Breaks are determined by the times of pause frames, not by the frequency of calls.
//
// Written by the port's worker; `given_up_now` and `times` may be read by any thread, for reports.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/egress/pause_receiver.hpp"
#include "dataplane/egress/queue_settings.hpp"

#include <array>

namespace tributary::egress {

class PauseWatchdog {
public:
  explicit PauseWatchdog(const WatchdogSettings& settings) : settings_(settings) {}

  /// `pauses` must be up to date. Returns the classes that are given up.
  ClassSet update(const PauseReceiver& pauses, TimeNs now);
  /// Restores all classes.
  void forget();

  /// When `update` may return a different answer, if no pause frame arrives before.
  [[nodiscard]] TimeNs next_deadline(const PauseReceiver& pauses) const;
  [[nodiscard]] ClassSet given_up() const { return given_up_; }

  // Any thread.

  [[nodiscard]] ClassSet given_up_now() const {
    return ClassSet(static_cast<std::uint8_t>(published_.read()));
  }
  /// Number of times the class was given up.
  [[nodiscard]] std::uint64_t times(TrafficClass c) const { return times_[c.value].read(); }

private:
  WatchdogSettings settings_;
  ClassSet given_up_;
  std::array<core::Counter, traffic_classes> times_;
  Gauge published_; ///< `given_up_`
};

} // namespace tributary::egress
