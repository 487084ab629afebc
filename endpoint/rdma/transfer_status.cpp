#include "endpoint/rdma/transfer_status.hpp"

#include "endpoint/rdma/node.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tributary::rdma {

namespace {

using Kind = TransferStatus::Kind;
using Waiting = TransferStatus::Waiting;

Waiting waiting_of(const SendContext& context) {
  switch (context.state) {
  case SourceState::unused:
  case SourceState::requesting: return Waiting::for_acceptance;
  case SourceState::backing_off: return Waiting::for_busy_peer;
  case SourceState::sending: break;
  }
  if (context.asked > 0 || context.next < std::min(context.limit, context.frames)) {
    return Waiting::to_send;
  }
  return context.next < context.frames ? Waiting::for_credit : Waiting::for_the_end;
}

} // namespace

std::vector<TransferStatus> Node::transfers() const {
  std::vector<TransferStatus> all;
  for (std::size_t i = 0; i < source_.size(); ++i) {
    const SendContext& context = source_[i];
    if (context.state == SourceState::unused) {
      continue;
    }
    const Peer& peer = s_.peers[context.peer];
    all.push_back({.kind = context.serves_read() ? Kind::peers_read : Kind::write,
                   .waiting = waiting_of(context),
                   .peer = peer.address,
                   .vni = peer.vni,
                   .message = context.message,
                   .frames = context.frames,
                   .placed = context.base,
                   .sent = context.next,
                   .retries = context.retries,
                   .busy = context.busy});
  }
  for (std::size_t i = 0; i < sink_.contexts().size(); ++i) {
    const ReceiveContext& context = sink_.contexts()[i];
    if (context.state == SinkState::unused) {
      continue;
    }
    const Peer& peer = s_.peers[context.peer];
    const bool reads = context.has(sink_flag::reading);
    all.push_back({.kind = reads ? Kind::read : Kind::peers_write,
                   .waiting = context.state == SinkState::waiting       ? Waiting::for_own_credit
                              : reads && !context.has(sink_flag::begun) ? Waiting::for_acceptance
                                                                        : Waiting::for_data,
                   .peer = peer.address,
                   .vni = peer.vni,
                   .message = context.message,
                   .frames = context.frames,
                   .placed = context.base,
                   .retries = context.timeouts});
  }
  return all;
}

} // namespace tributary::rdma
