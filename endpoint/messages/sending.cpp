// Messengers: messages that leave, and answers to those that came.
#include "endpoint/messages/messenger.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::messages {

namespace flag = wire::segment_flag;
using wire::Segment;
using wire::SegmentKind;

BeginError Messenger::reach(EndPoint peer) const {
  if (!wire::is_valid_nid(peer.nid) || peer.number >= end_points_per_host) {
    return BeginError::bad_address;
  }
  return peer.nid == options_.rdma.address.nid && !options_.rdma.reaches_own_host
             ? BeginError::own_host
             : BeginError::none;
}

BeginError Messenger::send(const Send& send) {
  if (const BeginError error = reach(send.peer); error != BeginError::none) {
    return error;
  }
  if (send.inject && send.memory.size() > inject_bytes()) {
    return BeginError::too_long;
  }
  if (!can_begin()) {
    return BeginError::again;
  }
  const auto s = streams_.open(send.peer, send.vni);
  if (!s) {
    return BeginError::no_session;
  }
  if (send.inject && send.memory.size() + wire::longest_segment_header > streams_[*s].payload) {
    return BeginError::too_long; // the peer's frames are shorter
  }
  const std::uint32_t op = begin(Operation::Kind::send);
  Operation& o = operations_[op];
  o.session = *s;
  o.epoch = conversations_[*s].epoch;
  o.tagged = send.tagged;
  o.tag = send.tag;
  o.has_data = send.data.has_value();
  o.data = send.data.value_or(0);
  o.silent = send.silent;
  o.wants_done = send.wants_done;
  o.is_long = !send.inject && send.memory.size() > options_.eager_bytes;
  o.memory = const_cast<std::byte*>(send.memory.data()); // it is only read
  o.size = o.total = send.memory.size();
  o.user = send.user;
  o.source = source_of(send.peer, send.vni);
  if (!send.inject) {
    queue(op);
    return BeginError::none;
  }
  // The memory is the caller's after this call: what waits must not refer to it.
  if (conversations_[*s].first != Operations::none || !write_out(op)) {
    --reserved_;
    operations_.give_back(op);
    return BeginError::again;
  }
  return BeginError::none;
}

void Messenger::queue(std::uint32_t op) {
  Operation& o = operations_[op];
  Conversation& c = conversations_[o.session];
  if (o.epoch != c.epoch) {
    finish(op); // an answer to a session that has ended
    return;
  }
  o.state = Operation::State::queued;
  o.next = Operations::none;
  const bool was_empty = c.first == Operations::none;
  (was_empty ? c.first : operations_[c.last].next) = op;
  c.last = op;
  if (was_empty) {
    pump(o.session);
  }
}

void Messenger::pump(std::uint32_t s) {
  Conversation& c = conversations_[s];
  if (!write_results(s)) {
    return;
  }
  while (c.first != Operations::none) {
    const std::uint32_t op = c.first;
    const std::uint32_t next = operations_[op].next;
    if (!write_out(op)) {
      return;
    }
    c.first = next; // `write_out` may have given it back
    if (c.first == Operations::none) {
      c.last = Operations::none;
    }
  }
}

bool Messenger::write_segment(std::uint32_t s, Segment segment, std::span<const std::byte> data,
                              std::span<const std::byte> more) {
  const std::size_t length = data.size() + more.size();
  const std::size_t header = wire::header_bytes(segment.kind, segment.flags);
  const streams::Streams::Space space = streams_.space(s, header + length);
  if (space.data == nullptr) {
    return false;
  }
  segment.length = static_cast<std::uint16_t>(length);
  const std::size_t at = wire::encode(segment, space.data);
  if (!data.empty()) {
    std::memcpy(space.data + at, data.data(), data.size());
  }
  if (!more.empty()) {
    std::memcpy(space.data + at + data.size(), more.data(), more.size());
  }
  streams_.commit(s, at + length);
  return true;
}

bool Messenger::write_message(Operation& o, std::uint32_t op) {
  Segment segment{.number = operations_.number_of(op), .tag = o.tag, .data = o.data};
  segment.flags =
      static_cast<std::uint8_t>((o.tagged ? flag::tagged : 0) | (o.has_data ? flag::data : 0));
  segment.total = o.total;
  if (o.is_long) {
    if (o.key == 0) {
      const auto key =
          node_.register_region({o.memory, o.size}, {.peers_read = true}, vni_of(o.source));
      if (!key) {
        without_region_.push_back(o.session);
        return false;
      }
      o.key = key->value;
    }
    segment.kind = SegmentKind::rts;
    segment.key = o.key;
    return write_segment(o.session, segment, {});
  }
  // All in one frame if it fits; otherwise full frames.
  const std::size_t payload = streams_[o.session].payload;
  do {
    segment.kind = o.moved == 0 ? SegmentKind::eager : SegmentKind::more;
    if (segment.kind == SegmentKind::more) {
      segment.flags = 0;
      segment.tag = 0;
    } else {
      segment.flags |= o.wants_done ? flag::wants_done : std::uint8_t{0};
      const std::size_t whole =
          wire::header_bytes(segment.kind, static_cast<std::uint8_t>(segment.flags | flag::whole));
      segment.flags |= whole + o.total <= payload ? flag::whole : std::uint8_t{0};
    }
    const std::size_t header = wire::header_bytes(segment.kind, segment.flags);
    const auto part =
        static_cast<std::size_t>(std::min<std::uint64_t>(o.total - o.moved, payload - header));
    if (!write_segment(o.session, segment, {o.memory + o.moved, part})) {
      return false;
    }
    o.moved += part;
  } while (o.moved < o.total);
  return true;
}

bool Messenger::write_out(std::uint32_t op) {
  Operation& o = operations_[op];
  if (o.kind == Operation::Kind::reply) {
    Segment done{.kind = SegmentKind::done, .number = o.peers_number};
    done.tag = o.failed_here ? done_failed : done_ok;
    if (!write_segment(o.session, done, {})) {
      return false;
    }
    finish(op);
    return true;
  }
  if (!write_message(o, op)) {
    return false;
  }
  ++(o.is_long ? counters_.sent_rendezvous : counters_.sent_eager);
  if (o.is_long || o.wants_done) {
    o.state = Operation::State::waiting;
    return true;
  }
  complete(op, Failure::none);
  finish(op);
  return true;
}

void Messenger::release_region(Operation& o) {
  // A receive's key is that of its sender.
  if (o.kind == Operation::Kind::send && o.key != 0) {
    const rdma::RegionKey key{o.key};
    o.key = 0;
    (void)deregister_region(key);
  }
}

} // namespace tributary::messages
