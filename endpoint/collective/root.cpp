#include "endpoint/collective/root.hpp"

#include "endpoint/collective/wide_kernel_table.hpp"
#include "tributary/reduce/reducer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tributary::collective {

Root::Root(const GroupParameters& parameters, Outbox* shared)
    : channel_(parameters, shared),
      everybody_(parameters.cookie, parameters.checks() ? parameters.size : 0),
      roll_call_(parameters.size), slots_(parameters.slots),
      vectors_(parameters.is_wide()
                   ? RootVectors(parameters.slots, parameters.tree_count(), parameters.payload)
                   : RootVectors()) {
  for (Slot& slot : slots_) {
    slot.last_result.resno = no_sequence;
  }
}

bool Root::can_inject() const {
  const ReductionId id = channel_.id_of(channel_.next_piece);
  return phase_ == Phase::active && !failure_ && !slots_[id.value].in_progress &&
         !channel_.completions.holds(id) && channel_.has_room();
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
  Slot& slot = slots_[id.value];
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
  slot.own_counted = false;

  const bool arm_period_over = !slot.armed || slot.arm_void ||
                               elapsed_ns(now, slot.armed_at) >= group.collective_timeout_ns / 2;
  if (arm_period_over && group.size > 1) {
    ++channel_.statistics.armed;
    ask(id, slot, now, false);
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
  const std::optional<TreeIndex> tree = channel_.admit(frame, is_turned());
  if (!tree) {
    return;
  }
  const wire::ReductionWord& word = frame.word;
  if (word.arm) {
    if (frame.source_nid == channel_.parameters.nid) {
      receive_turned(frame, now, vector);
      return;
    }
    ++channel_.statistics.misdirected;
    return;
  }
  if (failure_) {
    if (elapsed_ns(now, failure_told_at_) >= channel_.parameters.retry_ns) {
      tell_failure(now);
    }
    return;
  }
  Slot& slot = slots_[frame.reduction.value];
  if (word.count == 0 && word.retry()) {
    answer_request(frame.reduction, slot, word.resno, now);
    return;
  }
  if (word.count == 0 && is_turned()) {
    receive_told(frame, now, vector);
    return;
  }
  if (word.count == 0 || !slot.armed || word.resno != slot.sequence) {
    const bool lags = channel_.tree_count() > 1 && word.count > 0 && slot.last_result.count > 0 &&
                      word.resno == slot.last_result.resno;
    ++(lags ? channel_.statistics.lagging : channel_.statistics.stale);
    return;
  }
  if (phase_ == Phase::lingering && !channel_.parameters.turned) {
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
    count_own(frame.reduction, slot); // on a tree that is turned round, where it was not needed yet
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
    if (now >= tell_failure_at_) {
      tell_failure(now);
      tell_failure_at_ = now + retry_backoff_limit * channel_.parameters.retry_ns;
      if (tell_failure_at_ > tell_failure_until_) {
        tell_failure_at_ = never;
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
    Slot& slot = slots_[id.value];
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

void Root::ask_again(ReductionId id, Slot& slot, TimeNs now) {
  channel_.asked(slot.piece, now);
  ask(id, slot, now);
}

TimeNs Root::next_deadline() const {
  TimeNs deadline = std::min(leaving_ends_, tell_failure_at_);
  channel_.for_each_in_flight([&](ReductionId id) {
    const Slot& slot = slots_[id.value];
    if (slot.in_progress) {
      deadline = std::min(deadline, slot.retry_at);
      if (!slot.calls_roll) {
        deadline = std::min(deadline, channel_.overdue_at(id));
      }
    }
  });
  return deadline;
}

void Root::advance(Slot& slot, TimeNs now) const {
  slot.sequence = slot.armed ? successor(slot.sequence) : channel_.parameters.first_sequence;
  if (slot.armed && is_turned()) {
    slot.sequence = successor(slot.sequence); // the one between is the switch's
  }
  if (slot.sequence == slot.last_result.resno) {
    slot.sequence = successor(slot.sequence);
  }
  slot.armed = true;
  slot.arm_void = false;
  follow(slot, slot.sequence, now);
}

void Root::ask(ReductionId id, Slot& slot, TimeNs now, bool with_result) {
  advance(slot, now);
  slot.asked_at = now;
  open_sequence(id, slot, channel_.parameters.armed, true, with_result);
  if (slot.in_progress) {
    contribute(id, slot);
    slot.retry_at = now + slot.retry_interval_ns;
  }
}

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
  const MissingRanks missing = roll_call_.missing();
  if (missing.empty()) {
    return;
  }
  const std::uint64_t limit = channel_.parameters.member_timeout_ns;
  if (limit > 0 && phase_ == Phase::active && elapsed_ns(now, slot.injected_at) >= limit &&
      roll_call_.concluded() >= roll_calls_before_the_end) {
    fail({.reason = Failure::Reason::members_missing, .missing = missing}, now);
    return;
  }
  tell(id, {.piece = static_cast<std::uint32_t>(slot.piece), .missing = missing});
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
      return; // else it belongs to another piece, or was not made by a member
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

void Root::tell(ReductionId id, const Notice& notice) {
  channel_.send_on_all(id, notice_word(), payload_of(notice));
}

void Root::tell_failure(TimeNs now) {
  if (channel_.parameters.size == 1 || channel_.parameters.dialect == Dialect::cxi) {
    return;
  }
  failure_told_at_ = now;
  for (std::uint8_t i = 0; i < slots_.size(); ++i) {
    tell(ReductionId{i}, {.failure = failure_});
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
  tell_failure(now);
  tell_failure_at_ = now + retry_backoff_limit * channel_.parameters.retry_ns;
  tell_failure_until_ = now + channel_.parameters.linger_ns;
  if (phase_ != Phase::active) {
    abandoned_ = true;
    phase_ = Phase::left;
    leaving_ends_ = never;
  }
}

void Root::count_in(ReductionId id, Slot& slot, TreeIndex tree, const Operand& operand,
                    const WideView& vector, ContributionCount count, std::uint64_t signature) {
  Gathered& gathered = slot.gathered[tree];
  if (vector.is_wide() || gathered.form != wire::Form::words) {
    combine_vector(id, gathered, tree, operand, vector);
  } else if (gathered.count == 0) {
    reduce::start(gathered.accumulator, operand);
  } else {
    reduce::combine(gathered.accumulator, operand, channel_.parameters.nan_mode);
  }
  gathered.count += count;
  gathered.signatures = (gathered.signatures + signature) & wire::signature_mask;
}

/// The frame, or what is held, is a vector.
void Root::combine_vector(ReductionId id, Gathered& gathered, TreeIndex tree,
                          const Operand& operand, const WideView& vector) {
  reduce::Accumulator& held = gathered.accumulator;
  const auto kernel = [&] {
    return wide_kernel(operand.op, vector.form, channel_.parameters.nan_mode);
  };
  if (gathered.count == 0) {
    held = {};
    held.op = operand.op;
    held.rc = operand.rc;
    held.source = operand.source;
    gathered.form = vector.form;
    gathered.payload_bytes = static_cast<std::uint32_t>(vector.payload.size());
    held.rc = wire::worse(held.rc, kernel().begin(vectors_.gathered(id, tree), vector.payload));
  } else if (held.rc != wire::ResultCode::op_mismatch && vector.form == gathered.form &&
             vector.payload.size() == gathered.payload_bytes && operand.op == held.op) {
    held.rc = wire::worse(wire::worse(held.rc, operand.rc),
                          kernel().add(vectors_.gathered(id, tree), vector.payload));
  } else {
    reduce::report_mismatch(held, operand);
  }
}

void Root::count_own(ReductionId id, Slot& slot) {
  slot.own_counted = true;
  const GroupParameters& group = channel_.parameters;
  const std::uint64_t base = signature_base(group.cookie, group.rank);
  const WideView vector = slot.vector.is_wide() ? own_vector(slot.vector) : WideView{};
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    count_in(id, slot, tree, slot.own, vector, 1, signature_of_piece(base, slot.piece) + slot.mark);
  }
}

WideView Root::own_vector(const WideOperand& vector) {
  if (vector.in != nullptr && vector.bytes == vector.payload_bytes) {
    return {.form = vector.form, .payload = {vector.in, vector.bytes}};
  }
  const std::span<std::byte> whole(vectors_.scratch(), vector.payload_bytes);
  Outbox::write_payload(vector, whole);
  return {.form = vector.form, .payload = whole};
}

void Root::reconcile_all(ReductionId id, Slot& slot, TimeNs now) {
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    reconcile(id, slot, tree, now);
  }
}

void Root::reconcile(ReductionId id, Slot& slot, TreeIndex tree, TimeNs now) {
  // Before the own operand is in, nothing can be complete; what was counted twice shows then.
  if (!slot.in_progress || slot.gathered[tree].count < channel_.parameters.size) {
    return;
  }
  if (is_everybody_once(slot.gathered[tree], slot)) {
    finish(id, slot, tree, now);
    return;
  }
  ++slot.refused;
  ++channel_.statistics.double_counted;
  if (slot.refused > immediate_retries || is_any_tree_short(slot)) {
    return;
  }
  // At once: contributions are flowing, so this is no faster than a round trip.
  ++slot.retries;
  ++channel_.statistics.retried;
  channel_.asked(slot.piece, now);
  if (slot.refused == roll_call_refusal && channel_.parameters.marks_calls()) {
    call_roll(id, slot, now);
  } else {
    ask(id, slot, now);
  }
}

bool Root::is_everybody_once(const Gathered& gathered, const Slot& slot) const {
  const GroupParameters& group = channel_.parameters;
  if (gathered.count != group.size) {
    return false;
  }
  return !group.checks() ||
         everybody_.is_everybodys(gathered.signatures, slot.piece, slot.mark, group.size - 1);
}

bool Root::is_any_tree_short(const Slot& slot) const {
  return std::any_of(
      slot.gathered.begin(), slot.gathered.begin() + channel_.tree_count(),
      [&](const Gathered& gathered) { return gathered.count < channel_.parameters.size; });
}

void Root::finish(ReductionId id, Slot& slot, TreeIndex winner, TimeNs now) {
  const Gathered& complete = slot.gathered[winner];
  const reduce::Accumulator& result = complete.accumulator;
  slot.last_vector = {};
  const wire::ResultCode rc =
      complete.form != wire::Form::words && result.rc != wire::ResultCode::op_mismatch
          ? keep_vector(id, slot, winner)
          : result.result_code();
  const Completion completion{.piece = slot.piece,
                              .payload = result.payload,
                              .op = result.op,
                              .rc = rc,
                              .m = result.m,
                              .overflow_id = result.overflow_id,
                              .count = complete.count,
                              .frames = complete.frames,
                              .largest_frame = complete.largest_frame};
  if (phase_ == Phase::active) {
    count_shape(complete, winner);
  }
  end_piece(slot, completion, slot.sequence, now);
  advance(slot, now);
  if (channel_.parameters.size > 1) {
    open_sequence(id, slot, channel_.parameters.armed, false);
  }
  leave_further(now);
}

void Root::end_piece(Slot& slot, const Completion& completion, SequenceNumber resno, TimeNs now) {
  slot.last_result = {};
  slot.last_result.op = static_cast<std::uint8_t>(completion.op);
  slot.last_result.count = completion.count;
  slot.last_result.resno = resno;
  slot.last_result.rc = static_cast<std::uint8_t>(completion.rc);
  slot.last_result.m = completion.m;
  slot.last_result.overflow_id = completion.overflow_id;
  slot.last_payload = completion.payload;
  slot.in_progress = false;
  // Only where the tree is turned round does a frame of the root point to its owner's memory.
  channel_.end(slot.piece, is_turned() ? slot.vector : WideOperand{}, now);
  if (roll_call_.is_about(slot.piece)) {
    roll_call_.end();
  }
  if (phase_ == Phase::active) {
    channel_.complete(completion);
  }
}

void Root::forget_in_flight(TimeNs now) {
  for (Slot& slot : slots_) {
    if (slot.in_progress && is_turned()) {
      channel_.end(slot.piece, slot.vector, now);
    }
    slot.in_progress = false;
  }
}

wire::ResultCode Root::keep_vector(ReductionId id, Slot& slot, TreeIndex winner) {
  const Gathered& complete = slot.gathered[winner];
  const reduce::Accumulator& held = complete.accumulator;
  std::byte* const result = vectors_.result(id);
  channel_.outbox.drop(id, result); // of the last result, which everybody has
  const wire::ResultCode rc =
      wide_kernel(held.op, complete.form, channel_.parameters.nan_mode)
          .emit(vectors_.gathered(id, winner), {result, complete.payload_bytes});
  // Others may have called for less, or for more: then the signatures would have told.
  if (slot.vector.out != nullptr) {
    std::memcpy(slot.vector.out, result, std::min(slot.vector.bytes, complete.payload_bytes));
  }
  slot.last_vector = {.op = held.op,
                      .form = complete.form,
                      .in = result,
                      .out = nullptr,
                      .bytes = complete.payload_bytes,
                      .payload_bytes = complete.payload_bytes};
  return wire::worse(held.rc, rc);
}

void Root::count_shape(const Gathered& gathered, TreeIndex tree) {
  Statistics& statistics = channel_.statistics;
  ++(tree == 0 ? statistics.won_on_first : statistics.won_on_second);
  statistics.reduction_frames += gathered.frames;
  if (gathered.frames == 1) {
    ++statistics.full;
  } else if (gathered.largest_frame > 1) {
    ++statistics.partial;
  } else if (gathered.frames > 1) {
    ++statistics.unreduced;
  }
}

void Root::answer_request(ReductionId id, Slot& slot, SequenceNumber wanted, TimeNs now) {
  ++channel_.statistics.requests_received;
  // On a tree that is turned round the piece may have been completed under a sequence older than
  // the last one that it was asked for.
  const bool was_its_piece =
      is_turned() && !slot.in_progress && slot.contributed.test(wanted.value());
  const bool have_it =
      slot.last_result.count > 0 && (slot.last_result.resno == wanted || was_its_piece);
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
  // On a tree that is turned round switch and leaves are to know what the root has.
  with_result |= channel_.parameters.turned;
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
  everybody_ = SignatureSum(parameters.cookie, parameters.checks() ? parameters.size : 0);
  for (std::uint8_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.gathered = {};
    slot.own_counted = false;
    slot.arm_void = slot.armed;
    if (slot.in_progress && parameters.size > 1) {
      ++channel_.statistics.armed;
      ask(ReductionId{i}, slot, now);
    }
  }
}

void Root::leave(TimeNs now) {
  if (failure_) {
    tell_failure(now);
    phase_ = Phase::left;
    tell_failure_at_ = never;
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

void Root::begin_linger(TimeNs now) {
  phase_ = Phase::lingering;
  leaving_ends_ = now + channel_.parameters.linger_ns;
  if (channel_.parameters.turned) {
    begin({}, {}, leaving_mark(channel_.parameters), now);
  }
}

void Root::leave_further(TimeNs now) {
  if (phase_ == Phase::leaving) {
    begin_linger(now);
  } else if (phase_ == Phase::lingering) {
    depart(now);
  }
}

void Root::count_leave(const wire::ReductionFrame& frame, TreeIndex tree, TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  if (frame.reduction != channel_.id_of(leave_piece_)) {
    ++channel_.statistics.stale;
    return;
  }
  // A leaf sends its leave frame once and is gone, so those under different sequences add up.
  LeaveCount& leaves = leave_counts_[tree];
  leaves.count += frame.word.count;
  leaves.signatures = (leaves.signatures + frame.signature) & wire::signature_mask;
  const std::uint64_t own =
      signature_of_piece(signature_base(group.cookie, group.rank), leave_piece_);
  const bool everybody_once =
      !group.checks() ||
      ((leaves.signatures + own) & wire::signature_mask) == everybody_.expected(leave_piece_);
  if (leaves.count == group.size - 1 && everybody_once) {
    depart(now);
  }
}

void Root::depart(TimeNs now) {
  phase_ = Phase::left;
  leaving_ends_ = never;
  forget_in_flight(now);
  for (std::uint8_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.last_vector = {}; // nobody asks any more
    if (slot.armed && channel_.parameters.armed && channel_.parameters.size > 1) {
      advance(slot, now);
      open_sequence(ReductionId{i}, slot, false, false);
    }
  }
}

Status Root::status() const {
  Status status(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    ReductionStatus& entry = status[i];
    const TreeIndex fullest = fullest_tree(slot);
    const Gathered& gathered = slot.gathered[fullest];
    if (slot.in_progress) {
      entry.waiting = Waiting::for_contributions;
      entry.missing_rank = missing_rank(gathered, slot);
      if (roll_call_.is_about(slot.piece) && roll_call_.concluded() > 0) {
        entry.missing = roll_call_.missing();
      }
      if (channel_.tree_count() > 1) {
        entry.count_on_other_tree = slot.gathered[1 - fullest].count;
      }
    } else if (channel_.completions.holds(ReductionId{static_cast<std::uint8_t>(i)})) {
      entry.waiting = Waiting::for_owner;
    }
    if (slot.armed) {
      entry.sequence = slot.sequence;
    }
    entry.piece = slot.piece;
    entry.since = slot.injected_at;
    entry.retries = slot.retries;
    entry.refused = slot.refused;
    entry.count = gathered.count;
    entry.tree = channel_.parameters.tree_at(fullest);
    entry.size = channel_.parameters.size;
  }
  return status;
}

TreeIndex Root::fullest_tree(const Slot& slot) const {
  const bool second = channel_.tree_count() > 1 && slot.gathered[1].count > slot.gathered[0].count;
  return second ? 1 : 0;
}

std::optional<std::uint32_t> Root::missing_rank(const Gathered& gathered, const Slot& slot) const {
  const GroupParameters& group = channel_.parameters;
  if (!group.checks() || gathered.count + 1 != group.size) {
    return std::nullopt;
  }
  const std::uint64_t missing =
      (everybody_.expected(slot.piece, slot.mark) - gathered.signatures) & wire::signature_mask;
  for (std::uint32_t rank = 0; rank < group.size; ++rank) {
    const std::uint64_t own = signature_of_piece(signature_base(group.cookie, rank), slot.piece);
    if (own == missing || ((own + slot.mark) & wire::signature_mask) == missing) {
      return rank;
    }
  }
  return std::nullopt;
}

} // namespace tributary::collective
