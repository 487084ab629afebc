// How sessions begin, and how they are found to have ended at the other side.
//
//   opener                         peer
//     | OPEN(name a) ------------>  |    nothing is stored
//     | <--- CHALLENGE(a, proof)    |
//     | OPEN(a, proof) ---------->  |    a session
//     | <----------- ACCEPT(a; b)   |
//     | STR(b) or ACK(b) -------->  |    the session is open on both sides
//
// The proof is a function of the opener's address and name: only a program that receives frames at
// the address learns it. An OPEN that arrives late cannot end a session: when the peer of an open
// session seems to open another one, the old one's peer is asked. A program that has forgotten it
// says UNKNOWN, and returns the name by which it was asked.
#include "endpoint/streams/streams.hpp"

#include <algorithm>
#include <bit>

namespace tributary::streams {

namespace flag = wire::stream_flag;

std::uint64_t Streams::proof_for(EndPoint peer, Vni vni, std::uint32_t name) const {
  return std::max<std::uint64_t>(proofs_.of(std::uint64_t{vni.value} << 32 | peer.key(), name), 1);
}

void Streams::reply(const wire::RdmaHeader& to, std::uint8_t step, std::uint32_t message,
                    std::uint32_t value, std::uint64_t word) {
  wire::RdmaHeader h;
  h.source = options_.address;
  h.destination = to.source;
  h.vni = to.vni;
  h.kind = wire::RdmaKind::ack;
  h.flags = step;
  h.message = message;
  h.value = value;
  h.word = word;
  h.generation = wire::stream_version;
  counters_.replies_full += replies_.push({h}) ? 0 : 1;
}

void Streams::reply_unknown(const wire::RdmaHeader& h) {
  ++counters_.unknown_session;
  reply(h, flag::unknown, 0, h.message);
}

std::uint32_t Streams::named(const wire::RdmaHeader& h) const {
  const auto s = find(h.source, h.vni);
  return s && sessions_[*s].own_name == h.message ? *s : none;
}

void Streams::take_step(const wire::RdmaHeader& h) {
  switch (h.flags & flag::steps) {
  case flag::open: take_open(h); break;
  case flag::accept: take_accept(h); break;
  case flag::challenge: take_challenge(h); break;
  case flag::busy: take_busy(h); break;
  case flag::unknown: take_unknown(h); break;
  case flag::close: take_close(h); break;
  default: ++counters_.wrong_step; break;
  }
}

void Streams::adopt(Session& session, const wire::RdmaHeader& h) {
  session.peer_name = h.value;
  session.payload = std::min(payload_, h.scid);
  session.limit = session.acked + std::min<std::uint32_t>(h.dcid, options_.window);
  heard(session);
}

void Streams::take_open(const wire::RdmaHeader& h) {
  if (h.value == 0) {
    ++counters_.wrong_step;
    return;
  }
  if (h.generation != wire::stream_version || h.scid < least_payload) {
    ++counters_.wrong_version;
    reply(h, flag::close, h.value, 0);
    return;
  }
  const std::uint64_t proof = proof_for(h.source, h.vni, h.value);
  if (h.word != proof) {
    counters_.wrong_proof += h.word != 0 ? 1 : 0;
    ++counters_.challenged;
    reply(h, flag::challenge, h.value, 0, proof);
    return;
  }
  auto s = find(h.source, h.vni);
  if (!s) {
    const std::uint32_t place = allocate(h.source, h.vni);
    if (place == none) {
      ++counters_.busy;
      reply(h, flag::busy, h.value, 0);
      return;
    }
    s = place;
    sessions_[place].state = SessionState::accepted;
  }
  Session& session = sessions_[*s];
  switch (session.state) {
  case SessionState::unused: return;
  case SessionState::ended:
    ++counters_.busy;
    reply(h, flag::busy, h.value, 0);
    return;
  case SessionState::open:
    want(*s, session.peer_name == h.value ? session_wants::accept : session_wants::probe);
    return;
  case SessionState::opening:
  case SessionState::accepted: break;
  }
  session.state = SessionState::accepted;
  adopt(session, h);
  want(*s, session_wants::accept);
}

void Streams::take_accept(const wire::RdmaHeader& h) {
  const std::uint32_t s = named(h);
  if (s == none) {
    reply_unknown(h); // the peer has accepted a late OPEN
    return;
  }
  Session& session = sessions_[s];
  if (h.value == 0 || h.scid < least_payload || h.generation != wire::stream_version) {
    ++counters_.wrong_step;
    return;
  }
  switch (session.state) {
  case SessionState::opening:
  case SessionState::accepted:
    adopt(session, h);
    become_open(s);
    break;
  case SessionState::open:
    if (session.peer_name != h.value) {
      ++counters_.wrong_step;
      return;
    }
    break;
  case SessionState::unused:
  case SessionState::ended: return;
  }
  want(s, session_wants::answer);
  plan(s);
}

void Streams::take_challenge(const wire::RdmaHeader& h) {
  const std::uint32_t s = named(h);
  if (s == none || sessions_[s].state != SessionState::opening || h.word == sessions_[s].proof) {
    ++counters_.wrong_step; // the same one again: the timer repeats the OPEN
    return;
  }
  if (++sessions_[s].retries > policy_.request_retries) { // it challenges without end
    end(s, Cause::unreachable);
    return;
  }
  sessions_[s].proof = h.word;
  want(s, session_wants::open);
}

void Streams::take_busy(const wire::RdmaHeader& h) {
  const std::uint32_t s = named(h);
  if (s == none || sessions_[s].state != SessionState::opening) {
    ++counters_.wrong_step;
    return;
  }
  Session& session = sessions_[s];
  ++counters_.busy_received;
  heard(session);
  if (++session.busy > policy_.busy_retries) {
    end(s, Cause::busy);
    return;
  }
  const unsigned doublings = std::min<unsigned>(session.busy, 8);
  session.wants = 0;
  control_.remove(s);
  session.retry_at =
      now_ + policy_.busy_unit_ns * (1 + random_.below(std::uint64_t{1} << doublings));
  plan(s);
}

void Streams::take_unknown(const wire::RdmaHeader& h) {
  const auto s = find(h.source, h.vni);
  if (!s || sessions_[*s].peer_name == 0 || sessions_[*s].peer_name != h.value) {
    ++counters_.wrong_step;
    return;
  }
  Session& session = sessions_[*s];
  switch (session.state) {
  case SessionState::open: end(*s, Cause::restarted); break;
  case SessionState::accepted: // a late OPEN
    if (!session.owned) {
      release(*s);
      break;
    }
    session.state = SessionState::opening;
    session.peer_name = 0;
    want(*s, session_wants::open);
    break;
  case SessionState::unused:
  case SessionState::opening:
  case SessionState::ended: ++counters_.wrong_step; break;
  }
}

void Streams::take_close(const wire::RdmaHeader& h) {
  const std::uint32_t s = named(h);
  if (s == none) {
    ++counters_.wrong_step;
    return;
  }
  const Session& session = sessions_[s];
  switch (session.state) {
  case SessionState::opening:
    end(s, h.generation == wire::stream_version ? Cause::closed : Cause::wrong_version);
    break;
  case SessionState::accepted:
    if (!session.owned) {
      release(s);
      break;
    }
    [[fallthrough]];
  case SessionState::open: end(s, Cause::closed); break;
  case SessionState::unused:
  case SessionState::ended: ++counters_.wrong_step; break;
  }
}

} // namespace tributary::streams
