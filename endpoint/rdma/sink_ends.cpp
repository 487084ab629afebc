// Sinks: ends of transfers.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

void Sink::finish(std::uint16_t cid) {
  ReceiveContext& context = contexts_[cid];
  const Peer& peer = s_.peers[context.peer];
  wire::RdmaHeader done = s_.header_to(peer, wire::RdmaKind::done);
  done.dcid = context.scid;
  done.scid = contexts_.name_of(cid);
  done.generation = context.generation;
  done.message = context.message;
  done.pidx = context.frames;
  done.word = peer.newest_stamp;
  if (context.has(sink_flag::reading)) {
    s_.reply(done);
    finish_read(cid, Cause::none, wire::RdmaStatus::ok);
    return;
  }
  ++s_.counters.placed;
  const std::uint32_t record = s_.records.find(context.peer, context.scid, RecordKind::write);
  s_.end_transfer(record, Record::State::done, wire::RdmaStatus::ok);
  s_.records[record].answered_at = ticks_of(s_.now);
  s_.records[record].name = done.scid;
  s_.records[record].generation = done.generation;
  if (context.work != ReceiveContext::no_work) {
    const Work& work = works_[context.work];
    s_.arrivals.push({.kind = Completion::Kind::arrival,
                      .peer = peer.address,
                      .vni = peer.vni,
                      .message = context.message,
                      .user = work.user,
                      .key = work.key,
                      .offset = work.offset,
                      .length = work.length});
  }
  s_.reply(done);
  release(cid);
}

void Sink::finish_read(std::uint16_t cid, Cause cause, wire::RdmaStatus status) {
  ReceiveContext& context = contexts_[cid];
  Peer& peer = s_.peers[context.peer];
  if (cause == Cause::none) {
    peer.busy_in_a_row = 0;
  }
  ++(cause == Cause::none ? s_.counters.completed : s_.counters.failed);
  const Work& work = works_[context.work];
  s_.completions.push({.kind = Completion::Kind::read,
                       .cause = cause,
                       .status = status,
                       .peer = peer.address,
                       .vni = peer.vni,
                       .message = context.message,
                       .user = work.user,
                       .key = work.key,
                       .offset = work.offset,
                       .length = work.length});
  release(cid);
}

void Sink::end(std::uint16_t cid, wire::RdmaStatus status, Cause cause, bool notify) {
  ReceiveContext& context = contexts_[cid];
  const bool reads = context.has(sink_flag::reading);
  const bool shown = s_.peers[context.peer].shown;
  // A peer that has not shown itself is not notified of its own time-out, but of the end of its
  // region.
  const bool may_hear = shown || status != wire::RdmaStatus::timed_out;
  if (notify && (reads ? context.has(sink_flag::begun) : may_hear)) {
    wire::RdmaHeader abort = s_.header_to(s_.peers[context.peer], wire::RdmaKind::abort);
    abort.dcid = context.scid;
    abort.scid = contexts_.name_of(cid);
    abort.generation = context.generation;
    abort.message = context.message;
    abort.word = static_cast<std::uint64_t>(status);
    s_.reply(abort);
  }
  if (reads) {
    finish_read(cid, cause, status);
    return;
  }
  ++s_.counters.aborted;
  if (context.work != ReceiveContext::no_work) {
    s_.arrivals.unreserve();
  }
  const std::uint32_t record = s_.records.find(context.peer, context.scid, RecordKind::write);
  s_.end_transfer(record, Record::State::aborted, status);
  release(cid);
  if (!shown) {
    s_.forget(record); // it has no effect: a record of how it ended is useless
  }
}

void Sink::release(std::uint16_t cid) {
  ReceiveContext& context = contexts_[cid];
  const std::uint16_t peer = context.peer;
  granting_ -= context.state == SinkState::receiving ? 1U : 0U;
  on_its_way_ -= context.marks.granted;
  control_.remove(cid);
  waiting_.remove(cid);
  if (context.work != ReceiveContext::no_work) {
    works_.free(context.work);
  }
  if (!context.has(sink_flag::reading)) {
    s_.peers.give_back(peer, Held::sinks);
  }
  contexts_.free(cid);
  const std::uint64_t since = elapsed_ns(s_.now, released_at_);
  released_at_ = s_.now;
  turnover_ns_ = (7 * turnover_ns_ + since) / 8;
  put_off_ -= put_off_ > 0 ? 1 : 0;
  serve_waiting();
  s_.peers.release(peer);
}

void Sink::end_writes_of(std::uint16_t peer, wire::RdmaStatus status) {
  for (std::uint32_t i = 0; i < contexts_.size(); ++i) {
    const ReceiveContext& context = contexts_[i];
    if (context.state != SinkState::unused && context.peer == peer &&
        !context.has(sink_flag::reading)) {
      end(static_cast<std::uint16_t>(i), status, Cause::ended, false);
    }
  }
}

void Sink::end_writes_to(RegionPlace region) {
  for (std::uint32_t i = 0; i < contexts_.size(); ++i) {
    const ReceiveContext& context = contexts_[i];
    if (context.state == SinkState::unused || context.has(sink_flag::reading)) {
      continue;
    }
    // Not by its memory: regions may overlap, and an empty write may begin where one ends.
    const std::uint32_t record = s_.records.find(context.peer, context.scid, RecordKind::write);
    if (s_.records[record].region == region) {
      end(static_cast<std::uint16_t>(i), wire::RdmaStatus::deregistered, Cause::ended, true);
    }
  }
}

} // namespace tributary::rdma
