// Sources: reads of peers.
#include "endpoint/rdma/source.hpp"

#include "tributary/wire/rdma_status.hpp"

#include <algorithm>

namespace tributary::rdma {

bool Source::has_answered(const wire::RdmaHeader& h, const wire::RdmaRequest& request,
                          std::uint16_t peer) {
  const std::uint32_t i = s_.records.find(peer, request.slot, RecordKind::read);
  if (i != Records::none) {
    const Record& record = s_.records[i];
    const auto ahead = static_cast<std::int32_t>(h.message - record.message);
    if (ahead < 0) {
      ++s_.counters.old_request;
      return true;
    }
    if (ahead == 0 && record.state == Record::State::live) {
      // Nothing has arrived there yet. One frame gives the reader the rest.
      if (contexts_[record.context].ask(0)) {
        make_ready(record.context);
      }
      return true;
    }
    if (ahead == 0 && record.state == Record::State::done) {
      ++s_.counters.old_request;
      return true;
    }
    if (ahead > 0 && record.state == Record::State::live) {
      // Its context there has a new owner: the reader has all, and DONE was overtaken.
      finish(record.context, Cause::none, wire::RdmaStatus::ok);
    }
  }
  return false;
}

void Source::accept_read(const wire::RdmaHeader& h, const wire::RdmaRequest& request,
                         std::uint16_t peer, const Regions::Found& found) {
  std::uint64_t* full = free_.empty() ? &s_.counters.busy_contexts
                        : !s_.peers.has_share(peer, Held::sources, free_.size())
                            ? &s_.counters.busy_shares
                            : nullptr;
  if (full == nullptr) {
    full = s_.lacks_record(peer, s_.records.find(peer, request.slot, RecordKind::read));
  }
  if (full != nullptr) {
    ++*full;
    put_off(h);
    return;
  }
  ++s_.counters.served;
  const std::uint32_t record = s_.record_of(peer, request.slot, RecordKind::read);
  const std::uint16_t scid = allocate(peer);
  s_.peers.take(peer, Held::sources);
  s_.begin_transfer(record, h.message, scid, found.region);
  SendContext& context = contexts_[scid];
  context.state = SourceState::sending;
  context.record = record;
  context.message = h.message;
  context.memory = found.memory;
  context.length = request.length(h.value);
  context.payload = request.payload;
  context.frames = h.pidx;
  context.dcid = h.scid;
  context.generation = h.generation;
  raise_limit(context, 0, request.credit);
  heard(context);
  make_ready(scid);
  arm(scid);
}

void Source::put_off(const wire::RdmaHeader& h) {
  s_.reply(s_.answer_to_request(h, wire::RdmaStatus::busy));
}

} // namespace tributary::rdma
