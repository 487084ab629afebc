#include "controlplane/turns/manager_clock.hpp"

#include <algorithm>
#include <utility>

namespace tributary::turns {
namespace {

constexpr std::uint64_t beat_ns = 250'000'000;
constexpr std::uint64_t longest_turn_ns = 2 * beat_ns;

} // namespace

TimeNs ManagerClock::now() {
  if (stopped_at_) {
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

void ManagerClock::freeze() {
  if (!stopped_at_) {
    static_cast<void>(now()); // a pause before it
    stopped_at_ = last_look_;
  }
}

void ManagerClock::thaw() {
  if (is_suspended_ || is_held_) {
    return;
  }
  if (const auto since = std::exchange(stopped_at_, std::nullopt)) {
    last_look_ = environment_.now();
    const std::uint64_t stopped = elapsed_ns(last_look_, *since);
    paused_ns_ += stopped;
    pause_reported_ns_ += stopped; // it has an event of its own
  }
}

void ManagerClock::stop() {
  is_suspended_ = true;
  freeze();
}

void ManagerClock::resume() {
  is_suspended_ = false;
  thaw();
}

void ManagerClock::hold() {
  is_held_ = true;
  freeze();
}

void ManagerClock::release() {
  if (std::exchange(is_held_, false)) {
    thaw();
    started_ = time();
    environment_.request_reconcile();
  }
}

TimeNs ManagerClock::call_at(TimeNs deadline) const {
  return deadline == never || is_held_ ? never
                                       : std::min(deadline + paused_ns_, last_look_ + beat_ns);
}

std::uint64_t ManagerClock::take_pause_ns() {
  return paused_ns_ - std::exchange(pause_reported_ns_, paused_ns_);
}

} // namespace tributary::turns
