// Sinks: requests to write, and their answers.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

namespace {

/// Whether `a` precedes `b`, modulo 2^32.
constexpr bool is_older(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::int32_t>(a - b) < 0;
}

} // namespace

bool Sink::has_answered(const wire::RdmaHeader& h, std::uint16_t peer) {
  const std::uint32_t record = s_.records.find(peer, h.scid, RecordKind::write);
  return record != Records::none && is_answered_by(record, h);
}

bool Sink::is_answered_by(std::uint32_t i, const wire::RdmaHeader& h) {
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
  record.nonce = wire::rdma_nonce_of(h);
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
                  const Regions::Found& found) {
  const bool immediate = h.has(wire::rdma_flag::immediate);
  const bool has_share = s_.peers.has_share(peer, Held::sinks, contexts_.free());
  std::uint64_t* full = contexts_.full()             ? &s_.counters.busy_contexts
                        : !has_share                 ? &s_.counters.busy_shares
                        : immediate && works_.full() ? &s_.counters.busy_completions
                                                     : nullptr;
  if (full == nullptr) {
    full = s_.lacks_record(peer, s_.records.find(peer, h.scid, RecordKind::write));
  }
  if (full == nullptr && immediate && !s_.arrivals.reserve()) {
    full = &s_.counters.busy_completions;
  }
  if (full != nullptr) {
    ++*full;
    put_off(h);
    return;
  }
  ++s_.counters.accepted;
  Peer& from = s_.peers[peer];
  const std::uint32_t record = s_.record_of(peer, h.scid, RecordKind::write);
  const std::uint64_t length = request.length(h.value);
  const std::uint16_t cid = *contexts_.allocate(
      std::min(from.policy->window, contexts_.widest_window()), s_.identifiers.draw());
  s_.peers.take(peer, Held::sinks);
  s_.begin_transfer(record, h.message, cid, found.region);
  s_.records[record].nonce = wire::rdma_nonce_of(h);
  ReceiveContext& context = contexts_[cid];
  context.memory = found.memory;
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

void Sink::put_off(const wire::RdmaHeader& h) {
  // One after the other, as contexts become free.
  const std::uint64_t wait_us =
      std::min<std::uint64_t>(++put_off_ * turnover_ns_ / ns_per_us, 1'000'000);
  wire::RdmaHeader answer = s_.answer_to_request(h, wire::RdmaStatus::busy);
  answer.word |= wait_us << 32;
  s_.reply(answer);
}

} // namespace tributary::rdma
