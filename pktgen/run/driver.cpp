#include "pktgen/run/driver.hpp"

#include <algorithm>

namespace tributary::pktgen {

bool Driver::iterate(TimeNs now) {
  bool worked = false;
  for (PortIndex p = 0; p < ports_.size(); ++p) {
    if (ports_[p] == nullptr) {
      continue;
    }
    const auto frames = ports_[p]->receive();
    if (frames.empty()) {
      continue;
    }
    worked = true;
    const TimeNs arrived = clock_.now();
    counts_.received += frames.size();
    for (const core::FrameView& frame : frames) {
      counts_.strangers += traffic_.receive(p, frame, arrived) ? 0 : 1;
    }
  }
  traffic_.generate(ports_, now);
  std::uint64_t sent = 0;
  for (Port* port : ports_) {
    if (port != nullptr) {
      port->flush();
      sent += port->sent_frames();
    }
  }
  worked = worked || sent != sent_;
  sent_ = sent;
  return worked;
}

void Driver::rest(TimeNs now) const {
  const std::uint64_t until_due = elapsed_ns(traffic_.next_due(), now);
  const std::uint64_t ns = std::min(until_due, longest_sleep_ns);
  if (ns != 0) {
    const timespec pause{0, static_cast<long>(ns)};
    nanosleep(&pause, nullptr);
  }
}

} // namespace tributary::pktgen
