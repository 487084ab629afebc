// Ends what a neighbour that never stops pausing does to a switch: a full queue that fills the
// queues of all ports before it, until nothing moves. As SONiC's PFC watchdog, with the action
// drop.
//
//              paused for detection_ns without a break
//   watching  ------------------------------------------>  given up
//             <------------------------------------------
//              not paused for restoration_ns without a break
//
// While a class is given up, what waits in its queue and what comes is dropped as
// `paused_too_long`. Breaks are told by the times of pause frames, and not by how often anybody
// looks.
//
// Written by the port's worker; `given_up_now` and `times` may be read by any thread, which tells
// people the port.
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/egress/pause_receiver.hpp"
#include "dataplane/egress/queue_settings.hpp"

#include <array>

namespace tributary::egress {

class PauseWatchdog {
public:
  explicit PauseWatchdog(const WatchdogSettings& settings) : settings_(settings) {}

  /// `pauses` must be up to date. Answers which classes are given up.
  ClassSet update(const PauseReceiver& pauses, TimeNs now);
  /// Takes all classes up again.
  void forget();

  /// When `update` may have something new to say, if no pause frame comes before.
  [[nodiscard]] TimeNs next_deadline(const PauseReceiver& pauses) const;
  [[nodiscard]] ClassSet given_up() const { return given_up_; }

  // Any thread.

  [[nodiscard]] ClassSet given_up_now() const {
    return ClassSet(static_cast<std::uint8_t>(published_.read()));
  }
  /// How often the class was given up.
  [[nodiscard]] std::uint64_t times(TrafficClass c) const { return times_[c.value].read(); }

private:
  WatchdogSettings settings_;
  ClassSet given_up_;
  std::array<core::Counter, traffic_classes> times_;
  Gauge published_; ///< `given_up_`
};

} // namespace tributary::egress
