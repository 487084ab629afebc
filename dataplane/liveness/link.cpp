#include "dataplane/liveness/link.hpp"

namespace tributary::liveness {
namespace {

/// After a restart of the neighbour, the sequence does not show losses.
constexpr std::uint32_t most_missed = 10'000;
/// Factor by which the allowed silence grows while other frames arrive.
constexpr std::uint64_t overflow_factor = 10;

wire::LinkEnd end_of(const wire::Hello& hello) { return {hello.guid, hello.port}; }

} // namespace

void Link::enter(State state, TimeNs now) {
  if (status_.state != state) {
    status_.state = state;
    status_.since = now;
  }
  if (state != State::checking) {
    check_by_ = never;
  }
  if (state != State::down) {
    release_at_ = never;
  }
  good_ = 0;
}

void Link::go_down(Reason reason, TimeNs now) {
  if (status_.state == State::down) {
    return;
  }
  enter(State::down, now);
  ++status_.times_down;
  status_.last_reason = reason;
  status_.last_silence_ns = hears() ? elapsed_ns(now, last_heard_) : 0;
}

void Link::begin_to_watch(TimeNs now) {
  enter(State::checking, now);
  check_by_ = now + settings_.idle_interval_ns;
  fast_until_ = now + settings_.idle_interval_ns;
  send_soon(now);
}

void Link::stop_watching(TimeNs now) {
  if (watched()) {
    enter(State::unwatched, now);
    status_.neighbour.reset();
    silent_at_ = never;
    send_at_ = never;
  }
}

void Link::carrier_changed(bool up, TimeNs now) {
  if (up == carrier_) {
    return;
  }
  carrier_ = up;
  if (!watched()) {
    return;
  }
  if (!up) {
    go_down(Reason::carrier, now);
    silent_at_ = never;
    release_at_ = never;
    send_at_ = never;
    good_ = 0;
  } else {
    if (status_.state == State::down) {
      release_at_ = now + settings_.idle_interval_ns * 7 / 2;
    }
    fast_until_ = now + settings_.idle_interval_ns;
    send_soon(now);
  }
}

void Link::hello(const wire::Hello& hello, TimeNs now) {
  if (settings_.interval_ns == 0) {
    return;
  }
  const bool leaves = hello.interval_ms == 0;
  if (hello.kind == wire::HelloKind::host || !hello.link_hellos) {
    if (!leaves) {
      stop_watching(now);
    }
    return;
  }
  if (leaves) {
    if (watched() && (!status_.neighbour || *status_.neighbour == end_of(hello))) {
      go_down(Reason::left, now);
      silent_at_ = never;
    }
    return;
  }
  if (end_of(hello) == self_) {
    return; // our own, from a link that ends at its beginning
  }
  release_at_ = never;
  if (!watched()) {
    begin_to_watch(now);
  } else if (!hears()) {
    fast_until_ = now + settings_.idle_interval_ns;
    send_soon(now);
  }
}

void Link::link_hello(const wire::LinkHello& hello, TimeNs now) {
  if (settings_.interval_ns == 0 || hello.sender == self_) {
    return;
  }
  if (!watched()) {
    begin_to_watch(now);
  }
  ++status_.hellos_heard;
  const bool same = status_.neighbour == hello.sender;
  if (!same) {
    if (status_.state == State::up) {
      go_down(Reason::other_neighbour, now);
    }
    status_.neighbour = hello.sender;
    good_ = 0;
  } else if (hears()) {
    const std::uint32_t missed = hello.sequence - sequence_heard_ - 1;
    status_.hellos_missed += missed <= most_missed ? missed : 0;
    if (status_.state == State::up) {
      status_.longest_gap_ns = std::max(status_.longest_gap_ns, elapsed_ns(now, last_heard_));
    }
  }
  if (!same || !hears()) {
    send_soon(now); // it may be waiting for ours
  }
  sequence_heard_ = hello.sequence;
  last_heard_ = now;
  status_.last_heard = now;
  hold_time_ns_ = settings_.misses * hello.interval_ms * ns_per_ms;
  silent_at_ = now + hold_time_ns_;
  stall_excused_ = false;
  release_at_ = never;
  fast_until_ = now + settings_.idle_interval_ns;
  if (carrier_) { // the last one may have left at the idle interval
    send_at_ = std::min(send_at_, now + settings_.interval_ns);
  }

  const bool hears_us = hello.heard == self_;
  if (!hears_us) {
    good_ = 0;
    if (status_.state == State::up) {
      go_down(Reason::one_way, now);
    }
  } else if (status_.state == State::checking ||
             (status_.state == State::down && ++good_ >= settings_.good)) {
    enter(State::up, now);
  }
}

/// Whether this switch may have caused the silence.
bool Link::excused(TimeNs now, bool stalled, std::uint64_t own_delay_ns) {
  if (stalled && !stall_excused_) {
    stall_excused_ = true;
    return true;
  }
  const std::uint64_t silence_ns = elapsed_ns(now, last_heard_);
  if (own_delay_ns != 0 && silence_ns < settings_.misses * (settings_.interval_ns + own_delay_ns)) {
    return true;
  }
  return elapsed_ns(now, last_frame_) < settings_.interval_ns &&
         silence_ns < overflow_factor * hold_time_ns_;
}

void Link::poll(TimeNs now, bool frames_came, bool stalled, std::uint64_t own_delay_ns) {
  if (frames_came) {
    last_frame_ = now;
  }
  if (now >= silent_at_) {
    if (excused(now, stalled, own_delay_ns)) {
      silent_at_ = now + settings_.interval_ns;
    } else {
      go_down(Reason::silent, now);
      silent_at_ = never;
      good_ = 0;
      send_soon(now); // informs the other end, if it still receives ours
    }
  }
  if (now >= check_by_) {
    go_down(Reason::one_way, now);
  }
  if (now >= release_at_) {
    stop_watching(now);
  }
}

std::optional<wire::LinkHello> Link::take_hello(TimeNs now, std::uint64_t own_delay_ns) {
  if (now < send_at_) {
    return std::nullopt;
  }
  const std::uint64_t interval_ns =
      now < fast_until_ ? settings_.interval_ns : settings_.idle_interval_ns;
  send_at_ = now + (interval_ns - random_.below(interval_ns / 4 + 1));
  ++status_.hellos_sent;
  wire::LinkHello hello{.sender = self_,
                        .sequence = ++sequence_,
                        .interval_ms = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(
                            (interval_ns + own_delay_ns) / ns_per_ms, 1, 0xFFFF)),
                        .uses_link = usable(),
                        .heard = {}};
  if (hears()) {
    hello.heard = status_.neighbour;
  }
  return hello;
}

} // namespace tributary::liveness
