// The root: the group leaves, and its engines are released.
#include "endpoint/collective/root.hpp"

#include <cassert>

namespace tributary::collective {

void Root::leave(TimeNs now) {
  if (failure_) {
    notify_failure(now);
    phase_ = Phase::left;
    notify_failure_at_ = never;
    return;
  }
  assert(can_inject() && is_idle());
  if (channel_.parameters.size == 1 || channel_.parameters.dialect == Dialect::cxi) {
    depart(now);
    return;
  }
  phase_ = Phase::leaving;
  leaving_ends_ = now + channel_.parameters.leave_timeout_ns;
  leave_piece_ = channel_.next_piece + channel_.parameters.slots;
  begin({}, {}, leaving_mark(channel_.parameters), now);
}

void Root::begin_leave_grace(TimeNs now) {
  phase_ = Phase::leave_grace;
  leaving_ends_ = now + channel_.parameters.leave_grace_ns;
  if (channel_.parameters.in_switch) {
    begin({}, {}, leaving_mark(channel_.parameters), now);
  }
}

void Root::leave_further(TimeNs now) {
  if (phase_ == Phase::leaving) {
    begin_leave_grace(now);
  } else if (phase_ == Phase::leave_grace) {
    depart(now);
  }
}

void Root::count_leave(const wire::ReductionFrame& frame, TreeIndex tree, TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  if (frame.reduction != channel_.id_of(leave_piece_)) {
    ++channel_.statistics.stale;
    return;
  }
  // A leaf sends its leave frame once, so counts under different sequences are summed.
  LeaveCount& leaves = leave_counts_[tree];
  leaves.count += frame.word.count;
  leaves.signatures = (leaves.signatures + frame.signature) & wire::signature_mask;
  const std::uint64_t own =
      signature_of_piece(signature_base(group.cookie, group.rank), leave_piece_);
  const bool all_once = !group.checks() || ((leaves.signatures + own) & wire::signature_mask) ==
                                               all_members_.expected(leave_piece_);
  if (leaves.count == group.size - 1 && all_once) {
    depart(now);
  }
}

void Root::depart(TimeNs now) {
  phase_ = Phase::left;
  leaving_ends_ = never;
  forget_in_flight(now);
  for (std::size_t i = 0; i < channel_.parameters.slots; ++i) {
    Slot& slot = slots_[i];
    slot.last_vector = {}; // no leaf asks any more
    if (slot.armed && channel_.parameters.armed && channel_.parameters.size > 1) {
      advance(slot, now);
      open_sequence(channel_.id_at(i), slot, false, false);
    }
  }
}

} // namespace tributary::collective
