// Sources: reads of peers.
#include "endpoint/rdma/source.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

void Source::take_read(const wire::RdmaFrame& frame) {
  const wire::RdmaHeader& h = frame.header;
  wire::RdmaRequest request;
  if (!wire::decode(frame.payload, request)) {
    ++s_.counters.bad_request;
    return;
  }
  const auto peer = s_.peer_of(h);
  if (!peer) {
    ++s_.counters.busy_peers;
    refuse_read(h, wire::RdmaStatus::busy, true);
    return;
  }
  const std::uint32_t i = s_.records.find(*peer, h.scid, RecordKind::read);
  if (i != Records::none) {
    const Record& record = s_.records[i];
    const auto ahead = static_cast<std::int32_t>(h.message - record.message);
    if (ahead < 0) {
      ++s_.counters.old_request;
      return;
    }
    if (ahead == 0 && record.state == Record::State::live) {
      // Nothing has come there yet. One frame tells the reader the rest.
      if (contexts_[record.context].ask(0)) {
        make_ready(record.context);
      }
      return;
    }
    if (ahead == 0 && record.state == Record::State::done) {
      ++s_.counters.old_request;
      return;
    }
    if (ahead > 0 && record.state == Record::State::live) {
      // Its context there has a new owner: the reader has all, and DONE was overtaken.
      finish(record.context, Cause::none, wire::RdmaStatus::ok);
    }
  }
  const std::uint64_t length = std::uint64_t{request.length_high} << 32 | h.value;
  if (request.payload == 0 || request.payload > s_.payload_bytes()) {
    ++s_.counters.refused_frame_size;
    refuse_read(h, wire::RdmaStatus::bad_frame_size, false);
    return;
  }
  if (wire::rdma_frames_of(length, request.payload) != h.pidx) {
    ++s_.counters.refused_length;
    refuse_read(h, wire::RdmaStatus::length_mismatch, false);
    return;
  }
  const Regions::Found found =
      s_.regions.find(RegionKey{request.key}, h.vni, false, h.word, length);
  if (found.status != wire::RdmaStatus::ok) {
    refuse_read(h, found.status, false);
    return;
  }
  accept_read(h, request, *peer, found.memory, length);
}

void Source::accept_read(const wire::RdmaHeader& h, const wire::RdmaRequest& request,
                         std::uint16_t peer, const std::byte* memory, std::uint64_t length) {
  if (free_.empty()) {
    ++s_.counters.busy_contexts;
    refuse_read(h, wire::RdmaStatus::busy, true);
    return;
  }
  if (!s_.has_record(s_.records.find(peer, h.scid, RecordKind::read))) {
    ++s_.counters.busy_records;
    refuse_read(h, wire::RdmaStatus::busy, true);
    return;
  }
  ++s_.counters.served;
  std::uint32_t record = s_.records.find(peer, h.scid, RecordKind::read);
  if (record == Records::none) {
    record = s_.records.add(peer, h.scid, RecordKind::read);
    s_.peers.use(peer);
  }
  const std::uint16_t scid = allocate(peer);
  s_.records.begin(record, h.message, scid);
  SendContext& context = contexts_[scid];
  context.state = SourceState::sending;
  context.record = record;
  context.message = h.message;
  context.memory = memory;
  context.length = length;
  context.payload = request.payload;
  context.frames = h.pidx;
  context.limit = request.credit;
  context.dcid = h.scid;
  context.generation = h.generation;
  heard(context);
  make_ready(scid);
  arm(scid);
}

void Source::refuse_read(const wire::RdmaHeader& h, wire::RdmaStatus status, bool busy) {
  switch (status) {
  case wire::RdmaStatus::wrong_key: ++s_.counters.refused_key; break;
  case wire::RdmaStatus::out_of_bounds: ++s_.counters.refused_bounds; break;
  case wire::RdmaStatus::no_right: ++s_.counters.refused_right; break;
  case wire::RdmaStatus::wrong_vni: ++s_.counters.refused_vni; break;
  default: break;
  }
  wire::RdmaHeader answer = s_.answer_to(h, wire::RdmaKind::rsp);
  answer.flags =
      static_cast<std::uint8_t>(wire::rdma_flag::to_sink | (busy ? wire::rdma_flag::busy : 0));
  answer.word = static_cast<std::uint64_t>(status);
  answer.value = status == wire::RdmaStatus::bad_frame_size ? s_.payload_bytes() : 0;
  s_.reply(answer);
}

} // namespace tributary::rdma
