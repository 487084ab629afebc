// Sinks: requests to write, and how they are answered.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

namespace {

/// Whether `a` comes before `b`, modulo 2^32.
constexpr bool is_older(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

} // namespace

void Sink::take_request(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  wire::RdmaRequest request;
  if (!wire::decode(frame.payload, request)) {
    ++s_.counters.bad_request;
    return;
  }
  const auto peer = s_.peer_of(h);
  if (!peer) {
    ++s_.counters.busy_peers;
    put_off(h);
    return;
  }
  const std::uint32_t record = s_.records.find(*peer, h.scid, RecordKind::write);
  if (record != Records::none && answered_by_record(h, record)) {
    return;
  }
  const std::uint64_t length = std::uint64_t{request.length_high} << 32 | h.value;
  if (request.payload == 0 || request.payload > s_.payload_bytes()) {
    ++s_.counters.refused_frame_size;
    refuse(h, wire::RdmaStatus::bad_frame_size);
    return;
  }
  if (wire::rdma_frames_of(length, request.payload) != h.pidx) {
    ++s_.counters.refused_length;
    refuse(h, wire::RdmaStatus::length_mismatch);
    return;
  }
  const Regions::Found found = s_.regions.find(RegionKey{request.key}, h.vni, true, h.word, length);
  if (found.status != wire::RdmaStatus::ok) {
    refuse(h, found.status);
    return;
  }
  accept(h, request, *peer, record, found.memory, length);
}

bool Sink::answered_by_record(const wire::RdmaHeader& h, std::uint32_t i) {
  Record& record = s_.records[i];
  const bool live = record.state == Record::State::live;
  if (!live && !s_.rules().finished_memory) {
    return false;
  }
  if (record.message != h.message) {
    if (is_older(h.message, record.message)) {
      ++s_.counters.old_request;
      return true;
    }
    if (live) {
      end(record.context, wire::RdmaStatus::superseded, Cause::none, false);
    }
    return false;
  }
  if (live) {
    ReceiveContext& context = contexts_[record.context];
    if (context.has(sink_flag::answered)) {
      context.flags |= sink_flag::answered_again;
    }
    want(record.context, sink_wants::answer);
  } else {
    wire::RdmaHeader answer = s_.answer_to(
        h, record.state == Record::State::done ? wire::RdmaKind::done : wire::RdmaKind::abort);
    answer.word = static_cast<std::uint64_t>(
        record.state == Record::State::done ? wire::RdmaStatus::ok : record.status);
    s_.reply(answer);
  }
  return true;
}

void Sink::accept(const wire::RdmaHeader& h, const wire::RdmaRequest& request, std::uint16_t peer,
                  std::uint32_t record, std::byte* memory, std::uint64_t length) {
  const bool immediate = h.has(wire::rdma_flag::immediate);
  std::uint64_t* const full = contexts_.full()                      ? &s_.counters.busy_contexts
                              : !s_.has_record(record)              ? &s_.counters.busy_records
                              : immediate && works_.full()          ? &s_.counters.busy_completions
                              : immediate && !s_.arrivals.reserve() ? &s_.counters.busy_completions
                                                                    : nullptr;
  if (full != nullptr) {
    ++*full;
    put_off(h);
    return;
  }
  ++s_.counters.accepted;
  Peer& from = s_.peers[peer];
  // `has_record` may have forgotten this context's own, whose time was over.
  record = s_.records.find(peer, h.scid, RecordKind::write);
  if (record == Records::none) {
    record = s_.records.add(peer, h.scid, RecordKind::write);
    s_.peers.use(peer);
  }
  const std::uint16_t cid =
      *contexts_.allocate(std::min(from.policy->window, contexts_.widest_window()));
  s_.records.begin(record, h.message, cid);
  ReceiveContext& context = contexts_[cid];
  context.memory = memory;
  context.message = h.message;
  context.frames = h.pidx;
  context.scid = h.scid;
  context.payload = request.payload;
  context.last_length =
      static_cast<std::uint16_t>(length - std::uint64_t{h.pidx - 1} * request.payload);
  context.peer = peer;
  if (immediate) {
    context.work = *works_.allocate({.user = request.immediate,
                                     .key = RegionKey{request.key},
                                     .offset = h.word,
                                     .length = length});
  }
  start(cid, from);
  want(cid, sink_wants::answer);
}

void Sink::start(std::uint16_t cid, Peer& peer) {
  ReceiveContext& context = contexts_[cid];
  s_.peers.use(context.peer);
  if (!waiting_.empty() || !has_credit(*peer.policy)) {
    context.state = SinkState::waiting;
    waiting_.push_back(cid);
    return;
  }
  give_credit(cid, peer);
}

void Sink::refuse(const wire::RdmaHeader& h, wire::RdmaStatus status) {
  switch (status) {
  case wire::RdmaStatus::wrong_key: ++s_.counters.refused_key; break;
  case wire::RdmaStatus::out_of_bounds: ++s_.counters.refused_bounds; break;
  case wire::RdmaStatus::no_right: ++s_.counters.refused_right; break;
  case wire::RdmaStatus::wrong_vni: ++s_.counters.refused_vni; break;
  default: break;
  }
  wire::RdmaHeader answer = s_.answer_to(h, wire::RdmaKind::rsp);
  answer.word = static_cast<std::uint64_t>(status);
  answer.value = status == wire::RdmaStatus::bad_frame_size ? s_.payload_bytes() : 0;
  s_.reply(answer);
}

void Sink::put_off(const wire::RdmaHeader& h) {
  // One after the other, as contexts become free.
  const std::uint64_t wait_us =
      std::min<std::uint64_t>(++put_off_ * turnover_ns_ / ns_per_us, 1'000'000);
  wire::RdmaHeader answer = s_.answer_to(h, wire::RdmaKind::rsp);
  answer.flags = wire::rdma_flag::busy;
  answer.word = wait_us << 32 | static_cast<std::uint64_t>(wire::RdmaStatus::busy);
  s_.reply(answer);
}

} // namespace tributary::rdma
