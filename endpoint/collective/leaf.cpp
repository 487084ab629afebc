#include "endpoint/collective/leaf.hpp"

#include "endpoint/collective/signature.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::collective {

Leaf::Leaf(const GroupParameters& parameters)
    : channel_(parameters),
      signature_base_(parameters.checks() ? signature_base(parameters.cookie, parameters.rank)
                                          : 0) {}

bool Leaf::can_inject() const {
  const ReductionId id = reduction_of(channel_.next_piece);
  return phase_ == Phase::active && slots_[id.value].state == State::idle &&
         !channel_.completions.holds(id);
}

bool Leaf::is_idle() const {
  return channel_.completions.empty() &&
         std::none_of(slots_.begin(), slots_.end(),
                      [](const Slot& slot) { return slot.state != State::idle; });
}

PieceNumber Leaf::inject(const Operand& operand, TimeNs now) {
  ++channel_.statistics.injected;
  return begin(operand, now);
}

PieceNumber Leaf::begin(const Operand& operand, TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  const PieceNumber piece = channel_.next_piece++;
  const ReductionId id = reduction_of(piece);
  Slot& slot = slots_[id.value];
  slot.state = State::waiting_for_arm;
  slot.piece = piece;
  slot.own = operand;
  slot.injected_at = now;
  slot.contributed.reset();
  slot.retries = 0;
  slot.request_interval_ns =
      std::min(first_request_retries * group.retry_ns, group.result_timeout_ns);
  if (slot.heard && elapsed_ns(now, slot.heard_at) < group.collective_timeout_ns) {
    contribute(id, slot, now);
  }
  return piece;
}

void Leaf::receive(const wire::ReductionFrame& frame, TimeNs now) {
  if (phase_ == Phase::left || !channel_.admits(frame)) {
    return;
  }
  Statistics& statistics = channel_.statistics;
  const wire::ReductionWord& word = frame.word;
  if (channel_.parameters.root_nid && frame.source_nid != *channel_.parameters.root_nid) {
    ++statistics.foreign;
    return;
  }
  if (word.seqno == pre_arm_sequence) {
    ++statistics.pre_arms;
    return;
  }
  Slot& slot = slots_[frame.reduction.value];
  const bool result = is_result_for(slot, word);
  if (result) {
    finish(slot, frame);
  }
  if (believes(slot, word.seqno, now)) {
    slot.heard = word.seqno;
    slot.heard_at = now;
  } else {
    ++statistics.reordered;
    if (!result) {
      return;
    }
  }
  if (result) {
    if (phase_ == Phase::parting) {
      say_farewell(frame.reduction, slot);
    }
  } else if (slot.state == State::waiting_for_arm) {
    contribute(frame.reduction, slot, now);
  } else if (slot.state == State::waiting_for_result && word.retry()) {
    if (slot.contributed.test(word.resno.value())) {
      // Our piece was completed, and this frame does not say with what (the `cxi` dialect): to
      // contribute it again would add it to the next one.
      ++statistics.stale;
      return;
    }
    ++slot.retries;
    ++statistics.resent;
    contribute(frame.reduction, slot, now);
  }
}

bool Leaf::is_result_for(const Slot& slot, const wire::ReductionWord& word) const {
  return slot.state == State::waiting_for_result && word.count > 0 &&
         slot.contributed.test(word.resno.value());
}

bool Leaf::believes(const Slot& slot, SequenceNumber sequence, TimeNs now) const {
  if (sequence == slot.completed) {
    return false;
  }
  if (!slot.heard || is_newer(sequence, *slot.heard)) {
    return true;
  }
  if (sequence == *slot.heard) {
    return slot.state == State::waiting_for_arm;
  }
  return elapsed_ns(now, slot.heard_at) >= channel_.parameters.result_timeout_ns;
}

void Leaf::contribute(ReductionId id, Slot& slot, TimeNs now) {
  slot.state = State::waiting_for_result;
  slot.contributed.set(slot.heard->value());
  slot.contributed_last = *slot.heard;
  send_up(id, *slot.heard, slot.own, slot.piece);
  slot.request_at =
      channel_.parameters.dialect == Dialect::cxi ? never : now + slot.request_interval_ns;
}

void Leaf::send_up(ReductionId id, SequenceNumber sequence, const Operand& operand,
                   PieceNumber piece) {
  const wire::ReductionWord word{.seqno = sequence,
                                 .op = static_cast<std::uint8_t>(operand.op),
                                 .count = 1,
                                 .resno = sequence,
                                 .rc = static_cast<std::uint8_t>(operand.rc),
                                 .m = operand.m,
                                 .overflow_id = operand.overflow_id};
  const std::uint64_t signature =
      signature_base_ == 0 ? 0 : signature_of_piece(signature_base_, piece);
  channel_.send(id, word, operand.payload, signature);
}

void Leaf::finish(Slot& slot, const wire::ReductionFrame& frame) {
  const wire::ReductionWord& word = frame.word;
  slot.state = State::idle;
  slot.request_at = never;
  slot.completed = word.resno;
  channel_.statistics.recovered += word.retry() ? 1 : 0;
  if (phase_ == Phase::active) {
    channel_.complete({.piece = slot.piece,
                       .payload = frame.payload,
                       .op = word.opcode(),
                       .rc = static_cast<reduce::ResultCode>(word.rc),
                       .m = word.m,
                       .overflow_id = word.overflow_id,
                       .count = word.count});
  }
}

void Leaf::poll(TimeNs now) {
  if (phase_ == Phase::left) {
    return;
  }
  if (now >= parting_ends_) {
    abandoned_ = true;
    phase_ = Phase::left;
    return;
  }
  for (std::uint8_t i = 0; i < reductions_per_tree; ++i) {
    if (now >= slots_[i].request_at) {
      request_result(ReductionId{i}, slots_[i], now);
    }
  }
}

void Leaf::request_result(ReductionId id, Slot& slot, TimeNs now) {
  const wire::ReductionWord word{
      .seqno = slot.contributed_last, .resno = slot.contributed_last, .pad = wire::pad_retry};
  channel_.send(id, word, {});
  ++slot.retries;
  ++channel_.statistics.requests_sent;
  slot.request_interval_ns =
      std::min(2 * slot.request_interval_ns, channel_.parameters.result_timeout_ns);
  slot.request_at = now + slot.request_interval_ns;
}

TimeNs Leaf::next_deadline() const {
  if (phase_ == Phase::left) {
    return never;
  }
  TimeNs deadline = parting_ends_;
  for (const Slot& slot : slots_) {
    deadline = std::min(deadline, slot.request_at);
  }
  return deadline;
}

void Leaf::leave(TimeNs now) {
  assert(can_inject() && is_idle());
  if (channel_.parameters.dialect == Dialect::cxi) {
    phase_ = Phase::left;
    return;
  }
  phase_ = Phase::parting;
  parting_ends_ = now + channel_.parameters.leave_timeout_ns;
  begin(Operand{}, now);
}

void Leaf::say_farewell(ReductionId id, const Slot& slot) {
  phase_ = Phase::left;
  send_up(id, *slot.heard, Operand{}, slot.piece + reductions_per_tree);
}

Status Leaf::status() const {
  Status status;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    ReductionStatus& entry = status[i];
    switch (slot.state) {
    case State::idle:
      entry.waiting = channel_.completions.holds(ReductionId{static_cast<std::uint8_t>(i)})
                          ? Waiting::for_owner
                          : Waiting::idle;
      break;
    case State::waiting_for_arm: entry.waiting = Waiting::for_arm; break;
    case State::waiting_for_result:
      entry.waiting = Waiting::for_result;
      entry.sequence = slot.contributed_last;
      break;
    }
    entry.piece = slot.piece;
    entry.since = slot.injected_at;
    entry.retries = slot.retries;
    entry.size = channel_.parameters.size;
  }
  return status;
}

} // namespace tributary::collective
