// Frames that leave: answers to them, losses, silence.
//
// A frame counts as lost when one that was sent later has arrived, and a round trip and the
// reordering window have passed since it was sent (RFC 8985). The window grows when copies were not
// needed, and shrinks when they were, as that of transfers does (endpoint/rdma/path_estimate.hpp).
// What is lost at the end of a burst has no later frame: after a time-out the oldest is sent again,
// and after the next one all.
#include "endpoint/streams/streams.hpp"

#include "tributary/wire/byte_order.hpp"
#include "tributary/wire/ethernet.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::streams {

namespace flag = wire::stream_flag;

namespace {

/// A longer round trip is not one: the stamp is older than it seems.
constexpr std::uint32_t longest_round_trip_ns = 2'000'000'000;

} // namespace

void Streams::take_answer(std::uint32_t s, const wire::StreamAnswer& answer,
                          std::span<const std::byte> bitmap) {
  Session& session = sessions_[s];
  const std::uint32_t in_all = session.sent - session.acked;
  const std::uint32_t ahead = answer.expected - session.acked;
  if (is_before(answer.expected, session.acked)) {
    return; // overtaken by a later one
  }
  if (ahead > in_all) {
    ++counters_.unsent_ack;
    return;
  }
  const auto before = static_cast<std::uint32_t>(session.in_flight) + session.lost;
  for (; session.acked != answer.expected; ++session.acked) {
    retire(session, s, session.acked, answer);
  }
  for (std::size_t word = 0; word < bitmap.size() / 8; ++word) {
    std::uint64_t bits = wire::load_le<std::uint64_t>(bitmap.data() + 8 * word);
    for (std::uint32_t i = static_cast<std::uint32_t>(64 * word); bits != 0; bits >>= 1, ++i) {
      const std::uint32_t number = session.acked + 1 + i;
      if ((bits & 1) != 0 && is_before(number, session.sent)) {
        retire(session, s, number, answer);
      }
    }
  }
  if (answer.credit > options_.window) {
    ++counters_.excess_credit;
  }
  const std::uint32_t limit =
      answer.expected + std::min<std::uint32_t>(answer.credit, options_.window);
  if (is_before(session.limit, limit)) {
    session.limit = limit;
    session.quiet_since = now_;
    session.stalls = 0;
  }
  if (answer.duplicates != session.peer_duplicates) {
    session.peer_duplicates = answer.duplicates;
    session.path.was_late();
  }
  if (static_cast<std::uint32_t>(session.in_flight) + session.lost != before || ahead != 0) {
    session.quiet_since = now_;
    session.stalls = 0;
    if (answer.held_us != wire::StreamAnswer::no_echo) {
      const std::uint32_t passed = stamp() - answer.echo;
      const std::uint32_t held_ns = 1000U * answer.held_us;
      if (passed < longest_round_trip_ns && passed >= held_ns) {
        session.path.sample_round_trip(passed - held_ns);
      }
    }
    make_writable(s);
    find_lost(s);
  }
  make_ready(s);
}

void Streams::retire(Session& session, std::uint32_t s, std::uint32_t number,
                     const wire::StreamAnswer& by) {
  std::uint16_t& slot = out_slot(s, number);
  if (slot == FramePool::none) {
    return;
  }
  WaitingFrame& frame = out_[slot];
  --(frame.lost ? session.lost : session.in_flight);
  // The echo of an older stamp than the copy's: the original has arrived.
  const bool by_original = frame.resent && by.held_us != wire::StreamAnswer::no_echo &&
                           is_before(by.echo, static_cast<std::uint32_t>(frame.sent_at.value));
  if (frame.resent && !by_original) {
    session.path.was_lost();
  }
  if (!by_original &&
      (session.newest_sent_at < frame.sent_at ||
       (session.newest_sent_at == frame.sent_at && is_before(session.newest_arrived, number)))) {
    session.newest_sent_at = frame.sent_at;
    session.newest_arrived = number;
  }
  out_.give_back(slot);
  slot = FramePool::none;
  if (!waiting_.empty()) {
    make_writable(waiting_.front());
  }
}

void Streams::lose(Session& session, std::uint16_t frame) {
  out_[frame].lost = true;
  --session.in_flight;
  ++session.lost;
}

void Streams::find_lost(std::uint32_t s) {
  Session& session = sessions_[s];
  session.lost_check_at = never;
  if (session.in_flight == 0) {
    return;
  }
  const std::uint64_t patience =
      (session.path.round_trip_ns == 0 ? policy_.initial_timeout_ns : session.path.round_trip_ns) +
      session.path.reordering_ns;
  for (std::uint32_t number = session.acked; number != session.sent; ++number) {
    const std::uint16_t slot = out_slot(s, number);
    if (slot == FramePool::none || out_[slot].lost) {
      continue;
    }
    const TimeNs sent_at = out_[slot].sent_at;
    const bool was_overtaken =
        sent_at < session.newest_sent_at ||
        (sent_at == session.newest_sent_at && is_before(number, session.newest_arrived));
    if (!was_overtaken) {
      continue;
    }
    if (const TimeNs due = sent_at + patience; due <= now_) {
      lose(session, slot);
    } else {
      session.lost_check_at = std::min(session.lost_check_at, due);
    }
  }
}

bool Streams::may_send(const Session& session) const {
  return session.state == SessionState::open &&
         (session.lost > 0 ||
          (session.sent != session.next && is_before(session.sent, session.limit)));
}

void Streams::make_ready(std::uint32_t s) {
  if (may_send(sessions_[s])) {
    ready_.push_back(s);
  }
}

void Streams::on_timer(std::uint32_t s) {
  Session& session = sessions_[s];
  switch (session.state) {
  case SessionState::unused:
  case SessionState::ended: return;
  case SessionState::opening:
  case SessionState::accepted:
    if (session.retry_at <= now_) {
      on_silence(s);
    }
    break;
  case SessionState::open:
    if (session.answer_at <= now_) {
      want(s, session_wants::answer);
      session.answer_at = never;
    }
    if (session.lost_check_at <= now_) {
      find_lost(s);
      make_ready(s);
    }
    if (silence_due(session) <= now_) {
      on_silence(s);
    }
    break;
  }
  plan(s);
}

TimeNs Streams::silence_due(const Session& session) const {
  const std::uint64_t timeout = timeout_ns(session);
  const auto doubled = [](std::uint64_t ns, unsigned times, unsigned most) {
    return ns << std::min(times, most);
  };
  if (session.in_flight > 0) {
    return session.quiet_since + doubled(timeout, session.stalls, most_doublings);
  }
  if (session.waits_for_credit()) {
    return session.quiet_since +
           doubled(quiet_timeouts * timeout, session.stalls, most_doublings_for_credit);
  }
  if (session.retries > 0) {
    return session.quiet_since + doubled(timeout, session.retries, most_doublings);
  }
  return options_.keepalive_ns == 0 ? never : session.heard_at + options_.keepalive_ns;
}

void Streams::on_silence(std::uint32_t s) {
  Session& session = sessions_[s];
  ++counters_.timeouts;
  session.quiet_since = now_;
  if (++session.retries > policy_.request_retries) {
    if (session.state == SessionState::accepted && !session.owned) {
      release(s);
    } else {
      end(s, Cause::unreachable);
    }
    return;
  }
  if (session.state != SessionState::open) {
    session.retry_at = never; // set when it is sent
    want(s, session.state == SessionState::opening ? session_wants::open : session_wants::accept);
    return;
  }
  if (session.stalls < 0xFFFF) {
    ++session.stalls;
  }
  if (session.in_flight == 0) {
    ++counters_.probes;
    want(s, session_wants::probe);
    return;
  }
  const bool all = session.stalls >= policy_.range_threshold;
  for (std::uint32_t number = session.acked; number != session.sent; ++number) {
    const std::uint16_t slot = out_slot(s, number);
    if (slot != FramePool::none && !out_[slot].lost) {
      lose(session, slot);
      if (!all) {
        break;
      }
    }
  }
  make_ready(s);
}

// Frames.

wire::RdmaHeader Streams::header_to(const Session& session, wire::RdmaKind kind) const {
  wire::RdmaHeader h;
  h.source = options_.address;
  h.destination = session.peer;
  h.vni = session.vni;
  h.kind = kind;
  h.message = session.peer_name;
  return h;
}

void Streams::put_answer(std::uint32_t s, wire::RdmaHeader& h) {
  Session& session = sessions_[s];
  wire::StreamAnswer answer{.expected = arrived(s), .credit = grant(session)};
  const std::uint64_t held_us = elapsed_ns(now_, session.echo_at) / ns_per_us;
  if (session.has_echo && held_us < wire::StreamAnswer::no_echo) {
    answer.echo = session.echo;
    answer.held_us = static_cast<std::uint16_t>(held_us);
  }
  answer.duplicates = session.duplicates;
  wire::put(answer, stamp(), h);
  session.unanswered = 0;
  session.answer_at = never;
}

std::size_t Streams::write(const wire::RdmaHeader& h, std::span<const std::byte> payload,
                           std::uint8_t dscp, std::byte* room) const {
  return wire::encode(h,
                      {.source_mac = wire::host_mac(options_.address.nid),
                       .destination_mac = wire::host_mac(h.destination.nid),
                       .ethertype = options_.ethertype,
                       .dscp = dscp},
                      payload, room);
}

std::size_t Streams::compose_control(std::uint32_t s, std::byte* room) {
  Session& session = sessions_[s];
  wire::RdmaHeader h = header_to(session, wire::RdmaKind::ack);
  std::array<std::byte, most_window / 8> bitmap{};
  std::size_t bytes = 0;
  const bool opens = session.state == SessionState::opening;
  if (opens || (session.wants & session_wants::accept) != 0) {
    session.wants =
        opens ? std::uint8_t{0} : static_cast<std::uint8_t>(session.wants & ~session_wants::accept);
    h.flags = opens ? flag::open : flag::accept;
    h.message = opens ? 0 : session.peer_name;
    h.dcid = grant(session);
    h.scid = payload_;
    h.generation = wire::stream_version;
    h.value = session.own_name;
    h.word = opens ? session.proof : 0;
    if (session.state != SessionState::open) {
      const std::uint64_t wait = timeout_ns(session)
                                 << std::min<unsigned>(session.retries, most_doublings);
      session.retry_at = now_ + wait + random_.below(wait / 4 + 1);
    }
  } else {
    h.flags = (session.wants & session_wants::probe) != 0 ? flag::ack_please : std::uint8_t{0};
    session.wants = 0;
    ++counters_.answers_sent;
    put_answer(s, h);
    const std::uint32_t first = h.value + 1;
    const std::uint32_t beyond = session.expected + options_.window;
    for (std::uint32_t i = 0; session.held > 0 && is_before(first + i, beyond); ++i) {
      if (in_slot(s, first + i) != FramePool::none) {
        bitmap[i / 8] |= static_cast<std::byte>(1U << i % 8);
        bytes = 8 * (i / 64 + 1);
      }
    }
  }
  plan(s);
  return write(h, std::span(bitmap).first(bytes), policy_.dscp_control, room);
}

std::size_t Streams::compose_data(std::uint32_t s, std::byte* room) {
  Session& session = sessions_[s];
  std::uint32_t number = session.sent;
  std::uint16_t slot = out_slot(s, number);
  if (session.lost > 0) {
    number = session.acked;
    for (slot = out_slot(s, number); slot == FramePool::none || !out_[slot].lost;) {
      slot = out_slot(s, ++number);
    }
    --session.lost;
    out_[slot].lost = false;
    out_[slot].resent = true;
    ++counters_.resent;
  } else {
    ++session.sent;
    ++counters_.sent;
  }
  if (session.in_flight++ == 0) {
    session.quiet_since = now_;
  }
  WaitingFrame& frame = out_[slot];
  frame.sent_at = now_;
  wire::RdmaHeader h = header_to(session, wire::RdmaKind::str);
  h.flags = frame.resent ? flag::resent : std::uint8_t{0};
  // The peer answers at once when this side has to wait for it.
  if (session.sent == session.limit || session.sent - session.acked == options_.window) {
    h.flags |= flag::ack_please;
  }
  h.pidx = number;
  put_answer(s, h);
  plan(s);
  return write(h, out_.payload_of(slot), policy_.dscp_control, room);
}

bool Streams::send(engine::Outlet& outlet) {
  // Who asks without end gets half of a turn.
  for (std::size_t n = 0; n < engine::Outlet::turn / 2 && !replies_.empty(); ++n) {
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    const std::size_t length = write(replies_.front().header, {}, policy_.dscp_control, room);
    replies_.pop();
    outlet.push(static_cast<std::uint32_t>(length));
  }
  while (!control_.empty()) {
    const std::uint32_t s = control_.front();
    Session& session = sessions_[s];
    if (session.wants == session_wants::answer && session.held == 0 && may_send(session)) {
      session.wants = 0; // its data takes the answer along
      control_.remove(s);
      continue;
    }
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    const std::size_t length = compose_control(s, room);
    if (session.wants == 0) {
      control_.remove(s);
    }
    outlet.push(static_cast<std::uint32_t>(length));
  }
  while (!ready_.empty()) {
    const std::uint32_t s = ready_.front();
    if (!may_send(sessions_[s])) {
      ready_.pop_front();
      sent_in_turn_ = 0;
      continue;
    }
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    outlet.push(static_cast<std::uint32_t>(compose_data(s, room)));
    if (++sent_in_turn_ == turn || !may_send(sessions_[s])) {
      ready_.pop_front();
      make_ready(s);
      sent_in_turn_ = 0;
    }
  }
  return true;
}

} // namespace tributary::streams
