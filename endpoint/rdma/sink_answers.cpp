// Sinks: frames of sources other than data.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

void Sink::take_query(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const std::uint16_t cid = context_of(h);
  if (match(h, cid) == Match::yes) {
    ReceiveContext& context = contexts_[cid];
    context.timeouts = 0;
    if (context.has(sink_flag::reading)) {
      context.scid = h.scid; // not known yet if the first frames were lost
    } else {
      s_.peers.show(context.peer);
    }
    if (!h.has(wire::rdma_flag::ack_please)) {
      return;
    }
    if (context.state == SinkState::receiving && h.pidx > context.base &&
        h.pidx <= context.frames) {
      ReceiveContext::Marks& marks = context.marks;
      marks.ask_from = 0;
      marks.asked = static_cast<std::uint16_t>(
          std::min<std::uint32_t>(h.pidx - context.base, context.width()));
      context.asked_at = ticks_of(s_.now);
      want(cid, sink_wants::missing);
    } else {
      want(cid, sink_wants::progress);
    }
    return;
  }
  if (!h.has(wire::rdma_flag::ack_please)) {
    return;
  }
  const auto peer = s_.peers.find(h.source, h.vni);
  const std::uint32_t i = peer ? s_.records.find(*peer, h.scid, RecordKind::write) : Records::none;
  if (i != Records::none && s_.rules().finished_memory && s_.records[i].message == h.message &&
      s_.records[i].state != Record::State::live) {
    is_answered_by(i, h);
    return;
  }
  s_.reply(s_.answer_to(h, wire::RdmaKind::noctx));
}

void Sink::take_no_context(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const std::uint16_t cid = context_of(h);
  if (match(h, cid) != Match::yes) {
    ++s_.counters.stale_answers;
    return;
  }
  ReceiveContext& context = contexts_[cid];
  if (!context.has(sink_flag::reading)) {
    // A late request has made this one. A record of how it ended is useless.
    ++s_.counters.aborted;
    const std::uint32_t record = s_.records.find(context.peer, context.scid, RecordKind::write);
    release(cid);
    if (record != Records::none) {
      s_.forget(record);
    }
    return;
  }
  // The peer that served it has restarted: asks again, and keeps what has arrived.
  ++s_.counters.restarts;
  context.flags |= sink_flag::answered_again;
  want(cid, sink_wants::answer);
}

void Sink::take_abort(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const std::uint16_t cid = context_of(h);
  if (match(h, cid) != Match::yes) {
    ++s_.counters.stale_answers;
    return;
  }
  ++s_.counters.aborted_by_peer;
  const auto status = static_cast<wire::RdmaStatus>(h.word & 0xFF);
  end(cid, status, Cause::ended, false);
}

void Sink::take_finish(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const auto peer = s_.peers.find(h.source, h.vni);
  const std::uint32_t i = peer ? s_.records.find(*peer, h.scid, RecordKind::write) : Records::none;
  if (i == Records::none) {
    return;
  }
  const Record& record = s_.records[i];
  if (record.state == Record::State::done && record.message == h.message && record.name == h.dcid &&
      record.generation == h.generation) {
    s_.forget(i);
  }
}

void Sink::take_response(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const std::uint16_t cid = context_of(h);
  if (match(h, cid) != Match::yes || !contexts_[cid].has(sink_flag::reading)) {
    ++s_.counters.stale_answers;
    return;
  }
  ReceiveContext& context = contexts_[cid];
  const auto status = static_cast<wire::RdmaStatus>(h.word & 0xFF);
  if (status == wire::RdmaStatus::bad_frame_size && h.value > 0 && !context.has(sink_flag::begun)) {
    if (h.value >= context.payload) {
      ++s_.counters.stale_answers; // answers the request before the last
      return;
    }
    s_.peers[context.peer].payload = static_cast<std::uint16_t>(h.value);
    divide(context, works_[context.work].length, static_cast<std::uint16_t>(h.value));
    context.flags |= sink_flag::answered_again;
    want(cid, sink_wants::answer);
    return;
  }
  const bool challenged = status == wire::RdmaStatus::unproven;
  if (!h.has(wire::rdma_flag::busy) && !challenged) {
    finish_read(cid, Cause::refused, status);
    return;
  }
  Peer& peer = s_.peers[context.peer];
  Work& work = works_[context.work];
  if (challenged) {
    ++s_.counters.challenges_received;
    peer.proof = wire::rdma_proof_in(h);
    context.flags |= sink_flag::answered_again;
    if (++work.busy > peer.policy->busy_retries) {
      finish_read(cid, Cause::refused, status);
    } else {
      want(cid, sink_wants::answer);
    }
    return;
  }
  ++s_.counters.busy_received;
  if (++peer.busy_in_a_row == peer.policy->busy_storm) {
    s_.raise(rdma_policy::Exception::Kind::busy_storm, peer, 0, peer.busy_in_a_row);
  }
  if (++work.busy > peer.policy->busy_retries) {
    finish_read(cid, Cause::busy, status);
    return;
  }
  // The timer asks again.
  const std::uint64_t hint = (h.word >> 32) * ns_per_us;
  const unsigned doublings = std::min(work.busy, 8U);
  context.timeouts = 0;
  context.flags |= sink_flag::answered_again;
  context.deadline =
      s_.now +
      (s_.rules().back_off
           ? hint + s_.random.below((std::uint64_t{1} << doublings) * peer.policy->busy_unit_ns + 1)
           : 0);
  arm(cid, peer);
}

} // namespace tributary::rdma
