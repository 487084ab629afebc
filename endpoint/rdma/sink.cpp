// Sinks: reads of this host, and sending of frames.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

Sink::Sink(Shared& shared)
    : s_(shared), contexts_(shared.options.sinks, shared.options.widest_window),
      works_(shared.options.works), control_(shared.options.sinks), waiting_(shared.options.sinks) {
}

std::uint16_t Sink::begin_read(std::uint16_t peer, std::span<std::byte> memory, const Work& work) {
  ++s_.counters.reads_begun;
  Peer& from = s_.peers[peer];
  const std::uint16_t cid = *contexts_.allocate(
      std::min(from.policy->window, contexts_.widest_window()), s_.identifiers.draw());
  ReceiveContext& context = contexts_[cid];
  context.memory = memory.data();
  context.message = s_.next_message(from);
  divide(context, memory.size(), s_.payload_to(from));
  context.peer = peer;
  context.work = *works_.allocate(work);
  context.flags = sink_flag::reading;
  start(cid, from);
  if (context.state == SinkState::receiving) {
    want(cid, sink_wants::answer);
  }
  return cid;
}

void Sink::divide(ReceiveContext& context, std::uint64_t length, std::uint16_t payload) {
  context.payload = payload;
  context.frames = static_cast<std::uint32_t>(wire::rdma_frames_of(length, payload));
  context.last_length =
      static_cast<std::uint16_t>(length - std::uint64_t{context.frames - 1} * payload);
}

void Sink::cancel_read(std::uint16_t cid) {
  end(cid, wire::RdmaStatus::cancelled, Cause::cancelled, true);
}

bool Sink::send(engine::Outlet& outlet) {
  while (!control_.empty()) {
    const auto cid = static_cast<std::uint16_t>(control_.front());
    if (contexts_[cid].wants == 0) {
      control_.pop_front();
      continue;
    }
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    outlet.push(static_cast<std::uint32_t>(compose(cid, room)));
  }
  return true;
}

std::size_t Sink::compose(std::uint16_t cid, std::byte* room) {
  ReceiveContext& context = contexts_[cid];
  const Peer& peer = s_.peers[context.peer];
  const rdma_policy::Policy& policy = *peer.policy;
  grant(context, policy);
  wire::RdmaHeader h = s_.header_to(peer, wire::RdmaKind::prog);
  h.dcid = context.scid;
  h.scid = contexts_.name_of(cid);
  h.generation = context.generation;
  h.message = context.message;
  h.pidx = context.base;
  h.value = context.base + context.marks.granted;

  if ((context.wants & sink_wants::answer) != 0) {
    context.wants &= static_cast<std::uint8_t>(~sink_wants::answer);
    if (!context.has(sink_flag::answered)) {
      context.flags |= sink_flag::answered;
      context.asked_at = ticks_of(s_.now);
    }
    if (!context.has(sink_flag::reading)) {
      h.kind = wire::RdmaKind::rsp;
      h.word = echo_of(context);
      return s_.write(h, {}, policy.dscp_control, room);
    }
    ++s_.counters.requests_sent;
    context.deadline =
        s_.now + (peer.timeout_ns() << std::min<unsigned>(context.timeouts, most_doublings));
    arm(cid, peer);
    const Work& work = works_[context.work];
    h.kind = wire::RdmaKind::rd_rqt;
    h.dcid = 0;
    h.pidx = context.frames;
    h.word = work.offset;
    h.value = static_cast<std::uint32_t>(work.length);
    std::byte request[wire::rdma_request_bytes];
    wire::encode(wire::RdmaRequest{.key = work.key.value,
                                   .immediate = 0,
                                   .incarnation = s_.options.incarnation,
                                   .proof = peer.proof,
                                   .length_high = static_cast<std::uint32_t>(work.length >> 32),
                                   .credit = context.base + context.marks.granted,
                                   .payload = context.payload,
                                   .slot = cid},
                 request);
    return s_.write(h, request, policy.dscp_control, room);
  }
  if ((context.wants & (sink_wants::one | sink_wants::missing | sink_wants::range)) != 0) {
    return compose_resend(cid, h, room);
  }
  context.wants = 0;
  ++s_.counters.progress_sent;
  h.word = peer.newest_stamp;
  return s_.write(h, {}, policy.dscp_control, room);
}

std::uint64_t Sink::echo_of(const ReceiveContext& context) const {
  if (context.has(sink_flag::reading) || context.has(sink_flag::begun)) {
    return 0; // the sender has been answered
  }
  const std::uint32_t record = s_.records.find(context.peer, context.scid, RecordKind::write);
  return std::uint64_t{s_.records[record].nonce} << 32;
}

/// The widest of the wanted questions; a PROG if all has arrived in the meantime.
std::size_t Sink::compose_resend(std::uint16_t cid, wire::RdmaHeader& h, std::byte* room) {
  ReceiveContext& context = contexts_[cid];
  const std::uint8_t dscp = s_.peers[context.peer].policy->dscp_control;
  const std::uint8_t wants = context.wants;
  const ReceiveContext::Marks& marks = context.marks;
  context.wants = 0;
  std::uint64_t bits[rdma_policy::most_window / 64];
  std::byte bytes[sizeof bits];
  std::uint32_t to = 0;
  h.kind = wire::RdmaKind::resend;
  h.word = echo_of(context);
  if ((wants & sink_wants::range) != 0) {
    h.flags = wire::rdma_flag::range;
    to = std::min<std::uint32_t>(marks.span, context.width());
    contexts_.window_of(cid).missing(context.base, 0, to, bits);
  } else if ((wants & sink_wants::missing) != 0) {
    to = marks.asked;
    if (contexts_.window_of(cid).missing(context.base, marks.ask_from, to, bits) == 0) {
      ++s_.counters.progress_sent;
      h.kind = wire::RdmaKind::prog;
      h.word = 0;
      return s_.write(h, {}, dscp, room);
    }
  }
  ++s_.counters.resends_sent;
  const std::size_t words = (to + 63) / 64;
  for (std::size_t i = 0; i < words; ++i) {
    wire::store_le(bytes + 8 * i, bits[i]);
  }
  return s_.write(h, {bytes, 8 * words}, dscp, room);
}

} // namespace tributary::rdma
