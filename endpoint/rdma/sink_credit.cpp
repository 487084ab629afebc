// Sinks: how many frames may be in flight, for one transfer and for all.
#include "endpoint/rdma/sink.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

std::uint32_t Sink::share_of(const ReceiveContext& context,
                             const rdma_policy::Policy& policy) const {
  const std::uint32_t most = context.width() + 1;
  if (policy.sink_credit == 0) {
    return most;
  }
  return std::min(std::max(policy.sink_credit / std::max(granting_, 1U), policy.least_credit),
                  most);
}

std::uint32_t Sink::grantable(const ReceiveContext& context,
                              const rdma_policy::Policy& policy) const {
  if (context.state != SinkState::receiving) {
    return 0;
  }
  const std::uint32_t share = std::min(share_of(context, policy), context.frames - context.base);
  const std::uint32_t granted = context.marks.granted;
  if (share <= granted) {
    return 0;
  }
  std::uint32_t more = share - granted;
  if (policy.sink_credit != 0) {
    const std::uint32_t room =
        policy.sink_credit > on_its_way_ ? policy.sink_credit - on_its_way_ : 0;
    // A little in any case, so that no transfer waits for others to end.
    const std::uint32_t least = policy.least_credit > granted ? policy.least_credit - granted : 0;
    more = std::min(more, std::max(room, least));
  }
  return more;
}

void Sink::grant(ReceiveContext& context, const rdma_policy::Policy& policy) {
  const std::uint32_t more = grantable(context, policy);
  context.marks.granted = static_cast<std::uint16_t>(context.marks.granted + more);
  on_its_way_ += more;
}

bool Sink::has_credit(const rdma_policy::Policy& policy) const {
  return policy.sink_credit == 0 || granting_ == 0 ||
         on_its_way_ + policy.least_credit <= policy.sink_credit;
}

void Sink::give_credit(std::uint16_t cid, const Peer& peer) {
  ReceiveContext& context = contexts_[cid];
  context.state = SinkState::receiving;
  ++granting_;
  grant(context, *peer.policy);
  // The time-out of a read begins when the request is on its way.
  context.deadline = context.has(sink_flag::reading) ? never : s_.now + peer.timeout_ns();
  arm(cid, peer);
}

void Sink::serve_waiting() {
  while (!waiting_.empty()) {
    const auto cid = static_cast<std::uint16_t>(waiting_.front());
    ReceiveContext& context = contexts_[cid];
    const Peer& peer = s_.peers[context.peer];
    if (!has_credit(*peer.policy)) {
      return;
    }
    waiting_.pop_front();
    give_credit(cid, peer);
    context.flags &= static_cast<std::uint8_t>(~sink_flag::answered); // the round trip begins here
    want(cid, sink_wants::answer);
  }
}

/// How much new credit is worth a PROG: a quarter of it all. Where frames arrive out of order much
/// of it lies between the base and the newest frame, and as much may be in flight when a PROG is
/// late itself: what remains for the source is then announced in smaller parts.
std::uint32_t Sink::worth_announcing(std::uint32_t share, std::uint32_t span) {
  const std::uint32_t usable = share - std::min(share, 2 * span);
  return std::max({usable / 4, share / 16, 1U});
}

} // namespace tributary::rdma
