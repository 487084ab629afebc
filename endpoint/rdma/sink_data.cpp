// Sinks: data, and the movement of the window.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::rdma {

Sink::Match Sink::match(const wire::RdmaHeader& h, std::uint16_t cid) const {
  if (cid >= contexts_.size()) {
    return Match::no;
  }
  const ReceiveContext& context = contexts_[cid];
  if (context.state == SinkState::unused) {
    return Match::no;
  }
  if (s_.rules().generation &&
      (context.generation != h.generation || contexts_.name_of(cid) != h.dcid)) {
    return Match::wrong_generation;
  }
  if (!s_.rules().identity) {
    return Match::yes;
  }
  const Peer& peer = s_.peers[context.peer];
  if (context.message != h.message || peer.address != h.source) {
    return Match::no;
  }
  if (peer.vni != h.vni) {
    return Match::foreign_vni;
  }
  // The peer that serves a read chooses its context, and may choose another one after a restart.
  return context.scid == h.scid || context.has(sink_flag::reading) ? Match::yes : Match::no;
}

void Sink::refuse_zombie(const wire::RdmaHeader& h, Match match) {
  ++(match == Match::foreign_vni        ? s_.counters.foreign_vni
     : match == Match::wrong_generation ? s_.counters.wrong_generation
                                        : s_.counters.zombie);
  if (!s_.rules().finished_memory) {
    return;
  }
  const auto peer = s_.peers.find(h.source, h.vni);
  const std::uint32_t i = peer ? s_.records.find(*peer, h.scid, RecordKind::write) : Records::none;
  if (i == Records::none) {
    return;
  }
  Record& record = s_.records[i];
  if (record.state == Record::State::done && record.message == h.message &&
      ns_between(ticks_of(s_.now), record.answered_at) >= s_.peers[*peer].guard_ns()) {
    record.answered_at = ticks_of(s_.now);
    s_.reply(s_.answer_to(h, wire::RdmaKind::done)); // the source has missed it
  }
}

void Sink::take_data(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const std::uint16_t cid = context_of(h);
  if (const Match found = match(h, cid); found != Match::yes) {
    refuse_zombie(h, found);
    return;
  }
  ReceiveContext& context = contexts_[cid];
  if (h.pidx >= context.frames) {
    ++s_.counters.beyond_end;
    return;
  }
  if (frame.trimmed) {
    take_trimmed(cid, h);
    return;
  }
  const std::uint32_t length = context.length_of(h.pidx);
  if (frame.payload.size() != length) {
    ++s_.counters.wrong_length;
    return;
  }
  const std::uint32_t distance = h.pidx - context.base; // meaningless when it is below
  const Window::Step step =
      contexts_.window_of(cid).take(context.base, h.pidx, s_.rules().loc_plus_one);
  Peer& peer = s_.peers[context.peer];
  if (step.arrival == Arrival::above || step.arrival == Arrival::duplicate) {
    const bool above = step.arrival == Arrival::above;
    ++(above ? s_.counters.above_window : s_.counters.duplicates);
    const Ticks at = ticks_of(s_.now);
    if (above && ns_between(at, context.asked_at) >= peer.guard_ns()) {
      context.asked_at = at;
      want(cid, sink_wants::one);
    } else if (h.has(wire::rdma_flag::ack_please)) {
      want(cid, sink_wants::progress);
    }
    return;
  }
  if (length > 0) { // an empty transfer may have no memory
    std::memcpy(context.memory + std::uint64_t{h.pidx} * context.payload, frame.payload.data(),
                length);
  }
  ++s_.counters.data_placed;
  s_.counters.bytes_placed += length;
  peer.newest_stamp = h.word;
  learn_from(context, peer, h, distance);
  if (context.has(sink_flag::reading)) {
    context.scid = h.scid;
  }
  if (step.arrival == Arrival::advanced) {
    move_base(cid, peer, step.advance);
  } else {
    see_hole(cid, distance, peer);
  }
}

void Sink::begin(ReceiveContext& context) {
  context.flags |= sink_flag::begun;
  if (!context.has(sink_flag::reading)) {
    s_.peers.show(context.peer); // it has received the context's name and generation
  }
}

void Sink::learn_from(ReceiveContext& context, Peer& peer, const wire::RdmaHeader& h,
                      std::uint32_t distance) {
  const Ticks at = ticks_of(s_.now);
  if (!context.has(sink_flag::begun)) {
    begin(context);
    if (context.has(sink_flag::answered) && !context.has(sink_flag::answered_again) &&
        context.timeouts == 0) {
      peer.sample_round_trip(ns_between(at, context.asked_at));
    }
  }
  if (distance < context.marks.asked && distance >= context.marks.ask_from &&
      !context.has(sink_flag::trim_asked)) {
    if (h.has(wire::rdma_flag::resent)) {
      ++s_.counters.resent_arrived;
      peer.was_lost();
    } else {
      ++s_.counters.late_arrived;
      peer.was_late();
    }
  }
}

void Sink::move_base(std::uint16_t cid, Peer& peer, std::uint32_t by) {
  ReceiveContext& context = contexts_[cid];
  on_its_way_ -= std::min<std::uint32_t>(by, context.marks.granted);
  context.advance(by);
  context.timeouts = 0;
  serve_waiting();
  if (context.base >= context.frames) {
    finish(cid);
    return;
  }
  context.deadline = s_.now + peer.timeout_ns(); // the armed timer is not moved: it asks again when
                                                 // it is due
  if (context.marks.asked == 0) {
    context.flags &= static_cast<std::uint8_t>(~sink_flag::trim_asked);
  }
  if (context.marks.span == 0) {
    context.flags &= static_cast<std::uint8_t>(~sink_flag::has_hole);
  } else {
    consider_holes(cid, peer);
  }
  if (context.base + context.marks.granted < context.frames) {
    const std::uint32_t worth_a_frame =
        worth_announcing(share_of(context, *peer.policy), context.marks.span);
    const std::uint32_t more = grantable(context, *peer.policy);
    const bool to_the_end = context.base + context.marks.granted + more == context.frames;
    if (more >= worth_a_frame || (more > 0 && to_the_end)) {
      want(cid, sink_wants::progress);
    }
  }
}

void Sink::take_trimmed(std::uint16_t cid, const wire::RdmaHeader& h) {
  ++s_.counters.trimmed;
  ReceiveContext& context = contexts_[cid];
  const std::uint32_t distance = h.pidx - context.base;
  if (h.pidx < context.base || distance >= context.width() ||
      (distance > 0 && contexts_.window_of(cid).has(context.base, h.pidx))) {
    return;
  }
  const Peer& peer = s_.peers[context.peer];
  const Ticks at = ticks_of(s_.now);
  if (distance < context.marks.asked && !context.has(sink_flag::trim_asked) &&
      ns_between(at, context.asked_at) < peer.guard_ns()) {
    return; // it is being asked for
  }
  begin(context);
  context.flags |= sink_flag::trim_asked;
  // Those below may wait in a queue that this one has overtaken: they get the time of a round trip.
  context.marks.asked = std::max(context.marks.asked, static_cast<std::uint16_t>(distance + 1));
  context.asked_at = at;
  context.timeouts = 0;
  wire::RdmaHeader ask = s_.header_to(peer, wire::RdmaKind::resend);
  ask.dcid = h.scid;
  ask.scid = h.dcid;
  ask.generation = context.generation;
  ask.message = context.message;
  ask.pidx = context.base;
  grant(context, *peer.policy);
  ask.value = context.base + context.marks.granted;
  s_.reply(ask, static_cast<std::uint16_t>(distance));
}

} // namespace tributary::rdma
