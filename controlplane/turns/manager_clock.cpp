#include "controlplane/turns/manager_clock.hpp"

#include <algorithm>
#include <utility>

namespace tributary::turns {
namespace {

constexpr std::uint64_t beat_ns = 250'000'000;
constexpr std::uint64_t longest_turn_ns = 2 * beat_ns;

} // namespace

TimeNs ManagerClock::now() {
  if (is_held_) {
    return time();
  }
  const TimeNs at = environment_.now();
  const std::uint64_t since = elapsed_ns(at, last_look_);
  if (waits_ && since > longest_turn_ns) {
    paused_ns_ += since;
    environment_.request_reconcile();
  }
  last_look_ = at;
  return time();
}

void ManagerClock::hold() {
  static_cast<void>(now()); // a pause before it counts as one
  is_held_ = true;
}

void ManagerClock::resume() {
  if (!std::exchange(is_held_, false)) {
    return;
  }
  const TimeNs at = environment_.now();
  const std::uint64_t held_ns = elapsed_ns(at, last_look_);
  paused_ns_ += held_ns;
  pause_reported_ns_ += held_ns;
  last_look_ = at;
  started_ = time();
  environment_.request_reconcile();
}

TimeNs ManagerClock::call_at(TimeNs deadline) const {
  return deadline == never || is_held_ ? never
                                       : std::min(deadline + paused_ns_, last_look_ + beat_ns);
}

std::uint64_t ManagerClock::take_pause_ns() {
  return paused_ns_ - std::exchange(pause_reported_ns_, paused_ns_);
}

} // namespace tributary::turns
