#include "dataplane/egress/pause_watchdog.hpp"

#include <algorithm>

namespace tributary::egress {

ClassSet PauseWatchdog::update(const PauseReceiver& pauses, TimeNs now) {
  if (settings_.detection_ns == 0) {
    return {};
  }
  (pauses.paused() - given_up_).for_each([&](TrafficClass c) {
    if (elapsed_ns(now, pauses.since(c)) >= settings_.detection_ns) {
      given_up_.insert(c);
      times_[c.value].add();
    }
  });
  (given_up_ - pauses.paused()).for_each([&](TrafficClass c) {
    if (elapsed_ns(now, pauses.until(c)) >= settings_.restoration_ns) {
      given_up_.erase(c);
    }
  });
  published_.set(given_up_.bits());
  return given_up_;
}

void PauseWatchdog::forget() {
  given_up_ = {};
  published_.set(0);
}

TimeNs PauseWatchdog::next_deadline(const PauseReceiver& pauses) const {
  TimeNs due = never;
  if (settings_.detection_ns != 0) {
    (pauses.paused() - given_up_).for_each([&](TrafficClass c) {
      due = std::min(due, pauses.since(c) + settings_.detection_ns);
    });
    (given_up_ - pauses.paused()).for_each([&](TrafficClass c) {
      due = std::min(due, pauses.until(c) + settings_.restoration_ns);
    });
  }
  return due;
}

} // namespace tributary::egress
