// The root: who is missing, whose call differs, and the end of a group that cannot continue.
#include "endpoint/collective/root.hpp"

#include <algorithm>

namespace tributary::collective {

void Root::call_roll(ReductionId id, Slot& slot, TimeNs now) {
  ++channel_.statistics.roll_calls;
  roll_call_.call(slot.piece, channel_.parameters.rank);
  advance(slot, now);
  slot.calls_roll = true;
  slot.asked_at = now;
  slot.contributed.set(slot.sequence.value()); // a request may name it
  open_sequence(id, slot, false, true);
  count_own(id, slot);
  slot.retry_at = now + slot.retry_interval_ns;
}

bool Root::is_roll_call_due(const Slot& slot) const {
  if (channel_.parameters.dialect == Dialect::cxi || slot.retries < first_roll_call ||
      (slot.retries - first_roll_call) % 2 != 0) {
    return false;
  }
  // Later pieces wait for the same members.
  return std::ranges::none_of(
      slots_, [&](const Slot& other) { return other.in_progress && other.piece < slot.piece; });
}

void Root::conclude_roll_call(ReductionId id, Slot& slot, TimeNs now) {
  if (!roll_call_.is_about(slot.piece)) {
    return;
  }
  roll_call_.conclude();
  const std::uint64_t limit = channel_.parameters.member_timeout_ns;
  MissingRanks missing = roll_call_.missing();
  if (limit > 0 && missing.empty() && elapsed_ns(now, slot.injected_at) >= 2 * limit) {
    // Each was heard in some call, and none was complete. Where contributions are lost that passes;
    // a member that contributes alternately in its own name and in another's can keep it up
    // forever.
    missing = roll_call_.missing_now();
  }
  if (missing.empty()) {
    return;
  }
  if (limit > 0 && phase_ == Phase::active && elapsed_ns(now, slot.injected_at) >= limit &&
      roll_call_.concluded() >= roll_calls_before_the_end) {
    fail({.reason = Failure::Reason::members_missing, .missing = missing}, now);
    return;
  }
  notify(id, {.piece = static_cast<std::uint32_t>(slot.piece), .missing = missing});
}

void Root::hear(const wire::ReductionFrame& frame, const Slot& slot, TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  if (frame.rank >= group.size) {
    return;
  }
  if (group.checks()) {
    const std::uint64_t unmarked =
        signature_of_piece(signature_base(group.cookie, frame.rank), slot.piece);
    const CallMark mark = (frame.signature - unmarked) & wire::signature_mask;
    if (mark != no_mark && mark != slot.mark) {
      if (shape_of(mark)) {
        fail({.reason = Failure::Reason::unequal_counts,
              .one = call_of(group.rank, slot.mark),
              .other = call_of(frame.rank, mark)},
             now);
      }
      return; // else it belongs to another piece, or no member sent it
    }
  }
  roll_call_.hear(frame.rank);
}

Call Root::call_of(std::uint32_t rank, CallMark mark) const {
  const auto shape = shape_of(mark);
  return shape ? Call{.rank = rank,
                      .elements = shape->elements,
                      .leaving = shape->ordinal == CallShape::leaving}
               : Call{.rank = rank};
}

void Root::notify(ReductionId id, const Notice& notice) {
  channel_.send_on_all(id, notice_word(), payload_of(notice));
}

void Root::notify_failure(TimeNs now) {
  if (channel_.parameters.size == 1 || channel_.parameters.dialect == Dialect::cxi) {
    return;
  }
  failure_notified_at_ = now;
  for (std::size_t i = 0; i < channel_.parameters.slots; ++i) {
    notify(channel_.id_at(i), {.failure = failure_});
  }
}

void Root::fail(const Failure& failure, TimeNs now) {
  if (failure_ || phase_ == Phase::left) {
    return;
  }
  failure_ = failure;
  roll_call_.end();
  forget_in_flight(now);
  if (channel_.flight != nullptr) {
    channel_.flight->forget();
  }
  notify_failure(now);
  notify_failure_at_ = now + retry_backoff_limit * channel_.parameters.retry_ns;
  notify_failure_until_ = now + channel_.parameters.leave_grace_ns;
  if (phase_ != Phase::active) {
    abandoned_ = true;
    phase_ = Phase::left;
    leaving_ends_ = never;
  }
}

} // namespace tributary::collective
