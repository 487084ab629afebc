#include "endpoint/rdma/node.hpp"

#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tributary::rdma {

std::string_view name_of(BeginError error) {
  switch (error) {
#define TRIBUTARY_X(name, text)                                                                    \
  case BeginError::name: return #name;
    TRIBUTARY_RDMA_BEGIN_ERRORS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

std::string_view text_of(BeginError error) {
  switch (error) {
#define TRIBUTARY_X(name, text)                                                                    \
  case BeginError::name: return text;
    TRIBUTARY_RDMA_BEGIN_ERRORS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  return "unknown";
}

Node::Node(const Options& options) : s_(options), sink_(s_), source_(s_) {}

std::optional<RegionKey> Node::register_region(std::span<std::byte> memory, Rights rights, Vni vni,
                                               std::uint64_t first) {
  return s_.regions.add(memory, rights, vni, first);
}

bool Node::deregister_region(RegionKey key) {
  const auto region = s_.regions.place_of(key);
  if (!region) {
    return false;
  }
  if (s_.regions.uses(*region) > 0) {
    sink_.end_writes_to(*region);
    source_.end_reads_from(*region);
  }
  s_.regions.remove(*region);
  return true;
}

void Node::deregister_all() {
  for (const RegionKey key : s_.regions.keys()) {
    deregister_region(key);
  }
}

BeginError Node::may_begin(EndPoint peer, std::uint64_t length) const {
  if (!wire::is_valid_nid(peer.nid) || peer.number >= end_points_per_host) {
    return BeginError::bad_nid;
  }
  // No switch sends a frame back to the port that it came from.
  if (peer.nid == s_.options.address.nid && !s_.options.reaches_own_host) {
    return BeginError::own_nid;
  }
  if (length / s_.payload_bytes() >= std::numeric_limits<std::uint32_t>::max()) {
    return BeginError::too_long;
  }
  return BeginError::none;
}

Begun Node::write(const WriteRequest& request) {
  if (const BeginError error = may_begin(request.peer, request.memory.size());
      error != BeginError::none) {
    return {error, {}};
  }
  if (source_.full()) {
    return {BeginError::no_context, {}};
  }
  const auto peer = s_.peer_at(request.peer, request.vni);
  if (!peer) {
    return {BeginError::no_peer, {}};
  }
  if (s_.peers.is_quarantined(*peer)) {
    return {BeginError::quarantined, {}};
  }
  if (!s_.completions.reserve()) {
    return {BeginError::no_completion, {}};
  }
  const std::uint16_t scid = source_.begin(*peer, {.memory = request.memory,
                                                   .key = request.key,
                                                   .offset = request.offset,
                                                   .user = request.user,
                                                   .immediate = request.immediate});
  return {BeginError::none, {.read = false, .context = scid, .message = source_[scid].message}};
}

Begun Node::read(const ReadRequest& request) {
  if (const BeginError error = may_begin(request.peer, request.memory.size());
      error != BeginError::none) {
    return {error, {}};
  }
  if (!sink_.can_read()) {
    return {BeginError::no_context, {}};
  }
  const auto peer = s_.peer_at(request.peer, request.vni);
  if (!peer) {
    return {BeginError::no_peer, {}};
  }
  if (s_.peers.is_quarantined(*peer)) {
    return {BeginError::quarantined, {}};
  }
  if (!s_.completions.reserve()) {
    return {BeginError::no_completion, {}};
  }
  const std::uint16_t cid = sink_.begin_read(*peer, request.memory,
                                             {.user = request.user,
                                              .key = request.key,
                                              .offset = request.offset,
                                              .length = request.memory.size()});
  return {BeginError::none,
          {.read = true, .context = cid, .message = sink_.contexts()[cid].message}};
}

bool Node::cancel(const TransferId& id) {
  if (id.read) {
    if (id.context >= sink_.contexts().size()) {
      return false;
    }
    const ReceiveContext& context = sink_.contexts()[id.context];
    if (context.state == SinkState::unused || !context.has(sink_flag::reading) ||
        context.message != id.message) {
      return false;
    }
    sink_.cancel_read(id.context);
    return true;
  }
  if (id.context >= source_.size()) {
    return false;
  }
  const SendContext& context = source_[id.context];
  if (context.state == SourceState::unused || context.serves_read() ||
      context.message != id.message) {
    return false;
  }
  source_.cancel(id.context);
  return true;
}

void Node::set_policy(const rdma_policy::Policy& policy) { s_.policy = policy; }

void Node::set_policy(Vni vni, const rdma_policy::Policy& policy) {
  for (auto& [of, own] : s_.policies) {
    if (of == vni) {
      *own = policy;
      return;
    }
  }
  s_.policies.emplace_back(vni, std::make_unique<rdma_policy::Policy>(policy));
  const rdma_policy::Policy* const own = s_.policies.back().second.get();
  s_.peers.for_each([&](Peer& peer) {
    if (peer.vni == vni) {
      peer.policy = own;
    }
  });
}

bool Node::set_quarantined(Nid nid, Vni vni, bool quarantined) {
  const auto peer = quarantined ? s_.peer_at(nid, vni) : s_.peers.find(nid, vni);
  if (!peer) {
    return !quarantined;
  }
  s_.peers.set_quarantined(*peer, quarantined);
  return true;
}

const Peer* Node::peer(EndPoint address, Vni vni) const {
  const auto i = s_.peers.find(address, vni);
  return i ? &s_.peers[*i] : nullptr;
}

EndPoint Node::end_point_of(Nid nid, Vni vni) const {
  EndPoint found = nid;
  s_.peers.for_each([&](const Peer& peer) {
    if (peer.address.nid == nid && peer.vni == vni && peer.shown) {
      found = peer.address;
    }
  });
  return found;
}

// Frames.

void Node::receive(std::span<const FrameView> frames, TimeNs now) {
  begin_receive(now);
  for (const FrameView& view : frames) {
    wire::RdmaFrame frame;
    if (read(view, frame)) {
      take(frame);
    }
  }
}

bool Node::read(const FrameView& view, wire::RdmaFrame& frame) {
  ++s_.counters.frames_received;
  const wire::RdmaError error = wire::decode({view.data, view.length}, s_.options.ethertype, frame);
  if (error != wire::RdmaError::none) {
    count_refused(error);
  } else if (frame.header.destination.nid != s_.options.address.nid ||
             (frame.header.source.nid == s_.options.address.nid && !s_.options.reaches_own_host)) {
    ++s_.counters.misdirected;
  } else if (frame.header.destination != s_.options.address) {
    ++s_.counters.other_end_point; // it answers, not this one
  } else {
    return true;
  }
  return false;
}

void Node::count_refused(wire::RdmaError error) {
  switch (error) {
  case wire::RdmaError::bad_crc:
  case wire::RdmaError::bad_header_check: ++s_.counters.bad_crc; break;
  case wire::RdmaError::unknown_kind:
  case wire::RdmaError::unknown_version: ++s_.counters.unknown_kind; break;
  default: ++s_.counters.malformed; break;
  }
}

void Node::take(const wire::RdmaFrame& frame) {
  const bool to_sink = frame.header.has(wire::rdma_flag::to_sink);
  if (frame.trimmed && frame.header.kind != wire::RdmaKind::wr) {
    ++s_.counters.malformed;
    return;
  }
  switch (frame.header.kind) {
  case wire::RdmaKind::wr: sink_.take_data(frame); break;
  case wire::RdmaKind::rqt:
  case wire::RdmaKind::rd_rqt: take_request(frame); break;
  case wire::RdmaKind::rsp:
    to_sink ? sink_.take_response(frame) : source_.take_response(frame);
    break;
  case wire::RdmaKind::resend:
  case wire::RdmaKind::prog: source_.take_credit(frame); break;
  case wire::RdmaKind::done: source_.take_done(frame); break;
  case wire::RdmaKind::query: sink_.take_query(frame); break;
  case wire::RdmaKind::noctx:
    to_sink ? sink_.take_no_context(frame) : source_.take_no_context(frame);
    break;
  case wire::RdmaKind::fin: sink_.take_finish(frame); break;
  case wire::RdmaKind::abort: to_sink ? sink_.take_abort(frame) : source_.take_abort(frame); break;
  case wire::RdmaKind::str:
  case wire::RdmaKind::ack: ++s_.counters.no_streams; break;
  }
}

void Node::poll(TimeNs now) {
  s_.now = std::max(s_.now, now);
  for (std::uint32_t i = s_.timers.due(s_.now); i != TimerHeap::none; i = s_.timers.due(s_.now)) {
    if (i < s_.options.sinks) {
      sink_.on_timer(static_cast<std::uint16_t>(i));
    } else {
      source_.on_timer(static_cast<std::uint16_t>(i - s_.options.sinks));
    }
  }
  s_.forget_ended();
}

bool Node::send_replies(engine::Outlet& outlet) {
  while (!s_.replies.empty()) {
    std::byte* const room = outlet.room();
    if (room == nullptr) {
      return false;
    }
    const Reply& reply = s_.replies.front();
    const std::uint8_t dscp = s_.policy_of(reply.header.vni).dscp_control;
    std::byte bitmap[wire::longest_rdma_bitmap_bytes]{};
    std::size_t bytes = 0;
    if (reply.single != Reply::no_single) {
      ++s_.counters.resends_sent;
      bytes = 8 * (reply.single / 64U + 1);
      wire::store_le(bitmap + bytes - 8, std::uint64_t{1} << (reply.single % 64));
    }
    const std::size_t length = s_.write(reply.header, {bitmap, bytes}, dscp, room);
    s_.replies.pop();
    outlet.push(static_cast<std::uint32_t>(length));
  }
  return true;
}

void Node::send(engine::Outlet& outlet) {
  // Answers before data: others wait for them. But where they fill the link, frames of contexts
  // precede them every second time: a peer that asks without end does not block transfers.
  if (std::exchange(replies_fill_link_, false) && !(sink_.send(outlet) && source_.send(outlet))) {
    return;
  }
  if (!send_replies(outlet)) {
    replies_fill_link_ = true;
    return;
  }
  if (sink_.send(outlet)) {
    (void)source_.send(outlet);
  }
}

} // namespace tributary::rdma
