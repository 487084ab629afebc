// Sessions: their table, their ends, the space for what their owner writes.
#include "endpoint/streams/streams.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <algorithm>

namespace tributary::streams {

namespace {

std::uint64_t key_of(EndPoint peer, Vni vni) { return std::uint64_t{vni.value} << 32 | peer.key(); }

Secret secret_of(const Options& o) {
  return (o.secret ? *o.secret : Secret::of_seed(o.seed)).fork(o.address.key());
}

std::uint16_t payload_of(std::uint32_t longest_frame) {
  return static_cast<std::uint16_t>(
      std::min<std::size_t>(longest_frame - wire::rdma_overhead_bytes, wire::longest_rdma_payload));
}

} // namespace

Streams::Streams(const Options& options)
    : options_(options), payload_(payload_of(options.longest_frame)), policy_(options.policy),
      names_(secret_of(options).fork(3)), proofs_(secret_of(options).fork(4)),
      random_(options.seed), sessions_(options.sessions), index_(options.sessions),
      free_(options.sessions), control_(options.sessions), ready_(options.sessions),
      waiting_(options.sessions), writable_(options.sessions), ended_(options.sessions),
      timers_(options.sessions), out_(options.send_frames, payload_),
      in_(options.hold_frames, payload_),
      out_slots_(options.sessions * options.window, FramePool::none),
      in_slots_(options.sessions * options.window, FramePool::none) {
  for (std::uint32_t i = 0; i < options.sessions; ++i) {
    free_.push_back(i);
  }
}

std::optional<std::uint32_t> Streams::find(EndPoint peer, Vni vni) const {
  const std::uint32_t s = index_.find(key_of(peer, vni));
  return s == rdma::HashIndex::none ? std::nullopt : std::optional(s);
}

std::optional<std::uint32_t> Streams::open(EndPoint peer, Vni vni) {
  if (const auto known = find(peer, vni)) {
    sessions_[*known].owned = true;
    return known;
  }
  const std::uint32_t s = allocate(peer, vni);
  if (s == none) {
    return std::nullopt;
  }
  sessions_[s].owned = true;
  sessions_[s].state = SessionState::opening;
  want(s, session_wants::open);
  return s;
}

std::uint32_t Streams::allocate(EndPoint peer, Vni vni) {
  if (free_.empty()) {
    return none;
  }
  const std::uint32_t s = free_.pop_front();
  Session& session = sessions_[s];
  session = Session{};
  session.peer = peer;
  session.vni = vni;
  while (session.own_name == 0) {
    session.own_name = static_cast<std::uint32_t>(names_.of(++drawn_, 0));
  }
  session.path.policy = &policy_;
  session.path.reordering_ns = policy_.initial_reordering_ns;
  session.span = static_cast<std::uint16_t>(std::min(options_.least_credit, options_.window));
  session.payload = payload_;
  session.heard_at = now_;
  session.quiet_since = now_;
  index_.insert(key_of(peer, vni), s);
  return s;
}

void Streams::become_open(std::uint32_t s) {
  Session& session = sessions_[s];
  if (session.state == SessionState::open) {
    return;
  }
  ++counters_.opened;
  session.state = SessionState::open;
  session.owned = true;
  session.retry_at = never;
  session.retries = session.stalls = 0;
  session.quiet_since = now_;
  make_writable(s);
}

void Streams::make_writable(std::uint32_t s) {
  if (waiting_.contains(s)) {
    waiting_.remove(s);
    writable_.push_back(s);
  }
}

Streams::Space Streams::no_space(std::uint32_t s) {
  writable_.remove(s);
  waiting_.push_back(s);
  return {};
}

void Streams::free_frames(std::uint32_t s) {
  Session& session = sessions_[s];
  for (std::uint32_t i = 0; i < options_.window; ++i) {
    if (std::uint16_t& frame = out_slots_[s * options_.window + i]; frame != FramePool::none) {
      out_.give_back(frame);
      frame = FramePool::none;
    }
    if (std::uint16_t& frame = in_slots_[s * options_.window + i]; frame != FramePool::none) {
      in_.give_back(frame);
      frame = FramePool::none;
    }
  }
  granted_ -= session.granted - session.expected;
  session.granted = session.expected;
  session.in_flight = session.lost = session.held = 0;
  control_.remove(s);
  ready_.remove(s);
  waiting_.remove(s);
  writable_.remove(s);
  session.wants = 0;
  session.answer_at = session.lost_check_at = session.retry_at = never;
}

void Streams::end(std::uint32_t s, Cause cause) {
  Session& session = sessions_[s];
  ++counters_.ended;
  free_frames(s);
  session.state = SessionState::ended;
  session.cause = cause;
  ended_.push_back(s);
}

/// Frees a session that its owner does not know, or knows to have ended.
void Streams::release(std::uint32_t s) {
  free_frames(s);
  ended_.remove(s);
  sessions_[s].state = SessionState::unused;
  index_.erase(s);
  free_.push_back(s);
}

std::uint32_t Streams::take_ended() { return ended_.empty() ? none : ended_.pop_front(); }

void Streams::forget(std::uint32_t s) { release(s); }

void Streams::abandon(std::uint32_t s) {
  Session& session = sessions_[s];
  if (session.state == SessionState::unused || session.state == SessionState::ended) {
    return;
  }
  if (session.peer_name != 0) {
    wire::RdmaHeader h = header_to(session, wire::RdmaKind::ack);
    h.flags = wire::stream_flag::close;
    h.generation = wire::stream_version;
    counters_.replies_full += replies_.push({h}) ? 0 : 1;
  }
  end(s, Cause::abandoned);
}

void Streams::abandon_all() {
  for (std::uint32_t s = 0; s < sessions_.size(); ++s) {
    abandon(s);
  }
}

void Streams::want(std::uint32_t s, std::uint8_t what) {
  sessions_[s].wants |= what;
  control_.push_back(s);
}

Streams::Space Streams::space(std::uint32_t s, std::size_t least) {
  Session& session = sessions_[s];
  if (session.state != SessionState::open) {
    return no_space(s);
  }
  if (session.next != session.sent) {
    const std::uint16_t last = out_slot(s, session.next - 1);
    const std::size_t used = out_[last].length;
    if (session.payload - used >= least) {
      extends_ = true;
      return {out_.bytes_of(last) + used, session.payload - used};
    }
  }
  const std::uint32_t held = session.next - session.acked;
  if (held >= options_.window || !out_.has_share(held)) {
    return no_space(s);
  }
  extends_ = false;
  const std::uint16_t frame = out_.take();
  out_slot(s, session.next) = frame;
  ++session.next;
  return {out_.bytes_of(frame), session.payload};
}

void Streams::commit(std::uint32_t s, std::size_t bytes) {
  Session& session = sessions_[s];
  WaitingFrame& frame = out_[out_slot(s, session.next - 1)];
  if (bytes == 0 && !extends_) {
    out_.give_back(out_slot(s, session.next - 1)); // nothing was written to a new frame
    out_slot(s, session.next - 1) = FramePool::none;
    --session.next;
    return;
  }
  frame.length = static_cast<std::uint16_t>(frame.length + bytes);
  make_ready(s);
  plan(s);
}

std::uint32_t Streams::take_writable() { return writable_.empty() ? none : writable_.pop_front(); }

std::uint64_t Streams::timeout_ns(const Session& session) const {
  return session.path.timeout_ns() + options_.ack_delay_ns;
}

void Streams::heard(Session& session) {
  session.retries = 0;
  session.heard_at = now_;
}

void Streams::plan(std::uint32_t s) {
  Session& session = sessions_[s];
  TimeNs at = never;
  switch (session.state) {
  case SessionState::unused:
  case SessionState::ended: return;
  case SessionState::opening:
  case SessionState::accepted: at = session.retry_at; break;
  case SessionState::open:
    at = std::min({session.answer_at, session.lost_check_at, silence_due(session)});
    break;
  }
  timers_.arm(s, at);
}

void Streams::poll(TimeNs now) {
  begin_receive(now);
  for (std::uint32_t s = timers_.due(now_); s != rdma::TimerHeap::none; s = timers_.due(now_)) {
    on_timer(s);
  }
}

} // namespace tributary::streams
