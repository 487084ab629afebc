// Messengers: operations and their ends, sessions, the steps of the engine.
#include "endpoint/messages/messenger.hpp"

#include <algorithm>
#include <utility>

namespace tributary::messages {

Messenger::Messenger(const Options& options)
    : options_(options), node_(options.rdma), streams_(options.streams),
      operations_(options.operations), matching_(options.operations, options.unexpected_messages),
      unexpected_(options.unexpected_messages, options.unexpected_bytes / Unexpected::chunk_bytes,
                  options.streams.sessions),
      conversations_(options.streams.sessions),
      results_(std::make_unique_for_overwrite<Result[]>(options.streams.sessions * most_atomics)),
      blocked_(options.streams.sessions), without_region_(options.streams.sessions),
      reads_(options.operations), completions_(options.completions) {}

// Operations.

std::uint32_t Messenger::begin(Operation::Kind kind) {
  ++reserved_;
  return operations_.take(kind);
}

Completion Messenger::completion_of(const Operation& o, Failure failure) const {
  using Kind = Completion::Kind;
  return {.kind = o.kind == Operation::Kind::send      ? Kind::send
                  : o.kind == Operation::Kind::receive ? Kind::receive
                  : o.kind == Operation::Kind::write   ? Kind::write
                  : o.kind == Operation::Kind::put     ? Kind::write
                  : o.kind == Operation::Kind::read    ? Kind::read
                  : o.size == 0                        ? Kind::atomic
                                                       : Kind::fetch,
          .failure = failure,
          .tagged = o.tagged,
          .has_data = o.has_data,
          .silent = o.silent,
          .peer = end_point_of(o.source),
          .vni = vni_of(o.source),
          .user = o.user,
          .tag = o.tag,
          .data = o.data,
          .length = o.moved,
          .total = o.total};
}

void Messenger::push(const Completion& completion) {
  counters_.failed += completion.done() ? 0 : 1;
  if (completion.silent && completion.done() && !reports_silent_) {
    return;
  }
  completions_[(first_completion_ + completed_++) % completions_.size()] = completion;
}

void Messenger::complete(std::uint32_t op, Failure failure) {
  --reserved_;
  push(completion_of(operations_[op], failure));
}

void Messenger::finish(std::uint32_t op) {
  release_region(operations_[op]);
  operations_.give_back(op);
}

void Messenger::fail(std::uint32_t op, Failure failure, streams::Cause cause) {
  Operation& o = operations_[op];
  if (o.kind != Operation::Kind::reply) {
    --reserved_;
    Completion completion = completion_of(o, failure);
    completion.session = cause;
    push(completion);
  }
  finish(op);
}

std::optional<Completion> Messenger::take_completion() {
  if (completed_ == 0) {
    return std::nullopt;
  }
  const Completion completion = completions_[first_completion_];
  first_completion_ = (first_completion_ + 1) % completions_.size();
  --completed_;
  return completion;
}

bool Messenger::cancel(std::uint64_t user) {
  for (std::uint32_t op = 0; op < operations_.size(); ++op) {
    const Operation& o = operations_[op];
    if (o.kind == Operation::Kind::receive && o.state == Operation::State::posted &&
        o.user == user) {
      matching_.withdraw(op);
      complete(op, Failure::cancelled);
      finish(op);
      return true;
    }
  }
  return false;
}

BeginError Messenger::begin_transfer(const Transfer& transfer, Operation::Kind kind) {
  if (!can_begin()) {
    return BeginError::again;
  }
  const std::uint32_t op = begin(kind);
  Operation& o = operations_[op];
  o.state = Operation::State::reading;
  o.silent = transfer.silent;
  o.user = transfer.user;
  o.source = source_of(transfer.peer, transfer.vni);
  o.total = transfer.memory.size();
  const std::uint64_t number = operations_.number_of(op);
  const rdma::Begun begun = kind == Operation::Kind::write
                                ? node_.write({.peer = transfer.peer,
                                               .vni = transfer.vni,
                                               .memory = transfer.memory,
                                               .key = transfer.key,
                                               .offset = transfer.offset,
                                               .user = number,
                                               .immediate = transfer.data})
                                : node_.read({.peer = transfer.peer,
                                              .vni = transfer.vni,
                                              .memory = transfer.memory,
                                              .key = transfer.key,
                                              .offset = transfer.offset,
                                              .user = number});
  o.transfer = begun.id;
  if (begun.error == rdma::BeginError::none) {
    return BeginError::none;
  }
  --reserved_;
  operations_.give_back(op);
  switch (begun.error) {
  case rdma::BeginError::bad_nid: return BeginError::bad_address;
  case rdma::BeginError::own_nid: return BeginError::own_host;
  case rdma::BeginError::quarantined: return BeginError::quarantined;
  case rdma::BeginError::too_long: return BeginError::too_long;
  case rdma::BeginError::none:
  case rdma::BeginError::no_context:
  case rdma::BeginError::no_completion:
  case rdma::BeginError::no_peer: break;
  }
  return BeginError::again;
}

BeginError Messenger::write(const Transfer& transfer) {
  return begin_transfer(transfer, Operation::Kind::write);
}

BeginError Messenger::read(const Transfer& transfer) {
  return begin_transfer(transfer, Operation::Kind::read);
}

bool Messenger::deregister_region(rdma::RegionKey key) {
  const bool was_there = node_.deregister_region(key);
  if (was_there && !without_region_.empty()) {
    pump(without_region_.pop_front());
  }
  return was_there;
}

// Sessions.

void Messenger::end_session(std::uint32_t s) {
  const streams::Cause cause = streams_[s].cause;
  const std::uint32_t epoch = conversations_[s].epoch;
  const Failure failure = conversations_[s].was_malformed ? Failure::malformed : Failure::session;
  conversations_[s] = {.epoch = epoch + 1}; // from here on nothing is written to it
  blocked_.remove(s);
  without_region_.remove(s);
  for (std::uint32_t op = 0; op < operations_.size(); ++op) {
    const Operation& o = operations_[op];
    const bool is_of = o.kind != Operation::Kind::unused && o.session == s && o.epoch == epoch;
    switch (is_of ? o.state : Operation::State::reading) {
    case Operation::State::posted:
    case Operation::State::reading: break; // RDMA ends for itself
    case Operation::State::to_read: reads_.remove(op); [[fallthrough]];
    case Operation::State::queued:
    case Operation::State::waiting:
    case Operation::State::arriving: fail(op, failure, cause); break;
    }
  }
  unexpected_.for_each_of(s, [&](std::uint32_t m) {
    if (unexpected_[m].state != UnexpectedMessage::State::complete) {
      unexpected_[m].state = UnexpectedMessage::State::failed;
    }
  });
  streams_.forget(s);
}

void Messenger::end_all() {
  for (std::uint32_t op = 0; op < operations_.size(); ++op) {
    const Operation& o = operations_[op];
    if (o.kind == Operation::Kind::unused) {
      continue;
    }
    if (o.state == Operation::State::posted) {
      matching_.withdraw(op);
      complete(op, Failure::cancelled);
      finish(op);
    } else if (o.state == Operation::State::reading) {
      node_.cancel(o.transfer);
    }
  }
  streams_.abandon_all();
  follow();
  while (take_completion()) {
  }
}

void Messenger::say_goodbye() {
  end_all();
  node_.deregister_all();
}

void Messenger::resume(std::uint32_t s) {
  if (blocked_.contains(s)) {
    blocked_.remove(s); // comes back if it is in vain
    streams_.resume(s, [this](std::uint32_t of, std::span<const std::byte> frame) {
      return deliver(of, frame);
    });
  }
}

void Messenger::resume_some() {
  const std::size_t count = std::min<std::size_t>(blocked_.size(), most_tried);
  for (std::size_t n = 0; n < count && !blocked_.empty(); ++n) {
    resume(blocked_.front());
  }
}

// The engine's steps.

void Messenger::receive(std::span<const FrameView> frames, TimeNs now) {
  now_ = std::max(now_, now);
  node_.begin_receive(now);
  streams_.begin_receive(now);
  for (const FrameView& view : frames) {
    wire::RdmaFrame frame;
    if (!node_.read(view, frame)) {
      continue;
    }
    if (frame.header.kind == wire::RdmaKind::str || frame.header.kind == wire::RdmaKind::ack) {
      streams_.take(frame, [this](std::uint32_t s, std::span<const std::byte> data) {
        return deliver(s, data);
      });
    } else {
      node_.take(frame);
    }
  }
  follow();
}

void Messenger::poll(TimeNs now) {
  now_ = std::max(now_, now);
  node_.poll(now);
  streams_.poll(now);
  follow();
  resume_some();
}

TimeNs Messenger::next_deadline() const {
  const TimeNs next = std::min(node_.next_deadline(), streams_.next_deadline());
  return blocked_.empty() && reads_.empty() ? next : std::min(next, now_ + retry_ns);
}

void Messenger::send(engine::Outlet& outlet) {
  transfers_first_ = !transfers_first_;
  if (transfers_first_) {
    node_.send(outlet);
  }
  if (!outlet.turn_over() && !outlet.link_full()) {
    static_cast<void>(streams_.send(outlet));
  }
  if (!transfers_first_ && !outlet.turn_over() && !outlet.link_full()) {
    node_.send(outlet);
  }
}

void Messenger::take_ended(const rdma::Completion& ended) {
  const std::uint32_t op = operations_.find(static_cast<std::uint32_t>(ended.user));
  if (op == Operations::none) {
    return;
  }
  Operation& o = operations_[op];
  o.moved = ended.done() ? ended.length : 0;
  Completion completion = completion_of(o, ended.done() ? Failure::none : Failure::transfer);
  completion.transfer = ended.cause;
  completion.status = ended.status;
  if (o.kind != Operation::Kind::receive) {
    --reserved_;
    push(completion);
    finish(op);
  } else if (ended.done()) {
    end_receive(op, o.total > o.moved ? Failure::truncated : Failure::none);
  } else {
    o.failed_here = true;
    --reserved_;
    push(completion);
    o.kind = Operation::Kind::reply;
    queue(op);
  }
}

void Messenger::follow() {
  while (const auto ended = node_.take_ended()) {
    take_ended(*ended);
  }
  while (node_.arrivals() > 0 && reserved_ + completed_ < completions_.size()) {
    const auto arrival = node_.take_arrival();
    push({.kind = Completion::Kind::arrival,
          .has_data = true,
          .peer = arrival->peer,
          .vni = arrival->vni,
          .data = arrival->user,
          .length = arrival->length,
          .total = arrival->length});
  }
  for (std::size_t tries = reads_.size(); tries > 0 && !reads_.empty(); --tries) {
    const std::uint32_t op = reads_.pop_front();
    begin_read(op);
    if (operations_[op].state == Operation::State::to_read) {
      break; // there is no room yet
    }
  }
  for (std::uint32_t s = streams_.take_ended(); s != streams::Streams::none;
       s = streams_.take_ended()) {
    end_session(s);
  }
  for (std::uint32_t s = streams_.take_writable(); s != streams::Streams::none;
       s = streams_.take_writable()) {
    pump(s);
  }
}

} // namespace tributary::messages
