// Sources: timers, and ends of transfers.
#include "endpoint/rdma/source.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

void Source::want(std::uint16_t scid, std::uint8_t what) {
  contexts_[scid].wants |= what;
  control_.push_back(scid);
}

void Source::heard(SendContext& context) {
  context.retries = 0;
  context.deadline = s_.now + quiet_timeouts * s_.peers[context.peer].timeout_ns();
}

bool Source::may_send(const SendContext& context) const {
  if (context.state != SourceState::sending) {
    return false;
  }
  return context.asked > 0 || (context.next < context.frames &&
                               (context.next < context.limit || !s_.rules().sender_limit));
}

void Source::make_ready(std::uint16_t scid) {
  const SendContext& context = contexts_[scid];
  if (may_send(context) && context.paced_until <= s_.now) {
    ready_.push_back(scid);
  }
}

void Source::arm(std::uint16_t scid) {
  const SendContext& context = contexts_[scid];
  const bool paced = context.paced_until > s_.now && may_send(context);
  s_.timers.arm(static_cast<std::uint32_t>(s_.options.sinks + scid),
                paced ? std::min(context.deadline, context.paced_until) : context.deadline);
}

void Source::on_timer(std::uint16_t scid) {
  SendContext& context = contexts_[scid];
  Peer& peer = s_.peers[context.peer];
  switch (context.state) {
  case SourceState::unused: return;
  case SourceState::backing_off:
    if (s_.now >= context.deadline) {
      request(scid);
      return;
    }
    break;
  case SourceState::requesting:
    if (s_.now >= context.deadline) {
      ++s_.counters.request_timeouts;
      if (++context.retries > peer.policy->request_retries) {
        s_.raise(rdma_policy::Exception::Kind::unreachable_peer, peer, context.message,
                 context.retries);
        finish(scid, Cause::unreachable, wire::RdmaStatus::timed_out);
        return;
      }
      if (context.retries == peer.policy->exception_timeouts) {
        s_.raise(rdma_policy::Exception::Kind::repeated_timeouts, peer, context.message,
                 context.retries);
      }
      request(scid);
      return;
    }
    break;
  case SourceState::sending:
    make_ready(scid);
    if (s_.now >= context.deadline) {
      on_quiet(scid, peer);
      if (context.state == SourceState::unused) {
        return;
      }
    }
    break;
  }
  arm(scid);
}

void Source::on_quiet(std::uint16_t scid, Peer& peer) {
  SendContext& context = contexts_[scid];
  const std::uint64_t wait = quiet_timeouts * peer.timeout_ns();
  if (may_send(context) || !s_.rules().query) {
    context.deadline = s_.now + wait; // the sink does not cause the wait
    return;
  }
  ++s_.counters.quiet;
  if (++context.retries > peer.policy->query_retries) {
    s_.raise(rdma_policy::Exception::Kind::unreachable_peer, peer, context.message,
             context.retries);
    fail(scid, Cause::unreachable, wire::RdmaStatus::timed_out);
    return;
  }
  if (context.retries == peer.policy->exception_timeouts) {
    s_.raise(rdma_policy::Exception::Kind::repeated_timeouts, peer, context.message,
             context.retries);
  }
  context.deadline = s_.now + (wait << std::min<unsigned>(context.retries - 1U, most_doublings));
  want(scid, source_wants::query);
}

void Source::fail(std::uint16_t scid, Cause cause, wire::RdmaStatus status) {
  const SendContext& context = contexts_[scid];
  if (context.state == SourceState::sending) {
    wire::RdmaHeader abort = s_.header_to(s_.peers[context.peer], wire::RdmaKind::abort);
    abort.flags = wire::rdma_flag::to_sink;
    abort.dcid = context.dcid;
    abort.scid = scid;
    abort.generation = context.generation;
    abort.message = context.message;
    abort.word = static_cast<std::uint64_t>(status);
    s_.reply(abort);
  }
  finish(scid, cause, status);
}

void Source::finish(std::uint16_t scid, Cause cause, wire::RdmaStatus status) {
  SendContext& context = contexts_[scid];
  const std::uint16_t place = context.peer;
  const Peer& peer = s_.peers[place];
  const bool done = cause == Cause::none;
  if (context.serves_read()) {
    s_.peers.give_back(place, Held::sources);
    s_.counters.aborted += done ? 0 : 1;
    s_.end_transfer(context.record, done ? Record::State::done : Record::State::aborted, status);
  } else {
    ++(done ? s_.counters.completed : s_.counters.failed);
    s_.completions.push({.kind = Completion::Kind::write,
                         .cause = cause,
                         .status = status,
                         .peer = peer.address,
                         .vni = peer.vni,
                         .message = context.message,
                         .user = context.user,
                         .key = context.key,
                         .offset = context.offset,
                         .length = context.length});
  }
  ready_.remove(scid);
  control_.remove(scid);
  context.state = SourceState::unused;
  context.deadline = never;
  free_.push_back(scid);
  s_.peers.release(place);
}

void Source::end_reads_of(std::uint16_t peer) {
  for (std::uint32_t i = 0; i < contexts_.size(); ++i) {
    const SendContext& context = contexts_[i];
    if (context.state != SourceState::unused && context.serves_read() && context.peer == peer) {
      finish(static_cast<std::uint16_t>(i), Cause::ended, wire::RdmaStatus::restarted);
    }
  }
}

void Source::end_reads_from(RegionPlace region) {
  for (std::uint32_t i = 0; i < contexts_.size(); ++i) {
    const SendContext& context = contexts_[i];
    if (context.state != SourceState::unused && context.serves_read() &&
        s_.records[context.record].region == region) {
      fail(static_cast<std::uint16_t>(i), Cause::ended, wire::RdmaStatus::deregistered);
    }
  }
}

} // namespace tributary::rdma
