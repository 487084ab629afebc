// Sources: begin of transfers, and sending of frames.
#include "endpoint/rdma/source.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

Source::Source(Shared& shared)
    : s_(shared), contexts_(shared.options.sources), control_(shared.options.sources),
      ready_(shared.options.sources) {
  free_.reserve(contexts_.size());
  for (std::size_t i = contexts_.size(); i-- > 0;) {
    free_.push_back(static_cast<std::uint16_t>(i));
  }
}

std::uint16_t Source::allocate(std::uint16_t peer) {
  const std::uint16_t scid = free_.back();
  free_.pop_back();
  contexts_[scid] = {};
  contexts_[scid].peer = peer;
  s_.peers.use(peer);
  return scid;
}

std::uint16_t Source::begin(std::uint16_t peer, const Write& write) {
  ++s_.counters.writes_begun;
  const std::uint16_t scid = allocate(peer);
  SendContext& context = contexts_[scid];
  context.message = s_.next_message(s_.peers[peer]);
  context.memory = write.memory.data();
  context.length = write.memory.size();
  context.payload = s_.payload_to(s_.peers[peer]);
  context.frames =
      static_cast<std::uint32_t>(wire::rdma_frames_of(context.length, context.payload));
  context.key = write.key;
  context.offset = write.offset;
  context.user = write.user;
  context.has_immediate = write.immediate.has_value();
  context.immediate = write.immediate.value_or(0);
  draw_nonce(context);
  request(scid);
  return scid;
}

void Source::draw_nonce(SendContext& context) {
  const std::uint64_t drawn = s_.identifiers.draw();
  context.dcid = static_cast<std::uint16_t>(drawn);
  context.generation = static_cast<std::uint16_t>(drawn >> 16);
}

/// The timer begins when the request is on its way: the time of the owner's call is unknown.
void Source::request(std::uint16_t scid) {
  SendContext& context = contexts_[scid];
  context.state = SourceState::requesting;
  context.deadline = never;
  want(scid, source_wants::request);
}

void Source::cancel(std::uint16_t scid) {
  fail(scid, Cause::cancelled, wire::RdmaStatus::cancelled);
}

bool Source::send(engine::Outlet& outlet) {
  while (!control_.empty()) {
    const auto scid = static_cast<std::uint16_t>(control_.front());
    if (contexts_[scid].wants == 0) {
      control_.pop_front();
      continue;
    }
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    outlet.push(static_cast<std::uint32_t>(compose(scid, room)));
  }
  while (!ready_.empty()) {
    const auto scid = static_cast<std::uint16_t>(ready_.front());
    SendContext& context = contexts_[scid];
    if (!may_send(context) || context.paced_until > s_.now) {
      ready_.remove(scid);
      sent_in_turn_ = 0;
      // What arrives after the last frame counts.
      context.deadline = s_.now + quiet_timeouts * s_.peers[context.peer].timeout_ns();
      arm(scid);
      continue;
    }
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    outlet.push(static_cast<std::uint32_t>(compose_data(scid, room)));
    if (++sent_in_turn_ == turn) {
      sent_in_turn_ = 0;
      ready_.remove(scid);
      ready_.push_back(scid);
    }
  }
  return true;
}

std::size_t Source::compose(std::uint16_t scid, std::byte* room) {
  SendContext& context = contexts_[scid];
  const Peer& peer = s_.peers[context.peer];
  wire::RdmaHeader h = s_.header_to(peer, wire::RdmaKind::query);
  h.scid = scid;
  h.message = context.message;
  h.dcid = context.dcid;
  h.generation = context.generation;
  const std::uint8_t wants = context.wants;
  context.wants = 0;
  if ((wants & source_wants::request) == 0) {
    ++s_.counters.queries_sent;
    h.flags = (wants & source_wants::query) != 0 ? wire::rdma_flag::ack_please : std::uint8_t{0};
    h.pidx = context.next;
    return s_.write(h, {}, peer.policy->dscp_control, room);
  }
  ++s_.counters.requests_sent;
  if (context.retries == 0) {
    context.requested_at = s_.now;
  }
  const std::uint64_t timeout = peer.timeout_ns()
                                << std::min<unsigned>(context.retries, most_doublings);
  // Jitter, so that peers that lost their answers together do not retry together.
  context.deadline = s_.now + timeout + s_.random.below(timeout / 4 + 1);
  arm(scid);
  h.kind = wire::RdmaKind::rqt;
  h.flags = context.has_immediate ? wire::rdma_flag::immediate : std::uint8_t{0};
  h.pidx = context.frames;
  h.word = context.offset;
  h.value = static_cast<std::uint32_t>(context.length);
  std::byte request[wire::rdma_request_bytes];
  wire::encode(wire::RdmaRequest{.key = context.key.value,
                                 .immediate = context.immediate,
                                 .incarnation = s_.options.incarnation,
                                 .proof = peer.proof,
                                 .length_high = static_cast<std::uint32_t>(context.length >> 32),
                                 .credit = 0,
                                 .payload = context.payload,
                                 .slot = 0},
               request);
  return s_.write(h, request, peer.policy->dscp_control, room);
}

std::size_t Source::compose_data(std::uint16_t scid, std::byte* room) {
  SendContext& context = contexts_[scid];
  const Peer& peer = s_.peers[context.peer];
  const bool again = context.asked > 0;
  const std::uint32_t pidx = again ? context.take_asked() : context.next++;
  const std::uint32_t length = context.length_of(pidx);
  wire::RdmaHeader h = s_.header_to(peer, wire::RdmaKind::wr);
  h.flags = static_cast<std::uint8_t>((again ? wire::rdma_flag::resent : 0) |
                                      (pidx + 1 == context.frames ? wire::rdma_flag::last : 0));
  h.dcid = context.dcid;
  h.scid = scid;
  h.generation = context.generation;
  h.message = context.message;
  h.pidx = pidx;
  h.word = s_.now.value;
  ++s_.counters.data_sent;
  s_.counters.data_resent += again ? 1 : 0;
  s_.counters.bytes_sent += length;
  if (const std::uint64_t rate = peer.policy->rate_bytes_per_second; rate != 0) {
    context.paced_until = std::max(context.paced_until, s_.now) +
                          std::max<std::uint64_t>(length, 1) * ns_per_second / rate;
  }
  const std::uint8_t dscp =
      peer.policy->spraying ? peer.policy->dscp_sprayed : peer.policy->dscp_hashed;
  return s_.write(h, {context.memory + std::uint64_t{pidx} * context.payload, length}, dscp, room);
}

} // namespace tributary::rdma
