#include "endpoint/collective/root.hpp"

#include <algorithm>

namespace tributary::collective {

Root::Root(const GroupParameters& parameters, Outbox* shared)
    : channel_(parameters, shared),
      all_members_(parameters.cookie, parameters.checks() ? parameters.size : 0),
      roll_call_(parameters.size), slots_(parameters.slots),
      vectors_(parameters.is_wide()
                   ? RootVectors(parameters.slots, parameters.tree_count(), parameters.payload)
                   : RootVectors()) {
  for (Slot& slot : slots_) {
    slot.last_result.resno = no_sequence;
  }
}

bool Root::can_inject() const {
  const std::size_t place = channel_.place_of_piece(channel_.next_piece);
  return phase_ == Phase::active && !failure_ && !slots_[place].in_progress &&
         !channel_.completions.holds(place) && channel_.has_room();
}

bool Root::is_idle() const {
  return channel_.completions.empty() &&
         std::none_of(slots_.begin(), slots_.end(),
                      [](const Slot& slot) { return slot.in_progress; });
}

PieceNumber Root::inject(const Operand& operand, TimeNs now, CallMark mark) {
  ++channel_.statistics.injected;
  return begin(operand, {}, channel_.parameters.marks_calls() ? mark : no_mark, now);
}

PieceNumber Root::inject(const WideOperand& vector, TimeNs now, CallMark mark) {
  ++channel_.statistics.injected;
  Operand operand;
  operand.op = vector.op;
  return begin(operand, vector, channel_.parameters.marks_calls() ? mark : no_mark, now);
}

PieceNumber Root::begin(const Operand& operand, const WideOperand& vector, CallMark mark,
                        TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  const PieceNumber piece = channel_.next_piece++;
  const ReductionId id = channel_.id_of(piece);
  Slot& slot = slots_[channel_.place_of(id)];
  channel_.begin(piece, now, std::ranges::any_of(slot.gathered, [](const Gathered& gathered) {
                   return gathered.count > 0;
                 }));
  slot.in_progress = true;
  slot.piece = piece;
  slot.own = operand;
  slot.own.source = wire::FabricAddress::unicast(group.nid);
  slot.vector = vector;
  slot.mark = mark;
  slot.injected_at = now;
  slot.calls_roll = false;
  slot.retries = 0;
  slot.refused = 0;
  slot.retry_interval_ns = group.retry_ns;
  slot.contributed.reset();
  slot.refused_result = no_sequence;
  slot.misses_since.reset();
  slot.own_counted = false;

  if (is_to_be_armed(slot, now)) {
    ++channel_.statistics.armed;
    ask(id, slot, now, false);
    arm_ahead(piece, now);
  } else {
    contribute(id, slot);
    slot.retry_at = now + slot.retry_interval_ns;
    reconcile_all(id, slot, now);
  }
  return piece;
}

void Root::receive(const wire::ReductionFrame& frame, TimeNs now, const WideView& vector) {
  if (phase_ == Phase::left) {
    return;
  }
  const std::optional<TreeIndex> tree = channel_.admit(frame, is_in_switch());
  if (!tree) {
    return;
  }
  const wire::ReductionWord& word = frame.word;
  if (word.arm) {
    if (frame.source_nid == channel_.parameters.nid) {
      receive_in_switch(frame, now, vector);
      return;
    }
    ++channel_.statistics.misdirected;
    return;
  }
  if (failure_) {
    if (elapsed_ns(now, failure_notified_at_) >= channel_.parameters.retry_ns) {
      notify_failure(now);
    }
    return;
  }
  Slot& slot = slots_[channel_.place_of(frame.reduction)];
  if (word.count == 0 && word.retry()) {
    if (word.seqno == word.resno) {
      answer_request(frame.reduction, slot, word.resno, now);
    } else {
      hear_of_miss(frame, slot, now);
    }
    return;
  }
  if (word.count == 0 || !slot.armed || word.resno != slot.sequence) {
    const bool lags = channel_.tree_count() > 1 && word.count > 0 && slot.last_result.count > 0 &&
                      word.resno == slot.last_result.resno;
    ++(lags ? channel_.statistics.lagging : channel_.statistics.stale);
    return;
  }
  if (phase_ == Phase::leave_grace && !channel_.parameters.in_switch) {
    count_leave(frame, *tree, now);
    return;
  }
  const Operand operand{.payload = frame.payload,
                        .op = word.opcode(),
                        .rc = static_cast<wire::ResultCode>(word.rc),
                        .m = word.m,
                        .overflow_id = word.overflow_id,
                        .source = wire::FabricAddress::unicast(frame.source_nid)};
  if (slot.in_progress && !slot.own_counted) {
    count_own(frame.reduction, slot); // with in-switch results it was not needed yet
  }
  count_in(frame.reduction, slot, *tree, operand, vector, word.count, frame.signature);
  Gathered& gathered = slot.gathered[*tree];
  ++gathered.frames;
  gathered.largest_frame = std::max(gathered.largest_frame, word.count);
  if (word.count == 1 && slot.in_progress && roll_call_.is_about(slot.piece)) {
    hear(frame, slot, now);
  }
  reconcile(frame.reduction, slot, *tree, now);
}

void Root::poll(TimeNs now) {
  if (phase_ == Phase::left) {
    return;
  }
  if (failure_) {
    if (now >= notify_failure_at_) {
      notify_failure(now);
      notify_failure_at_ = now + retry_backoff_limit * channel_.parameters.retry_ns;
      if (notify_failure_at_ > notify_failure_until_) {
        notify_failure_at_ = never;
      }
    }
    return;
  }
  if (now >= leaving_ends_) {
    abandoned_ = phase_ == Phase::leaving;
    depart(now);
    return;
  }
  channel_.for_each_in_flight([&](ReductionId id) {
    Slot& slot = slots_[channel_.place_of(id)];
    if (failure_ || !slot.in_progress) {
      return;
    }
    if (now >= slot.retry_at) {
      retry(id, slot, now);
    } else if (now >= channel_.overdue_at(id) && !slot.calls_roll) {
      ++channel_.statistics.overdue;
      ask_again(id, slot, now);
    }
  });
}

TimeNs Root::next_deadline() const {
  TimeNs deadline = std::min(leaving_ends_, notify_failure_at_);
  channel_.for_each_in_flight([&](ReductionId id) {
    const Slot& slot = slots_[channel_.place_of(id)];
    if (slot.in_progress) {
      deadline = std::min(deadline, slot.retry_at);
      if (!slot.calls_roll) {
        deadline = std::min(deadline, channel_.overdue_at(id));
      }
    }
  });
  return deadline;
}

} // namespace tributary::collective
