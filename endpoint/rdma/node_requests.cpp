// Nodes: requests of peers. The request is checked before the requester, and a peer has to show
// that it receives frames, or has restarted, before its request is accepted:
//
//   the same transfer again, of this incarnation       answered by its record
//   a wrong key, length or range                       refused; nothing is stored
//   another incarnation than the known one             challenged
//   a read, of a peer that has not shown itself        challenged
//   a write of such a peer, and many sinks wait for    challenged
//     their first frame
//   with the right proof                               shown; what it had asked for in another
//                                                        incarnation is over
//   otherwise                                          accepted, or busy
//
// A challenge costs no memory: the proof is a function of address, incarnation and the number of
// known restarts of the peer. Only a host that receives frames at the address learns it.
#include "endpoint/rdma/node.hpp"
#include "tributary/wire/rdma.hpp"
#include "tributary/wire/rdma_request.hpp"

namespace tributary::rdma {

void Node::take_request(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  const bool reads = h.kind == wire::RdmaKind::rd_rqt;
  wire::RdmaRequest request;
  if (!wire::decode(frame.payload, request)) {
    ++s_.counters.bad_request;
    return;
  }
  const auto known = s_.peers.find(h.source, h.vni);
  if (known && s_.peers[*known].is_of(request.incarnation) &&
      (reads ? source_.has_answered(h, request, *known) : sink_.has_answered(h, *known))) {
    return;
  }
  const Regions::Found found = examine(h, request);
  if (found.status != wire::RdmaStatus::ok) {
    refuse(h, found.status);
    return;
  }
  const auto peer = admit(h, request);
  if (!peer) {
    return;
  }
  if (reads) {
    source_.accept_read(h, request, *peer, found);
  } else {
    sink_.accept(h, request, *peer, found);
  }
}

Regions::Found Node::examine(const wire::RdmaHeader& h, const wire::RdmaRequest& request) const {
  if (request.payload == 0 || request.payload > s_.payload_bytes()) {
    return {.status = wire::RdmaStatus::bad_frame_size};
  }
  const std::uint64_t length = request.length(h.value);
  if (wire::rdma_frames_of(length, request.payload) != h.pidx) {
    return {.status = wire::RdmaStatus::length_mismatch};
  }
  return s_.regions.find(RegionKey{request.key}, h.vni, h.kind == wire::RdmaKind::rqt, h.word,
                         length);
}

void Node::refuse(const wire::RdmaHeader& h, wire::RdmaStatus status) {
  switch (status) {
  case wire::RdmaStatus::bad_frame_size: ++s_.counters.refused_frame_size; break;
  case wire::RdmaStatus::length_mismatch: ++s_.counters.refused_length; break;
  case wire::RdmaStatus::wrong_key: ++s_.counters.refused_key; break;
  case wire::RdmaStatus::out_of_bounds: ++s_.counters.refused_bounds; break;
  case wire::RdmaStatus::no_right: ++s_.counters.refused_right; break;
  case wire::RdmaStatus::wrong_vni: ++s_.counters.refused_vni; break;
  default: break;
  }
  wire::RdmaHeader answer = s_.answer_to_request(h, status);
  answer.value = status == wire::RdmaStatus::bad_frame_size ? s_.payload_bytes() : 0;
  s_.reply(answer);
}

std::optional<std::uint16_t> Node::admit(const wire::RdmaHeader& h,
                                         const wire::RdmaRequest& request) {
  const bool reads = h.kind == wire::RdmaKind::rd_rqt;
  const auto known = s_.peers.find(h.source, h.vni);
  const bool is_first = !known || !s_.peers[*known].incarnation_known;
  const bool is_same = !is_first && s_.peers[*known].incarnation == request.incarnation;
  const bool is_shown = is_same && s_.peers[*known].shown;
  bool has_proof = false;
  if (!is_shown) {
    const std::uint64_t proof = s_.identifiers.proof(
        h.source, h.vni, request.incarnation, known ? s_.peers[*known].restarts : std::uint16_t{0});
    has_proof = request.proof == proof;
    if (!has_proof && (reads || !(is_first || is_same) || sink_.waits_for_many())) {
      challenge(h, proof);
      return std::nullopt;
    }
  }
  const auto place = s_.peer_at(h.source, h.vni);
  if (!place) {
    ++s_.counters.busy_peers;
    reads ? source_.put_off(h) : sink_.put_off(h);
    return std::nullopt;
  }
  Peer& peer = s_.peers[*place];
  if (!is_first && !is_same) {
    ++s_.counters.incarnations;
    s_.raise(rdma_policy::Exception::Kind::restarted_peer, peer, 0, 0);
    ++peer.restarts;
    peer.payload = 0;
    end_all_of(*place);
  }
  peer.incarnation = request.incarnation;
  peer.incarnation_known = true;
  if (has_proof) {
    s_.peers.show(*place);
  }
  return place;
}

void Node::challenge(const wire::RdmaHeader& h, std::uint64_t proof) {
  ++s_.counters.challenged;
  wire::RdmaHeader answer = s_.answer_to_request(h, wire::RdmaStatus::unproven);
  answer.pidx = static_cast<std::uint32_t>(proof >> 32);
  answer.value = static_cast<std::uint32_t>(proof);
  s_.reply(answer);
}

void Node::end_all_of(std::uint16_t peer) {
  // Its numbers begin again: stored ones mean nothing any more.
  s_.peers.use(peer);
  sink_.end_writes_of(peer, wire::RdmaStatus::restarted);
  source_.end_reads_of(peer);
  for (std::uint32_t i = 0; i < s_.records.size(); ++i) {
    if (s_.records[i].state != Record::State::unused && s_.records[i].peer == peer) {
      s_.forget(i);
    }
  }
  s_.peers.release(peer);
}

} // namespace tributary::rdma
