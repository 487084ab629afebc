// The root: opens sequences, retries them, and replays results that a leaf missed.
#include "endpoint/collective/root.hpp"

#include <algorithm>

namespace tributary::collective {

void Root::advance(Slot& slot, TimeNs now) const {
  slot.sequence = slot.armed ? successor(slot.sequence) : channel_.parameters.first_sequence;
  if (slot.armed && is_in_switch()) {
    slot.sequence = successor(slot.sequence); // the switch uses the one in between
  }
  if (slot.sequence == slot.last_result.resno) {
    slot.sequence = successor(slot.sequence);
  }
  slot.armed = true;
  slot.arm_void = false;
  follow(slot, slot.sequence, now);
}

bool Root::is_to_be_armed(const Slot& slot, TimeNs now) const {
  const GroupParameters& group = channel_.parameters;
  return group.size > 1 && (!slot.armed || slot.arm_void ||
                            elapsed_ns(now, slot.armed_at) >= group.collective_timeout_ns / 2);
}

void Root::arm_ahead(PieceNumber piece, TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  if (channel_.flight == nullptr) {
    return; // a group of eight uses all its ids in one burst
  }
  PieceNumber count = ahead_.next(piece, now, group.collective_timeout_ns / 2);
  // A member that is not there yet would miss the arms, and have to wait for a retry of each piece.
  // A complete piece shows that all members are there.
  const bool all_are_there = piece > 0 && !slots_[channel_.place_of_piece(piece - 1)].in_progress;
  if (!all_are_there) {
    return;
  }
  for (PieceNumber next = piece + 1; count > 0 && channel_.outbox.is_half_empty();
       --count, ++next) {
    const ReductionId id = channel_.id_of(next);
    Slot& slot = slots_[channel_.place_of(id)];
    if (slot.in_progress || !is_to_be_armed(slot, now)) {
      return;
    }
    ++channel_.statistics.armed;
    ask(id, slot, now, false);
  }
}

void Root::ask(ReductionId id, Slot& slot, TimeNs now, bool with_result) {
  advance(slot, now);
  slot.asked_at = now;
  slot.bare |= !with_result && slot.last_vector.is_wide() && !channel_.parameters.in_switch;
  open_sequence(id, slot, channel_.parameters.armed, true, with_result);
  if (slot.in_progress) {
    contribute(id, slot);
    slot.retry_at = now + slot.retry_interval_ns;
  }
}

void Root::ask_again(ReductionId id, Slot& slot, TimeNs now) {
  channel_.asked(slot.piece, now);
  ask(id, slot, now);
}

void Root::retry(ReductionId id, Slot& slot, TimeNs now) {
  slot.retry_interval_ns =
      std::min(2 * slot.retry_interval_ns, retry_backoff_limit * channel_.parameters.retry_ns);
  ++slot.retries;
  ++channel_.statistics.retried;
  if (slot.calls_roll) {
    conclude_roll_call(id, slot, now);
    if (failure_) {
      return;
    }
  }
  if (is_roll_call_due(slot)) {
    channel_.asked(slot.piece, now);
    call_roll(id, slot, now);
  } else {
    ask_again(id, slot, now);
  }
}

void Root::ask_after_refusal(ReductionId id, Slot& slot, TimeNs now) {
  ++slot.retries;
  ++channel_.statistics.retried;
  channel_.asked(slot.piece, now);
  if (slot.refused == roll_call_refusal && channel_.parameters.marks_calls()) {
    call_roll(id, slot, now);
  } else {
    ask(id, slot, now);
  }
}

void Root::answer_request(ReductionId id, Slot& slot, SequenceNumber wanted, TimeNs now) {
  ++channel_.statistics.requests_received;
  // With in-switch results the piece may have been completed under a sequence older than the last
  // one that it was asked for.
  const bool was_its_piece =
      is_in_switch() && !slot.in_progress && slot.contributed.test(wanted.value());
  // A leaf that missed the last result has contributed to it again if a later sequence did not
  // carry it, and then asks for that one, also when it has missed the answer under the next. A root
  // whose window is full may wait for that leaf.
  const bool may_have_missed = slot.bare && !slot.in_progress &&
                               is_newer(wanted, slot.last_result.resno) &&
                               !is_newer(wanted, slot.sequence);
  const bool have_it = slot.last_result.count > 0 &&
                       (slot.last_result.resno == wanted || was_its_piece || may_have_missed);
  const std::uint64_t apart =
      channel_.flight != nullptr && channel_.flight->time_ns() != 0
          ? std::min(channel_.flight->time_ns(), channel_.parameters.retry_ns)
          : channel_.parameters.retry_ns;
  const bool asked_just_now = elapsed_ns(now, slot.asked_at) < apart;
  if (!have_it || asked_just_now || channel_.parameters.dialect == Dialect::cxi) {
    return;
  }
  ++channel_.statistics.replayed;
  ask(id, slot, now);
}

void Root::open_sequence(ReductionId id, const Slot& slot, bool arm, bool retry, bool with_result) {
  wire::ReductionWord word = slot.last_result;
  wire::Payload payload = slot.last_payload;
  const std::uint64_t signature = channel_.parameters.marks_calls() ? root_understands_marks : 0;
  // With in-switch results the switch and the leaves need to know what the root has.
  with_result |= channel_.parameters.in_switch;
  if (slot.last_vector.is_wide()) {
    if (!with_result) {
      word = {};
      word.resno = no_sequence;
    }
    word.seqno = slot.sequence;
    word.arm = arm;
    word.pad = retry ? wire::pad_retry : std::uint8_t{0};
    if (with_result) {
      channel_.send_on_all(id, word, slot.last_vector, signature);
    } else {
      channel_.send_on_all(id, word, wire::Payload{}, signature);
    }
    return;
  }
  word.seqno = slot.sequence;
  word.arm = arm;
  word.pad = retry ? wire::pad_retry : std::uint8_t{0};
  if (retry && channel_.parameters.dialect == Dialect::cxi) {
    word = {.seqno = pre_arm_sequence, .arm = arm, .resno = word.resno, .pad = word.pad};
    payload = {};
    if (arm) {
      channel_.send_on_all(id, word, payload);
    }
    word.seqno = slot.sequence;
  }
  channel_.send_on_all(id, word, payload, signature);
}

void Root::move_to(const GroupParameters& parameters, TimeNs now) {
  channel_.move_to(parameters);
  all_members_ = SignatureSum(parameters.cookie, parameters.checks() ? parameters.size : 0);
  for (std::size_t i = 0; i < channel_.parameters.slots; ++i) {
    Slot& slot = slots_[i];
    slot.gathered = {};
    slot.own_counted = false;
    slot.arm_void = slot.armed;
    if (slot.in_progress && parameters.size > 1) {
      ++channel_.statistics.armed;
      ask(channel_.id_at(i), slot, now);
    }
  }
}

} // namespace tributary::collective
