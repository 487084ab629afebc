#include "dataplane/egress/pause_sender.hpp"

namespace tributary::egress {

std::optional<wire::PauseFrame> PauseSender::due_while_pausing(ClassSet wanted, TimeNs now) const {
  if (wanted == asserted_ && now < refresh_at_) {
    return std::nullopt;
  }
  wire::PauseFrame pause;
  pause.classes = wanted | asserted_;
  wanted.for_each([&](TrafficClass c) { pause.quanta[c.value] = quanta_; });
  return pause;
}

void PauseSender::sent(const wire::PauseFrame& pause, TimeNs now) {
  asserted_ = {};
  pause.classes.for_each([&](TrafficClass c) {
    if (pause.quanta[c.value] == 0) {
      counters_[c.value].resumes.add();
    } else {
      counters_[c.value].pauses.add();
      asserted_.insert(c);
    }
  });
  refresh_at_ = now + wire::pause_ns(quanta_, speed_mbps_) / 2;
}

} // namespace tributary::egress
