// Messengers: messages that come, and receives.
#include "endpoint/messages/messenger.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary::messages {

namespace flag = wire::segment_flag;
using wire::Segment;
using wire::SegmentKind;

// Frames.

bool Messenger::deliver(std::uint32_t s, std::span<const std::byte> frame) {
  Conversation& c = conversations_[s];
  std::size_t at = std::exchange(c.skip, std::uint16_t{0});
  while (at < frame.size()) {
    const auto segment = wire::decode_segment(frame.subspan(at));
    Outcome outcome = Outcome::malformed;
    std::size_t length = 0;
    if (segment) {
      const std::size_t header = wire::header_bytes(segment->kind, segment->flags);
      length = header + segment->length;
      outcome = take(s, *segment, frame.subspan(at + header, segment->length));
    }
    switch (outcome) {
    case Outcome::taken: at += length; break;
    case Outcome::not_now:
      c.skip = static_cast<std::uint16_t>(at);
      ++counters_.blocked;
      blocked_.push_back(s);
      return false;
    case Outcome::malformed:
      ++counters_.malformed;
      c.was_malformed = true;
      streams_.abandon(s);
      return true;
    }
  }
  return true;
}

Messenger::Outcome Messenger::take(std::uint32_t s, const Segment& segment,
                                   std::span<const std::byte> data) {
  switch (segment.kind) {
  case SegmentKind::eager:
  case SegmentKind::rts: return take_message(s, segment, data);
  case SegmentKind::more: return take_data(s, data);
  case SegmentKind::done: take_done(s, segment); return Outcome::taken;
  case SegmentKind::atomic: return take_atomic(s, segment, data);
  case SegmentKind::result: return take_result(s, segment, data);
  }
  return Outcome::malformed;
}

Messenger::Outcome Messenger::take_message(std::uint32_t s, const Segment& segment,
                                           std::span<const std::byte> data) {
  Conversation& c = conversations_[s];
  const bool is_long = segment.kind == SegmentKind::rts;
  if (c.into != Into::nothing || data.size() > segment.total || (is_long && !data.empty())) {
    return Outcome::malformed;
  }
  const Envelope envelope{.source = source_of(streams_[s].peer, streams_[s].vni),
                          .tag = segment.tag,
                          .tagged = segment.has(flag::tagged)};
  const std::uint32_t op = matching_.take_receive(envelope);
  if (op == Operations::none) {
    if (!unexpected_.has_share(s, data.size())) {
      return Outcome::not_now;
    }
    const std::uint32_t message = unexpected_.add(
        {.state = is_long ? UnexpectedMessage::State::to_read : UnexpectedMessage::State::arriving,
         .claimed = false,
         .has_data = segment.has(flag::data),
         .wants_done = is_long || segment.has(flag::wants_done),
         .session = s,
         .epoch = c.epoch,
         .number = segment.number,
         .data = segment.data,
         .total = segment.total,
         .key = segment.key,
         .received = 0,
         .first_chunk = Unexpected::none,
         .last_chunk = Unexpected::none});
    matching_.store(message, envelope);
    ++counters_.unexpected;
    if (is_long) {
      return Outcome::taken;
    }
    c.into = Into::message;
    c.index = message;
  } else {
    Operation& o = operations_[op];
    o.session = s;
    o.epoch = c.epoch;
    o.source = envelope.source;
    o.tag = segment.tag;
    o.data = segment.data;
    o.has_data = segment.has(flag::data);
    o.wants_done = is_long || segment.has(flag::wants_done);
    o.peers_number = segment.number;
    o.total = segment.total;
    if (is_long) {
      o.key = segment.key;
      begin_read(op);
      return Outcome::taken;
    }
    o.state = Operation::State::arriving;
    c.into = Into::operation;
    c.index = op;
  }
  c.left = segment.total;
  return take_data(s, data);
}

Messenger::Outcome Messenger::take_data(std::uint32_t s, std::span<const std::byte> data) {
  Conversation& c = conversations_[s];
  if (c.into == Into::nothing || data.size() > c.left || (data.empty() && c.left > 0)) {
    return Outcome::malformed;
  }
  if (c.into == Into::message && !unexpected_.has_chunks(s, data.size())) {
    return Outcome::not_now;
  }
  c.left -= data.size();
  const Into into = c.into;
  if (c.left == 0) {
    c.into = Into::nothing;
  }
  switch (into) {
  case Into::nothing:
  case Into::discarded: break;
  case Into::message:
    unexpected_.append(c.index, data);
    if (c.left == 0) {
      unexpected_[c.index].state = UnexpectedMessage::State::complete;
    }
    break;
  case Into::operation: {
    Operation& o = operations_[c.index];
    place(o, data);
    if (c.left == 0) {
      end_receive(c.index, o.total > o.moved ? Failure::truncated : Failure::none);
    }
    break;
  }
  }
  return Outcome::taken;
}

void Messenger::place(Operation& o, std::span<const std::byte> data) {
  const auto part =
      static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), o.size - o.moved));
  if (part > 0) {
    std::memcpy(o.memory + o.moved, data.data(), part);
    o.moved += part;
  }
}

void Messenger::take_done(std::uint32_t s, const Segment& segment) {
  const std::uint32_t op = operations_.find(segment.number);
  const Operation* const o = op == Operations::none ? nullptr : &operations_[op];
  if (o == nullptr || o->kind != Operation::Kind::send || o->state != Operation::State::waiting ||
      o->session != s || o->epoch != conversations_[s].epoch) {
    ++counters_.stray_done;
    return;
  }
  operations_[op].moved = o->total;
  complete(op, (segment.tag & 0xFF) == done_ok ? Failure::none : Failure::at_peer);
  finish(op);
}

// Receives.

BeginError Messenger::receive(const Receive& receive) {
  if (!can_begin()) {
    return BeginError::again;
  }
  const std::uint32_t op = begin(Operation::Kind::receive);
  Operation& o = operations_[op];
  o.state = Operation::State::posted;
  o.tagged = receive.pattern.tagged;
  o.tag = receive.pattern.tag;
  o.source = receive.pattern.source;
  o.silent = receive.silent;
  o.memory = receive.memory.data();
  o.size = receive.memory.size();
  o.user = receive.user;
  if (const std::uint32_t message = matching_.find(receive.pattern); message != Matching::none) {
    give(message, op);
  } else {
    matching_.post(op, receive.pattern);
    if (!blocked_.empty() && receive.pattern.source != any_source) {
      if (const auto s =
              streams_.find(end_point_of(receive.pattern.source), vni_of(receive.pattern.source))) {
        resume(*s);
      }
    }
  }
  resume_some();
  return BeginError::none;
}

Found Messenger::peek(const Pattern& pattern) const {
  const std::uint32_t message = matching_.find(pattern);
  if (message == Matching::none) {
    return {};
  }
  const UnexpectedMessage& m = unexpected_[message];
  return {.message = message,
          .envelope = matching_.envelope_of(message),
          .total = m.total,
          .data = m.data,
          .has_data = m.has_data};
}

void Messenger::claim(std::uint32_t message) {
  matching_.remove(message);
  unexpected_[message].claimed = true;
}

BeginError Messenger::receive_claimed(std::uint32_t message, const Receive& receive) {
  if (!can_begin()) {
    return BeginError::again;
  }
  const std::uint32_t op = begin(Operation::Kind::receive);
  Operation& o = operations_[op];
  o.silent = receive.silent;
  o.memory = receive.memory.data();
  o.size = receive.memory.size();
  o.user = receive.user;
  give(message, op);
  resume_some();
  return BeginError::none;
}

BeginError Messenger::discard(std::uint32_t message) {
  const UnexpectedMessage& m = unexpected_[message];
  if (m.wants_done && m.state != UnexpectedMessage::State::failed) {
    if (operations_.full()) {
      return BeginError::again;
    }
    // Its sender is answered as if it had been received: so it has been.
    const std::uint32_t op = operations_.take(Operation::Kind::reply);
    operations_[op].session = m.session;
    operations_[op].epoch = m.epoch;
    operations_[op].peers_number = m.number;
    queue(op);
  }
  Conversation& c = conversations_[m.session];
  if (m.state == UnexpectedMessage::State::arriving) {
    c.into = Into::discarded;
  }
  unexpected_.remove(message);
  ++counters_.discarded;
  resume_some();
  return BeginError::none;
}

void Messenger::give(std::uint32_t message, std::uint32_t op) {
  const UnexpectedMessage m = unexpected_[message];
  const Envelope& envelope = matching_.envelope_of(message);
  Operation& o = operations_[op];
  Conversation& c = conversations_[m.session];
  o.session = m.session;
  o.epoch = m.epoch;
  o.source = envelope.source;
  o.tag = envelope.tag;
  o.tagged = envelope.tagged;
  o.data = m.data;
  o.has_data = m.has_data;
  o.wants_done = m.wants_done;
  o.peers_number = m.number;
  o.total = m.total;
  o.moved = unexpected_.copy(message, {o.memory, static_cast<std::size_t>(o.size)});
  if (!m.claimed) {
    matching_.remove(message);
  }
  unexpected_.remove(message);
  switch (m.state) {
  case UnexpectedMessage::State::complete:
    end_receive(op, o.total > o.moved ? Failure::truncated : Failure::none);
    break;
  case UnexpectedMessage::State::arriving:
    o.state = Operation::State::arriving;
    c.into = Into::operation;
    c.index = op;
    break;
  case UnexpectedMessage::State::to_read:
    o.key = m.key;
    begin_read(op);
    break;
  case UnexpectedMessage::State::failed: fail(op, Failure::session, streams::Cause::closed); break;
  }
}

void Messenger::begin_read(std::uint32_t op) {
  Operation& o = operations_[op];
  const auto length = static_cast<std::size_t>(std::min(o.total, o.size));
  if (length == 0) {
    end_receive(op, o.total > 0 ? Failure::truncated : Failure::none);
    return;
  }
  const rdma::Begun begun = node_.read({.peer = end_point_of(o.source),
                                        .vni = vni_of(o.source),
                                        .memory = {o.memory, length},
                                        .key = rdma::RegionKey{o.key},
                                        .offset = 0,
                                        .user = operations_.number_of(op)});
  o.transfer = begun.id;
  switch (begun.error) {
  case rdma::BeginError::none: o.state = Operation::State::reading; return;
  case rdma::BeginError::no_context:
  case rdma::BeginError::no_completion:
  case rdma::BeginError::no_peer:
    o.state = Operation::State::to_read;
    reads_.push_back(op);
    return;
  case rdma::BeginError::bad_nid:
  case rdma::BeginError::own_nid:
  case rdma::BeginError::quarantined:
  case rdma::BeginError::too_long: break;
  }
  o.failed_here = true;
  end_receive(op, Failure::transfer);
}

void Messenger::end_receive(std::uint32_t op, Failure failure) {
  ++counters_.received;
  counters_.truncated += failure == Failure::truncated ? 1 : 0;
  complete(op, failure);
  Operation& o = operations_[op];
  if (!o.wants_done) {
    operations_.give_back(op);
    return;
  }
  o.kind = Operation::Kind::reply;
  queue(op);
}

} // namespace tributary::messages
