#include "controlplane/turns/turn_loop.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace tributary::turns {

void TurnLoop::reconcile() {
  if (rooms_.store.is_writing() || rooms_.store.is_suspended()) {
    is_wanted_ = true;
    return;
  }
  const Section section(rooms_.stalls, "the rest of a turn");
  store_requests();
}

void TurnLoop::store_requests() {
  const auto changes = rooms_.registry.changes();
  if (!changes.empty() && !rooms_.store.is_failing()) {
    rooms_.replies.write_begins();
    rooms_.store.write_requests({changes.begin(), changes.end()});
    return;
  }
  controllers_.notify(&Controller::requests_stored);
  run();
}

void TurnLoop::stored(const std::string& failure) {
  if (rooms_.store.is_suspended()) {
    stored_ = failure;
    return;
  }
  const Section section(rooms_.stalls, "the rest of a turn");
  const StoreWriter::Written written = rooms_.store.stored(failure);
  if (written == StoreWriter::Written::confirmation) {
    if (failure.empty()) {
      rooms_.replies.confirmed(std::nullopt);
    } else {
      rooms_.registry.put_something(); // so that a later turn has a write to try
      rooms_.replies.confirmed(rooms_.store.error_answer());
    }
    end();
    return;
  }
  rooms_.replies.write_ends(failure.empty());
  if (written == StoreWriter::Written::waiting) {
    finish();
    return;
  }
  if (failure.empty()) {
    static_cast<void>(rooms_.registry.take_changes());
    controllers_.notify(&Controller::requests_stored);
  } else {
    controllers_.notify(&Controller::requests_failed, number_, rooms_.store.error_answer());
  }
  run();
}

void TurnLoop::run() {
  rooms_.slice.begin();
  // After the requests since the last turn, which fail on their own, and are taken back then.
  if (rooms_.store.notice_away()) {
    rooms_.registry.put_something(); // so that the next turn has a write to try
  }
  report_pause();
  controllers_.run(&Controller::begin, turn());
  while (controllers_.handle(turn())) {
  }
  Turn last = turn();
  last.is_idle = controllers_.are_idle(last);
  controllers_.run(&Controller::conclude, last);
  rooms_.store.add(rooms_.registry.take_changes());
  if (rooms_.store.has_waiting()) {
    rooms_.replies.write_begins();
  }
  if (!rooms_.store.write_waiting(rooms_.graph)) {
    finish();
  }
}

void TurnLoop::finish() {
  controllers_.run(&Controller::finish, turn());
  if (rooms_.replies.await_confirmation()) {
    rooms_.store.confirm();
    return;
  }
  end();
}

void TurnLoop::end() {
  ++number_;
  rooms_.clock.wait_until(controllers_.next_deadline(turn()));
  rooms_.registry.begin_requests();
  hand_over_held_back();
  if (std::exchange(is_wanted_, false)) {
    rooms_.environment.request_reconcile();
  }
}

void TurnLoop::hand_over_held_back() {
  for (const auto& request : std::exchange(held_back_, {})) {
    request();
  }
}

void TurnLoop::suspend(const std::string& why) {
  rooms_.clock.stop();
  rooms_.store.suspend(why);
  hand_over_held_back();
}

void TurnLoop::resume() {
  rooms_.clock.resume();
  rooms_.store.resume();
  if (const auto ended = std::exchange(stored_, std::nullopt)) {
    stored(*ended);
  } else if (!rooms_.store.is_writing()) {
    is_wanted_ = false;
    rooms_.environment.request_reconcile();
  }
}

Turn TurnLoop::turn() const {
  const TimeNs until = waits_until_();
  return {.now = rooms_.clock.time(),
          .waits_for_switches = until != TimeNs{},
          .waits_until = until,
          .store_is_failing = rooms_.store.is_failing()};
}

TimeNs TurnLoop::next_deadline() const {
  if (rooms_.store.is_writing() || rooms_.store.is_suspended()) {
    return never; // the end of the write continues the turn; that of the suspension begins one
  }
  return rooms_.clock.call_at(controllers_.next_deadline(turn()));
}

void TurnLoop::report_pause() {
  static_cast<void>(rooms_.clock.now()); // notices a pause
  if (const std::uint64_t pause = rooms_.clock.take_pause_ns(); pause != 0) {
    rooms_.events.report(
        "manager",
        fmt::format("the manager did not run for {:.1f} s: it was stopped, or its disk or "
                    "processor was; leases and time limits are extended by that time",
                    seconds_of(pause)),
        {}, Severity::warning);
  }
}

} // namespace tributary::turns
