// Sources: frames of sinks.
#include "endpoint/rdma/source.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

namespace {

/// Whether the frame shows that the sink has received this request.
bool is_answer_to(const SendContext& context, const wire::RdmaHeader& h) {
  const auto nonce = static_cast<std::uint32_t>(h.word >> 32);
  return context.is_of(static_cast<std::uint16_t>(nonce), static_cast<std::uint16_t>(nonce >> 16));
}

} // namespace

std::optional<std::uint16_t> Source::context_of(const wire::RdmaHeader& h) const {
  if (h.dcid >= contexts_.size()) {
    return std::nullopt;
  }
  const SendContext& context = contexts_[h.dcid];
  const Peer& peer = s_.peers[context.peer];
  const bool same = context.state != SourceState::unused && context.message == h.message &&
                    peer.address == h.source && peer.vni == h.vni;
  return same ? std::optional(h.dcid) : std::nullopt;
}

std::optional<std::uint16_t> Source::proven_context_of(const wire::RdmaHeader& h) const {
  const auto scid = context_of(h);
  return scid && contexts_[*scid].is_of(h.scid, h.generation) ? scid : std::nullopt;
}

void Source::report_unknown(const wire::RdmaHeader& h) {
  ++s_.counters.stale_answers;
  wire::RdmaHeader answer = s_.answer_to(h, wire::RdmaKind::noctx);
  answer.flags = wire::rdma_flag::to_sink;
  s_.reply(answer);
}

void Source::raise_limit(SendContext& context, std::uint32_t base, std::uint32_t credit) {
  const std::uint64_t most = std::uint64_t{base} + rdma_policy::most_window + 1;
  if (credit > most) {
    ++s_.counters.excess_credit;
    credit = static_cast<std::uint32_t>(most);
  }
  context.limit = std::max(context.limit, credit);
}

void Source::take_response(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const auto status = static_cast<wire::RdmaStatus>(h.word & 0xFF);
  if (h.has(wire::rdma_flag::busy) || status != wire::RdmaStatus::ok) {
    const auto scid = proven_context_of(h);
    if (scid && contexts_[*scid].state == SourceState::requesting) {
      take_refusal(*scid, h);
    } else {
      ++s_.counters.stale_answers;
    }
    return;
  }
  const auto scid = context_of(h);
  if (!scid) {
    report_unknown(h); // a late request has made a context at the sink that no source will fill
    return;
  }
  SendContext& context = contexts_[*scid];
  if (context.state == SourceState::sending) {
    if (!context.is_of(h.scid, h.generation)) {
      report_unknown(h);
    } else if (h.pidx > context.next) {
      ++s_.counters.unsent_base;
    } else {
      raise_limit(context, h.pidx, h.value);
      heard(context);
      make_ready(*scid);
      arm(*scid);
    }
    return;
  }
  if (!is_answer_to(context, h)) {
    report_unknown(h);
    return;
  }
  Peer& peer = s_.peers[context.peer];
  peer.busy_in_a_row = 0;
  if (context.retries == 0 && context.busy == 0 && context.restarts == 0) {
    peer.sample_round_trip(elapsed_ns(s_.now, context.requested_at));
  }
  adopt(context, h);
  make_ready(*scid);
  arm(*scid);
}

/// For a request that is pending.
void Source::take_refusal(std::uint16_t scid, const wire::RdmaHeader& h) {
  SendContext& context = contexts_[scid];
  Peer& peer = s_.peers[context.peer];
  const auto status = static_cast<wire::RdmaStatus>(h.word & 0xFF);
  if (h.has(wire::rdma_flag::busy)) {
    ++s_.counters.busy_received;
    if (++peer.busy_in_a_row == peer.policy->busy_storm) {
      s_.raise(rdma_policy::Exception::Kind::busy_storm, peer, 0, peer.busy_in_a_row);
    }
    if (++context.busy > peer.policy->busy_retries) {
      finish(scid, Cause::busy, status);
      return;
    }
    back_off(context, peer, (h.word >> 32) * 1000);
    arm(scid);
    return;
  }
  peer.busy_in_a_row = 0;
  if (status == wire::RdmaStatus::unproven) {
    ++s_.counters.challenges_received;
    peer.proof = wire::rdma_proof_in(h);
    if (++context.busy > peer.policy->busy_retries) {
      finish(scid, Cause::refused, status);
    } else {
      request(scid);
      arm(scid);
    }
    return;
  }
  if (status == wire::RdmaStatus::bad_frame_size && h.value > 0) {
    if (h.value >= context.payload) {
      ++s_.counters.stale_answers; // answers the request before the last
      return;
    }
    peer.payload = static_cast<std::uint16_t>(h.value);
    context.payload = peer.payload;
    context.frames =
        static_cast<std::uint32_t>(wire::rdma_frames_of(context.length, context.payload));
    request(scid);
    arm(scid);
    return;
  }
  finish(scid, Cause::refused, status);
}

void Source::adopt(SendContext& context, const wire::RdmaHeader& h) {
  context.state = SourceState::sending;
  context.dcid = h.scid;
  context.generation = h.generation;
  context.wants = 0;
  raise_limit(context, 0, h.value);
  heard(context);
}

void Source::back_off(SendContext& context, Peer& peer, std::uint64_t hint_ns) {
  context.state = SourceState::backing_off;
  context.retries = 0;
  context.wants = 0;
  if (!s_.rules().back_off) {
    context.deadline = s_.now;
    return;
  }
  const unsigned doublings = std::min(context.busy, 8U);
  context.deadline =
      s_.now + hint_ns +
      s_.random.below((std::uint64_t{1} << doublings) * peer.policy->busy_unit_ns + 1);
}

void Source::take_credit(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const auto scid = context_of(h);
  if (!scid) {
    report_unknown(h);
    return;
  }
  SendContext& context = contexts_[*scid];
  if (context.state != SourceState::sending && h.kind == wire::RdmaKind::resend &&
      is_answer_to(context, h)) {
    adopt(context, h); // the RSP was lost, and this frame shows the same
  }
  if (context.state != SourceState::sending || !context.is_of(h.scid, h.generation)) {
    ++s_.counters.stale_answers;
    return;
  }
  const std::size_t bytes = frame.payload.size();
  if (bytes % 8 != 0 || bytes > wire::longest_rdma_bitmap_bytes) {
    ++s_.counters.bad_bitmap;
    return;
  }
  if (h.pidx > context.next) {
    ++s_.counters.unsent_base;
    return;
  }
  heard(context);
  if (h.word != 0 && h.kind == wire::RdmaKind::prog) {
    s_.peers[context.peer].sample_round_trip(elapsed_ns(s_.now, TimeNs{h.word}));
  }
  raise_limit(context, h.pidx, h.value);
  if (h.pidx >= context.base) { // otherwise newer words have overtaken these
    context.move_base(h.pidx);
    if (h.kind == wire::RdmaKind::resend) {
      bool any = false;
      if (bytes == 0 && !h.has(wire::rdma_flag::range)) {
        any = context.ask(h.pidx);
      }
      for (std::size_t at = 0; at < bytes; at += 8) {
        for (auto word = wire::load_le<std::uint64_t>(frame.payload.data() + at); word != 0;
             word &= word - 1) {
          any |= context.ask(h.pidx + static_cast<std::uint32_t>(8 * at) +
                             static_cast<std::uint32_t>(std::countr_zero(word)));
        }
      }
      if (h.has(wire::rdma_flag::range)) {
        for (auto pidx = h.pidx + static_cast<std::uint32_t>(8 * bytes); context.ask(pidx);
             ++pidx) {
          any = true;
        }
      }
      if (!any) {
        want(*scid, source_wants::alive);
      }
    }
  }
  make_ready(*scid);
  arm(*scid);
}

void Source::take_done(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const auto scid = proven_context_of(h);
  if (!scid) {
    ++s_.counters.stale_answers;
    return;
  }
  SendContext& context = contexts_[*scid];
  Peer& peer = s_.peers[context.peer];
  if (h.word != 0) {
    peer.sample_round_trip(elapsed_ns(s_.now, TimeNs{h.word}));
  }
  if (peer.policy->forget_early && !context.serves_read()) {
    wire::RdmaHeader fin = s_.answer_to(h, wire::RdmaKind::fin);
    s_.reply(fin);
  }
  finish(*scid, Cause::none, wire::RdmaStatus::ok);
}

void Source::take_no_context(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const auto scid = proven_context_of(h);
  if (!scid || contexts_[*scid].state != SourceState::sending) {
    ++s_.counters.stale_answers;
    return;
  }
  SendContext& context = contexts_[*scid];
  if (context.serves_read()) {
    finish(*scid, Cause::ended, wire::RdmaStatus::ok); // the reader has all, or is gone
    return;
  }
  ++s_.counters.restarts;
  if (++context.restarts > s_.peers[context.peer].policy->restarts) {
    finish(*scid, Cause::forgotten, wire::RdmaStatus::ok);
    return;
  }
  ready_.remove(*scid);
  context.restart();
  context.retries = 0;
  context.wants = 0;
  draw_nonce(context);
  request(*scid);
}

void Source::take_abort(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const auto scid = proven_context_of(h);
  if (!scid) {
    ++s_.counters.stale_answers;
    return;
  }
  ++s_.counters.aborted_by_peer;
  finish(*scid, Cause::ended, static_cast<wire::RdmaStatus>(h.word & 0xFF));
}

} // namespace tributary::rdma
