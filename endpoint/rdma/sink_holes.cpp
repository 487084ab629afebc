// Sinks: missing frames, and when to ask for them.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

void Sink::see_hole(std::uint16_t cid, std::uint32_t distance, const Peer& peer) {
  ReceiveContext& context = contexts_[cid];
  context.marks.span = std::max(context.marks.span, static_cast<std::uint16_t>(distance + 1));
  if (!context.has(sink_flag::has_hole)) {
    context.flags |= sink_flag::has_hole;
    context.marks.hole = context.marks.span;
    context.hole_at = ticks_of(s_.now);
    arm(cid, peer);
    return;
  }
  consider_holes(cid, peer);
}

/// How long a frame that was asked for is not asked for again: longer each time, for it may wait in
/// a queue that no round trip so far has met.
std::uint64_t Sink::guard_of(const ReceiveContext& context, const Peer& peer) {
  return peer.guard_ns() << std::min<unsigned>(context.repeated, 2 * most_doublings);
}

/// When the frames missing below `hole` are due to be asked for.
TimeNs Sink::hole_due(const ReceiveContext& context, const Peer& peer) const {
  if (!context.has(sink_flag::has_hole)) {
    return never;
  }
  const Ticks at = ticks_of(s_.now);
  const auto left = [at](Ticks since, std::uint64_t span_ns) {
    const std::uint64_t passed = ns_between(at, since);
    // Never immediately: a round trip may be too short to be measured.
    const std::uint64_t wait_ns = std::max<std::uint64_t>(span_ns, 64);
    return passed >= wait_ns ? 0 : wait_ns - passed;
  };
  const bool all_asked = context.marks.asked >= context.marks.hole;
  return s_.now + (all_asked ? left(context.asked_at, guard_of(context, peer))
                             : left(context.hole_at, peer.reordering_ns));
}

void Sink::consider_holes(std::uint16_t cid, const Peer& peer) {
  ReceiveContext& context = contexts_[cid];
  if (hole_due(context, peer) > s_.now) {
    return;
  }
  ReceiveContext::Marks& marks = context.marks;
  const Ticks at = ticks_of(s_.now);
  const bool lately = marks.asked > 0 && ns_between(at, context.asked_at) < guard_of(context, peer);
  const std::uint16_t from = lately ? marks.asked : std::uint16_t{0};
  const auto to = static_cast<std::uint16_t>(std::min<std::uint32_t>(marks.hole, context.width()));
  std::uint64_t bits[rdma_policy::most_window / 64];
  if (from < to && contexts_.window_of(cid).missing(context.base, from, to, bits) > 0) {
    context.repeated = lately || marks.asked == 0
                           ? std::uint8_t{0}
                           : static_cast<std::uint8_t>(std::min(context.repeated + 1, 8));
    marks.ask_from = from;
    marks.asked = to;
    context.asked_at = at;
    want(cid, sink_wants::missing);
  }
  marks.hole = marks.span;
  context.hole_at = at;
  arm(cid, peer);
}

void Sink::want(std::uint16_t cid, std::uint8_t what) {
  contexts_[cid].wants |= what;
  control_.push_back(cid);
}

void Sink::arm(std::uint16_t cid, const Peer& peer) {
  const ReceiveContext& context = contexts_[cid];
  s_.timers.arm(cid, std::min(context.deadline, hole_due(context, peer)));
}

void Sink::on_timer(std::uint16_t cid) {
  ReceiveContext& context = contexts_[cid];
  if (context.state != SinkState::receiving) {
    return;
  }
  Peer& peer = s_.peers[context.peer];
  consider_holes(cid, peer);
  if (s_.now >= context.deadline) {
    on_timeout(cid, peer);
  }
  if (context.state == SinkState::receiving) {
    arm(cid, peer);
  }
}

void Sink::on_timeout(std::uint16_t cid, Peer& peer) {
  ++s_.counters.sink_timeouts;
  ReceiveContext& context = contexts_[cid];
  const rdma_policy::Policy& policy = *peer.policy;
  const bool in_doubt = context.has(sink_flag::reading) && !context.has(sink_flag::begun);
  const std::uint32_t most = in_doubt ? policy.request_retries : policy.sink_timeouts;
  if (++context.timeouts > most) {
    s_.raise(rdma_policy::Exception::Kind::unreachable_peer, peer, context.message,
             context.timeouts);
    end(cid, wire::RdmaStatus::timed_out, in_doubt ? Cause::unreachable : Cause::silent, true);
    return;
  }
  if (context.timeouts == policy.exception_timeouts) {
    s_.raise(rdma_policy::Exception::Kind::repeated_timeouts, peer, context.message,
             context.timeouts);
  }
  const unsigned doublings = std::min<unsigned>(context.timeouts, most_doublings);
  context.deadline = s_.now + (peer.timeout_ns() << doublings);
  if (in_doubt) {
    ++s_.counters.request_timeouts;
    context.flags |= sink_flag::answered_again;
    want(cid, sink_wants::answer);
    return;
  }
  if (!context.has(sink_flag::reading) && !peer.shown && context.timeouts > most_unshown) {
    ++s_.counters.withheld;
    return;
  }
  ReceiveContext::Marks& marks = context.marks;
  const bool all = context.timeouts >= policy.range_threshold;
  marks.ask_from = 0;
  marks.asked =
      all ? static_cast<std::uint16_t>(context.width()) : std::max<std::uint16_t>(marks.asked, 1);
  context.asked_at = ticks_of(s_.now);
  want(cid, all ? sink_wants::range : sink_wants::one);
}

} // namespace tributary::rdma
