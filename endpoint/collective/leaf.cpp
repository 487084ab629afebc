#include "endpoint/collective/leaf.hpp"

#include "endpoint/collective/signature.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tributary::collective {

namespace {

/// Whether the remote offset of a frame from above is the sum of contributions' signatures, and not
/// a flag of the root.
bool is_sum(std::uint64_t signature) {
  return signature != 0 && signature != root_understands_marks;
}

std::uint64_t signature_base_of(const GroupParameters& p) {
  return p.checks() ? signature_base(p.cookie, p.rank) : 0;
}

SignatureSum signature_sum_of(const GroupParameters& p) {
  return {p.cookie, p.in_switch && p.checks() ? p.size : 0};
}

} // namespace

Leaf::Leaf(const GroupParameters& parameters, Outbox* shared)
    : channel_(parameters, shared), signature_base_(signature_base_of(parameters)),
      all_members_(signature_sum_of(parameters)), slots_(parameters.slots) {}

bool Leaf::can_inject() const {
  const std::size_t place = channel_.place_of_piece(channel_.next_piece);
  return phase_ == Phase::active && !failure_ && slots_[place].state == State::idle &&
         !channel_.completions.holds(place) && channel_.has_room();
}

bool Leaf::is_idle() const {
  return channel_.completions.empty() &&
         std::none_of(slots_.begin(), slots_.end(),
                      [](const Slot& slot) { return slot.state != State::idle; });
}

PieceNumber Leaf::inject(const Operand& operand, TimeNs now, CallMark mark) {
  ++channel_.statistics.injected;
  return begin(operand, {}, mark, now);
}

PieceNumber Leaf::inject(const WideOperand& vector, TimeNs now, CallMark mark) {
  ++channel_.statistics.injected;
  return begin({}, vector, mark, now);
}

PieceNumber Leaf::begin(const Operand& operand, const WideOperand& vector, CallMark mark,
                        TimeNs now) {
  const GroupParameters& group = channel_.parameters;
  const PieceNumber piece = channel_.next_piece++;
  const ReductionId id = channel_.id_of(piece);
  channel_.begin(piece, now);
  Slot& slot = slots_[channel_.place_of(id)];
  slot.state = State::waiting_for_arm;
  slot.piece = piece;
  slot.own = operand;
  slot.vector = vector;
  slot.mark = mark;
  slot.injected_at = now;
  slot.contributed.reset();
  slot.retries = 0;
  slot.request_interval_ns =
      std::min(first_request_retries * group.retry_ns, group.result_timeout_ns);
  slot.contributed_last_on.clear();
  if (slot.heard && !slot.root_lacks_result &&
      elapsed_ns(now, slot.heard_at) < group.collective_timeout_ns) {
    for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
      if (slot.heard_on.contains(tree)) {
        contribute(id, slot, tree, now);
      }
    }
  }
  return piece;
}

void Leaf::receive(const wire::ReductionFrame& frame, TimeNs now, const WideView& vector) {
  if (phase_ == Phase::left) {
    return;
  }
  const std::optional<TreeIndex> tree = channel_.admit(frame);
  if (!tree) {
    return;
  }
  Statistics& statistics = channel_.statistics;
  const wire::ReductionWord& word = frame.word;
  if (channel_.parameters.root_nid && frame.source_nid != *channel_.parameters.root_nid) {
    ++statistics.foreign;
    return;
  }
  root_heard_at_ = now;
  if (word.seqno == pre_arm_sequence) {
    ++statistics.pre_arms;
    take_notice(frame);
    return;
  }
  if (failure_) {
    return;
  }
  if (!channel_.parameters.in_switch || !is_sum(frame.signature)) {
    root_understands_marks_ = frame.signature == root_understands_marks;
  }
  Slot& slot = slots_[channel_.place_of(frame.reduction)];
  bool result = is_result_for(slot, word, vector);
  if (result && channel_.parameters.in_switch && !includes_all(slot, frame)) {
    ++statistics.refused;
    result = false;
  }
  if (result) {
    finish(slot, frame, vector, now);
  }
  const bool root_misses = !result && shows_a_miss(slot, word);
  if (believes(slot, word.seqno, *tree, now)) {
    hear(slot, word.seqno, *tree, now);
    slot.root_lacks_result = root_misses;
  } else {
    ++statistics.reordered;
    if (!result) {
      return;
    }
  }
  if (result && channel_.parameters.in_switch && phase_ != Phase::active) {
    begin_leave_grace(now);
  } else if (phase_ == Phase::sending_leave || (result && phase_ == Phase::leaving)) {
    send_leave(frame.reduction, slot, now);
  } else if (root_misses) {
    report_miss(frame.reduction, slot);
  } else if (!result) {
    answer(frame, slot, *tree, now);
  }
}

bool Leaf::shows_a_miss(const Slot& slot, const wire::ReductionWord& word) const {
  const bool of_own_piece = slot.state == State::waiting_for_result &&
                            slot.contributed.test(word.resno.value()); // but not every member's
  return channel_.parameters.in_switch && word.retry() && slot.completed != no_sequence &&
         word.resno != slot.completed && !of_own_piece;
}

void Leaf::report_miss(ReductionId id, Slot& slot) {
  const GroupParameters& group = channel_.parameters;
  std::uint64_t reporting = reporters;
  for (std::uint32_t i = 0; i < slot.asked && reporting < group.size; ++i) {
    reporting *= reporters;
  }
  ++slot.asked;
  // Other leaves for every piece.
  if ((group.rank + slot.piece) % group.size >= reporting) {
    return;
  }
  ++channel_.statistics.lost_results;
  channel_.send_on_all(id, {.seqno = *slot.heard, .resno = slot.completed, .pad = wire::pad_retry},
                       wire::Payload{});
}

/// The result of a BARRIER of leaving.
void Leaf::begin_leave_grace(TimeNs now) {
  if (phase_ == Phase::leave_grace) {
    phase_ = Phase::left;
    leaving_ends_ = never;
    return;
  }
  phase_ = Phase::leave_grace;
  leaving_ends_ = now + channel_.parameters.leave_grace_ns;
  begin({}, {}, leaving_mark(channel_.parameters), now);
}

void Leaf::take_notice(const wire::ReductionFrame& frame) {
  const auto notice = channel_.parameters.dialect == Dialect::cxi
                          ? std::nullopt
                          : notice_in(frame, channel_.parameters.root_rank);
  if (!notice) {
    return;
  }
  if (notice->failure) {
    fail(*notice->failure);
    return;
  }
  missing_ = notice->missing;
  missing_piece_ = notice->piece;
}

void Leaf::fail(const Failure& failure) {
  if (failure_ || phase_ == Phase::left) {
    return;
  }
  failure_ = failure;
  for (Slot& slot : slots_) {
    if (slot.state != State::idle) {
      channel_.end(slot.piece, slot.vector, slot.injected_at);
    }
    slot.state = State::idle;
    slot.request_at = never;
  }
  if (phase_ != Phase::active) {
    abandoned_ = phase_ == Phase::leaving;
    phase_ = Phase::left;
    leaving_ends_ = never;
  }
}

TimeNs Leaf::root_missing_at() const {
  const std::uint64_t limit = channel_.parameters.member_timeout_ns;
  if (limit == 0 || failure_ || phase_ != Phase::active) {
    return never;
  }
  std::optional<TimeNs> waits_since;
  for (const Slot& slot : slots_) {
    if (slot.state != State::idle) {
      waits_since = std::min(waits_since.value_or(slot.injected_at), slot.injected_at);
    }
  }
  if (!waits_since) {
    return never;
  }
  return std::max(*waits_since, root_heard_at_.value_or(*waits_since)) + limit;
}

void Leaf::answer(const wire::ReductionFrame& frame, Slot& slot, TreeIndex tree, TimeNs now) {
  const wire::ReductionWord& word = frame.word;
  if (slot.state == State::waiting_for_arm) {
    contribute(frame.reduction, slot, tree, now);
  } else if (slot.state == State::waiting_for_result) {
    const bool only_on_the_other_tree =
        slot.contributed_last == word.seqno && !slot.contributed_last_on.contains(tree);
    if (only_on_the_other_tree) {
      contribute(frame.reduction, slot, tree, now);
    } else if (word.retry() && slot.contributed.test(word.resno.value())) {
      // Our piece was completed, and this frame does not carry its result (the `cxi` dialect): to
      // contribute it again would add it to the next one.
      ++channel_.statistics.stale;
    } else if (word.retry()) {
      ++slot.retries;
      ++channel_.statistics.resent;
      channel_.asked(slot.piece, now);
      contribute(frame.reduction, slot, tree, now);
    }
  }
}

bool Leaf::is_result_for(const Slot& slot, const wire::ReductionWord& word,
                         const WideView& vector) const {
  if (slot.state != State::waiting_for_result || word.count == 0 ||
      !slot.contributed.test(word.resno.value())) {
    return false;
  }
  if (vector.is_wide() || slot.vector.is_wide()) {
    return word.rc == static_cast<std::uint8_t>(wire::ResultCode::op_mismatch)
               ? !vector.is_wide()
               : vector.form == slot.vector.form &&
                     vector.payload.size() == slot.vector.payload_bytes;
  }
  return true;
}

bool Leaf::includes_all(const Slot& slot, const wire::ReductionFrame& frame) const {
  const GroupParameters& group = channel_.parameters;
  if (frame.word.count != group.size) {
    return false;
  }
  // A leaf that sends no mark cannot know the sum of the others' marks.
  const bool is_unmarked = slot.mark == no_mark && root_understands_marks_;
  return !group.checks() || !is_sum(frame.signature) || is_unmarked ||
         all_members_.includes_all(frame.signature, slot.piece, slot.mark, group.size);
}

bool Leaf::believes(const Slot& slot, SequenceNumber sequence, TreeIndex tree, TimeNs now) const {
  if (sequence == slot.completed) {
    return false;
  }
  if (!slot.heard || is_newer(sequence, *slot.heard)) {
    return true;
  }
  if (sequence == *slot.heard) {
    return slot.state == State::waiting_for_arm || !slot.heard_on.contains(tree);
  }
  return elapsed_ns(now, slot.heard_at) >= channel_.parameters.result_timeout_ns;
}

void Leaf::hear(Slot& slot, SequenceNumber sequence, TreeIndex tree, TimeNs now) {
  if (slot.heard != sequence) {
    slot.heard = sequence;
    slot.heard_on.clear();
  }
  slot.heard_on.insert(tree);
  slot.heard_at = now;
}

void Leaf::contribute(ReductionId id, Slot& slot, TreeIndex tree, TimeNs now) {
  slot.state = State::waiting_for_result;
  slot.contributed.set(slot.heard->value());
  if (slot.contributed_last != *slot.heard) {
    slot.contributed_last = *slot.heard;
    slot.contributed_last_on.clear();
  }
  slot.contributed_last_on.insert(tree);
  send_up(tree, id, *slot.heard, slot.own, slot.vector, slot.piece, slot.mark);
  slot.request_at =
      channel_.parameters.dialect == Dialect::cxi ? never : now + slot.request_interval_ns;
}

void Leaf::send_up(TreeIndex tree, ReductionId id, SequenceNumber sequence, const Operand& operand,
                   const WideOperand& vector, PieceNumber piece, CallMark mark) {
  const wire::Opcode op = vector.is_wide() ? vector.op : operand.op;
  const wire::ReductionWord word{.seqno = sequence,
                                 .op = static_cast<std::uint8_t>(op),
                                 .count = 1,
                                 .resno = sequence,
                                 .rc = static_cast<std::uint8_t>(operand.rc),
                                 .m = operand.m,
                                 .overflow_id = operand.overflow_id};
  const std::uint64_t signature =
      signature_base_ == 0
          ? 0
          : signature_of_piece(signature_base_, piece) + (root_understands_marks_ ? mark : no_mark);
  if (vector.is_wide()) {
    channel_.send(tree, id, word, vector, signature & wire::signature_mask);
  } else {
    channel_.send(tree, id, word, operand.payload, signature & wire::signature_mask);
  }
}

void Leaf::finish(Slot& slot, const wire::ReductionFrame& frame, const WideView& vector,
                  TimeNs now) {
  const wire::ReductionWord& word = frame.word;
  channel_.end(slot.piece, slot.vector, now);
  if (vector.is_wide() && slot.vector.out != nullptr) {
    std::memcpy(slot.vector.out, vector.payload.data(), slot.vector.bytes);
  }
  slot.state = State::idle;
  slot.request_at = never;
  slot.completed = word.resno;
  slot.asked = 0;
  channel_.statistics.recovered += word.retry() ? 1 : 0;
  if (phase_ == Phase::active) {
    channel_.complete({.piece = slot.piece,
                       .payload = frame.payload,
                       .op = word.opcode(),
                       .rc = static_cast<wire::ResultCode>(word.rc),
                       .m = word.m,
                       .overflow_id = word.overflow_id,
                       .count = word.count});
  }
}

void Leaf::poll(TimeNs now) {
  if (phase_ == Phase::left) {
    return;
  }
  if (now >= leaving_ends_) {
    abandoned_ = phase_ == Phase::leaving;
    phase_ = Phase::left;
    return;
  }
  if (now >= root_missing_at()) {
    MissingRanks missing;
    missing.add(channel_.parameters.root_rank);
    fail({.reason = Failure::Reason::members_missing, .missing = missing});
    return;
  }
  channel_.for_each_in_flight([&](ReductionId id) {
    Slot& slot = slots_[channel_.place_of(id)];
    if (now >= slot.request_at) {
      request_result(id, slot, now);
    } else if (now >= overdue_at(id, slot)) {
      ++channel_.statistics.overdue;
      request_result(id, slot, now);
    }
  });
}

TimeNs Leaf::overdue_at(ReductionId id, const Slot& slot) const {
  // Before it has contributed it has nothing to request.
  return slot.state == State::waiting_for_result ? channel_.overdue_at(id) : never;
}

void Leaf::request_result(ReductionId id, Slot& slot, TimeNs now) {
  const wire::ReductionWord word{
      .seqno = slot.contributed_last, .resno = slot.contributed_last, .pad = wire::pad_retry};
  channel_.send_on_all(id, word, wire::Payload{});
  ++slot.retries;
  ++channel_.statistics.requests_sent;
  channel_.asked(slot.piece, now);
  slot.request_interval_ns =
      std::min(2 * slot.request_interval_ns, channel_.parameters.result_timeout_ns);
  slot.request_at = now + slot.request_interval_ns;
}

TimeNs Leaf::next_deadline() const {
  if (phase_ == Phase::left) {
    return never;
  }
  TimeNs deadline = std::min(leaving_ends_, root_missing_at());
  channel_.for_each_in_flight([&](ReductionId id) {
    const Slot& slot = slots_[channel_.place_of(id)];
    deadline = std::min({deadline, slot.request_at, overdue_at(id, slot)});
  });
  return deadline;
}

void Leaf::move_to(const GroupParameters& parameters, TimeNs) {
  channel_.move_to(parameters);
  signature_base_ = signature_base_of(parameters);
  all_members_ = signature_sum_of(parameters);
  // Nothing has arrived on the new trees yet. The root asks again there for what is in flight.
  for (Slot& slot : slots_) {
    slot.heard_on.clear();
    slot.contributed_last_on.clear();
  }
}

void Leaf::leave(TimeNs now) {
  if (failure_) {
    phase_ = Phase::left;
    return;
  }
  assert(can_inject() && is_idle());
  if (channel_.parameters.dialect == Dialect::cxi) {
    phase_ = Phase::left;
    return;
  }
  phase_ = Phase::leaving;
  leaving_ends_ = now + channel_.parameters.leave_timeout_ns;
  leave_piece_ = begin({}, {}, leaving_mark(channel_.parameters), now) + channel_.parameters.slots;
}

void Leaf::send_leave(ReductionId id, const Slot& slot, TimeNs now) {
  if (id != channel_.id_of(leave_piece_)) {
    return;
  }
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    if (slot.heard_on.contains(tree) && !leave_sent_on_.contains(tree)) {
      send_up(tree, id, *slot.heard, {}, {}, leave_piece_, no_mark);
      leave_sent_on_.insert(tree);
    }
  }
  if (leave_sent_on_.is_all_of(channel_.tree_count())) {
    phase_ = Phase::left;
    leaving_ends_ = never;
  } else if (phase_ == Phase::leaving) {
    phase_ = Phase::sending_leave;
    leaving_ends_ = now + channel_.parameters.retry_ns;
  }
}

Status Leaf::status() const {
  Status status(channel_.parameters.slots);
  for (std::size_t i = 0; i < status.size(); ++i) {
    const Slot& slot = slots_[i];
    ReductionStatus& entry = status[i];
    entry.id = channel_.id_at(i);
    switch (slot.state) {
    case State::idle:
      entry.waiting = channel_.completions.holds(i) ? Waiting::for_owner : Waiting::idle;
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
    if (slot.state != State::idle) {
      entry.root_heard_at = root_heard_at_;
      if (static_cast<std::uint32_t>(slot.piece) - missing_piece_ < channel_.parameters.slots) {
        entry.missing = missing_; // pieces behind the waiting one wait with it
      }
    }
    entry.size = channel_.parameters.size;
  }
  return status;
}

} // namespace tributary::collective
