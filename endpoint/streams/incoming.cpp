// Frames that arrive: order, and credit.
//
// Credit. Each session may be `span` frames ahead of what its owner has taken. The span doubles
// when half of it was used, up to W, as long as the credit of all sessions that is not used fits
// the room that the link has for frames; where it does not, it halves, down to `least_credit`. So
// many peers that begin at once do not fill that room, and few have all of it.
#include "endpoint/streams/streams.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::streams {

namespace flag = wire::stream_flag;

std::uint32_t Streams::session_of(const wire::RdmaHeader& h) {
  const auto s = find(h.source, h.vni);
  if (!s || sessions_[*s].own_name != h.message) {
    reply_unknown(h);
    return none;
  }
  Session& session = sessions_[*s];
  switch (session.state) {
  case SessionState::open: break;
  case SessionState::accepted: become_open(*s); break; // the peer has received ACCEPT
  case SessionState::opening: ++counters_.early; return none;
  case SessionState::unused:
  case SessionState::ended: ++counters_.unknown_session; return none;
  }
  heard(session);
  return *s;
}

void Streams::take_ack(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  if ((h.flags & flag::steps) != 0) {
    take_step(h);
    return;
  }
  const std::uint32_t s = session_of(h);
  if (s == none) {
    return;
  }
  if (frame.payload.size() % 8 != 0 || frame.payload.size() > options_.window / 8) {
    ++counters_.bad_bitmap;
    return;
  }
  take_answer(s, wire::stream_answer_in(h), frame.payload);
  if (h.has(flag::ack_please)) {
    want(s, session_wants::answer);
  }
  plan(s);
}

std::uint32_t Streams::arrive(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  if (frame.trimmed || frame.payload.empty() || frame.payload.size() > payload_) {
    ++counters_.wrong_length;
    return none;
  }
  const std::uint32_t s = session_of(h);
  if (s == none) {
    return none;
  }
  Session& session = sessions_[s];
  take_answer(s, wire::stream_answer_in(h), {});
  const std::uint32_t distance = h.pidx - session.expected;
  if (is_before(h.pidx, session.expected) ||
      (distance < options_.window && in_slot(s, h.pidx) != FramePool::none)) {
    ++counters_.duplicates;
    ++session.duplicates;
    want(s, session_wants::answer);
    return none;
  }
  if (distance >= options_.window) {
    ++counters_.above_window;
    want(s, session_wants::answer);
    return none;
  }
  const std::uint32_t stamp_of = wire::stream_stamp_in(h);
  if (!session.has_echo || is_before(session.echo, stamp_of)) {
    session.echo = stamp_of;
    session.echo_at = now_;
    session.has_echo = true;
  }
  if (distance == 0 && !session.blocked) {
    return s;
  }
  hold(s, frame);
  answer_soon(s, h.has(flag::ack_please));
  return none;
}

void Streams::hold(std::uint32_t s, const wire::RdmaFrame& frame) {
  Session& session = sessions_[s];
  if (!in_.has_share(session.held)) {
    ++counters_.no_room; // it comes again
    return;
  }
  ++counters_.held;
  ++session.held;
  const std::uint16_t place = in_.take();
  in_[place].length = static_cast<std::uint16_t>(frame.payload.size());
  std::memcpy(in_.bytes_of(place), frame.payload.data(), frame.payload.size());
  in_slot(s, frame.header.pidx) = place;
}

void Streams::block(std::uint32_t s, const wire::RdmaFrame& frame) {
  if (sessions_[s].state != SessionState::open) {
    return; // its owner has ended it
  }
  sessions_[s].blocked = true;
  hold(s, frame);
  want(s, session_wants::answer); // which gives no credit
}

std::uint32_t Streams::arrived(std::uint32_t s) {
  const Session& session = sessions_[s];
  std::uint32_t number = session.expected;
  for (std::uint32_t left = session.held; left > 0 && in_slot(s, number) != FramePool::none;
       --left) {
    ++number;
  }
  return number;
}

void Streams::advance(std::uint32_t s) {
  Session& session = sessions_[s];
  ++counters_.received;
  if (session.granted == session.expected) {
    ++session.granted; // came without credit
  } else {
    --granted_;
  }
  ++session.expected;
  ++session.unanswered;
}

void Streams::answer_soon(std::uint32_t s, bool now) {
  Session& session = sessions_[s];
  if (now || session.unanswered >= std::max(session.span / 4, 1)) {
    want(s, session_wants::answer);
  } else if (session.answer_at == never) {
    session.answer_at = now_ + options_.ack_delay_ns;
    plan(s);
  }
}

std::uint16_t Streams::grant(Session& session) {
  if (session.blocked) {
    return 0;
  }
  const std::uint32_t unused = session.granted - session.expected;
  const auto least = static_cast<std::uint16_t>(std::min(options_.least_credit, options_.window));
  if (granted_ > options_.receive_room) {
    session.span = std::max<std::uint16_t>(session.span / 2, least);
  } else if (2 * unused <= session.span && session.expected != 0) {
    session.span =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(2U * session.span, options_.window));
  }
  if (unused < session.span) {
    granted_ += session.span - unused;
    session.granted = session.expected + session.span;
  }
  return static_cast<std::uint16_t>(session.granted - session.expected);
}

} // namespace tributary::streams
