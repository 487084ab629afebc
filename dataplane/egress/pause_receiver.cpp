#include "dataplane/egress/pause_receiver.hpp"

#include <algorithm>

namespace tributary::egress {

void PauseReceiver::receive(const wire::PauseFrame& pause, TimeNs now) {
  update(now);
  pause.classes.for_each([&](TrafficClass c) {
    if (!obeying_.contains(c)) {
      counters_[c.value].ignored.add();
      return;
    }
    counters_[c.value].received.add();
    Pause& p = pauses_[c.value];
    const std::uint16_t quanta = pause.quanta[c.value];
    if (quanta == 0) {
      p.until = std::min(p.until, now);
      paused_.erase(c);
      return;
    }
    if (!paused_.contains(c)) {
      p.since = p.counted = now;
      paused_.insert(c);
    }
    p.until = now + wire::pause_ns(quanta, speed_mbps_);
  });
  published_.set(paused_.bits());
}

ClassSet PauseReceiver::update(TimeNs now) {
  paused_.for_each([&](TrafficClass c) {
    count_time(c, now);
    if (pauses_[c.value].until <= now) {
      paused_.erase(c);
    }
  });
  published_.set(paused_.bits());
  return paused_;
}

void PauseReceiver::forget(TimeNs now) {
  update(now);
  paused_.for_each([&](TrafficClass c) { pauses_[c.value].until = now; });
  paused_ = {};
  published_.set(0);
}

void PauseReceiver::count_time(TrafficClass c, TimeNs now) {
  Pause& p = pauses_[c.value];
  const TimeNs end = std::min(now, p.until);
  counters_[c.value].paused_ns.add(elapsed_ns(end, p.counted));
  p.counted = std::max(p.counted, end);
}

} // namespace tributary::egress
