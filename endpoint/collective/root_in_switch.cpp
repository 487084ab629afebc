// The root of a tree with in-switch results: the switch next to it combines the contributions, the
// root's among them, and sends the result to all (docs/protocol/in-switch-results.md). Differences
// from root.hpp:
//
//   event                               does
//   inject, or it asks                  contributes to its sequence as a leaf does, after the arm
//   a result: arm, this host's own      completes if count and signatures are complete, and
//     address, resno one that this        takes over the sequence that it opens
//     piece was contributed to
//   the same, count or signatures       releases the result that the switch keeps, and asks; the
//     wrong                               second time with a roll call, where members mark calls
//   the last result again, with a       follows, and contributes the next piece again if that is
//     newer sequence                      under way
//   an unexpected result,               releases it and asks: it is from a previous root with the
//     with a newer sequence               same cookie
//   a leaf reports that it has a        ends the group at the second question with this answer,
//     result of a sequence that this      a retry interval later: the switch has forgotten the
//     piece was contributed to            result, and the root does not accept one from a leaf
//   a request under a sequence that     answered with it: it may have been completed under an older
//     the completed piece was asked for   one
//   contributions                       gathered as usual, besides its own: where the switch is not
//                                         armed, or is asked to stay out of it, the root combines
//
// Sequences. The result of s opens s + 1, so the root asks with s + 2: a contribution to that never
// counts for the sequence that the switch has opened. The resno of the root's question names the
// result that the root has. A switch that keeps a newer one stops the frame, and sends that result
// again with a sequence beyond both. The release is an arm with sequence 1022, count 0 and that
// resno; it ends at the switch, and the frame that asks follows it with the last good result, for
// leaves that have missed that.
//
// Leaving. The switch would hold the leave frames forever, so leaves send none: after the first
// BARRIER all run a second one, which is over after `leave_grace_ns`, complete or not.

#include "endpoint/collective/root.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::collective {

void Root::contribute(ReductionId id, Slot& slot) {
  const bool others_came_here = std::ranges::any_of(
      slot.gathered, [](const Gathered& gathered) { return gathered.count > 0; });
  if (!is_in_switch() || others_came_here) {
    count_own(id, slot);
  }
  if (!is_in_switch()) {
    return;
  }
  const GroupParameters& group = channel_.parameters;
  slot.contributed.set(slot.sequence.value());
  const wire::Opcode op = slot.vector.is_wide() ? slot.vector.op : slot.own.op;
  const wire::ReductionWord word{.seqno = slot.sequence,
                                 .op = static_cast<std::uint8_t>(op),
                                 .count = 1,
                                 .resno = slot.sequence,
                                 .rc = static_cast<std::uint8_t>(slot.own.rc),
                                 .m = slot.own.m,
                                 .overflow_id = slot.own.overflow_id};
  const std::uint64_t signature =
      group.checks()
          ? (signature_of_piece(signature_base(group.cookie, group.rank), slot.piece) + slot.mark) &
                wire::signature_mask
          : 0;
  if (slot.vector.is_wide()) {
    channel_.send_on_all(id, word, slot.vector, signature);
  } else {
    channel_.send_on_all(id, word, slot.own.payload, signature);
  }
}

void Root::receive_in_switch(const wire::ReductionFrame& frame, TimeNs now,
                             const WideView& vector) {
  const wire::ReductionWord& word = frame.word;
  const ReductionId id = frame.reduction;
  Slot& slot = slots_[channel_.place_of(id)];
  if (failure_ || word.count == 0 || !slot.armed) {
    ++channel_.statistics.stale;
    return;
  }
  if (slot.in_progress && slot.contributed.test(word.resno.value()) &&
      word.resno != slot.refused_result) {
    if (includes_all(frame, slot.piece, slot.mark) && has_its_shape(slot, frame, vector)) {
      finish_in_switch(frame, slot, now, vector);
    } else {
      refuse(id, slot, word.resno, now);
    }
    return;
  }
  const bool is_newer_than_mine = is_newer(word.seqno, slot.sequence);
  if (slot.last_result.count > 0 && slot.last_result.resno == word.resno && is_newer_than_mine) {
    follow(slot, word.seqno, now);
    if (slot.in_progress) {
      contribute(id, slot);
      slot.retry_at = now + slot.retry_interval_ns;
    }
    return;
  }
  if (slot.in_progress && is_newer_than_mine) {
    refuse(id, slot, word.resno, now);
    return;
  }
  ++channel_.statistics.stale;
}

/// A leaf has a result that this root missed. Its question reached the leaf, so the switch, which
/// would have answered it, no longer keeps that result.
void Root::hear_of_miss(const wire::ReductionFrame& frame, Slot& slot, TimeNs now) {
  const wire::ReductionWord& word = frame.word;
  if (!is_in_switch() || !slot.in_progress || word.seqno != slot.sequence ||
      !slot.contributed.test(word.resno.value())) {
    ++channel_.statistics.stale;
    return;
  }
  ++channel_.statistics.lost_results;
  if (!slot.misses_since) {
    slot.misses_since = now; // the result may still be on its way
  } else if (elapsed_ns(now, *slot.misses_since) >= channel_.parameters.retry_ns) {
    fail({.reason = Failure::Reason::result_lost,
          .one = {.rank = channel_.parameters.rank},
          .other = {.rank = frame.rank}},
         now);
  }
}

bool Root::includes_all(const wire::ReductionFrame& frame, PieceNumber piece, CallMark mark) const {
  const GroupParameters& group = channel_.parameters;
  return frame.word.count == group.size &&
         (!group.checks() ||
          all_members_.includes_all(frame.signature, piece, mark, group.size - 1));
}

/// Whether it has the shape of the owner's piece, or is the report that members do not agree.
bool Root::has_its_shape(const Slot& slot, const wire::ReductionFrame& frame,
                         const WideView& vector) {
  if (frame.word.rc == static_cast<std::uint8_t>(wire::ResultCode::op_mismatch)) {
    return !vector.is_wide();
  }
  return vector.form == slot.vector.form &&
         (!vector.is_wide() || vector.payload.size() == slot.vector.payload_bytes);
}

void Root::finish_in_switch(const wire::ReductionFrame& frame, Slot& slot, TimeNs now,
                            const WideView& vector) {
  const wire::ReductionWord& word = frame.word;
  slot.last_vector = {};
  if (vector.is_wide()) {
    std::byte* const result = vectors_.result(channel_.place_of(frame.reduction));
    const auto bytes = static_cast<std::uint32_t>(vector.payload.size());
    channel_.outbox.drop(frame.reduction, result); // frames of the last result, which every member
                                                   // has
    std::memcpy(result, vector.payload.data(), bytes);
    if (slot.vector.out != nullptr) {
      std::memcpy(slot.vector.out, result, std::min(slot.vector.bytes, bytes));
    }
    slot.last_vector = {.op = word.opcode(),
                        .form = vector.form,
                        .in = result,
                        .out = nullptr,
                        .bytes = bytes,
                        .payload_bytes = bytes};
  }
  if (phase_ == Phase::active) {
    Statistics& statistics = channel_.statistics;
    ++statistics.in_switch;
    ++statistics.full;
    ++statistics.won_on_first;
    ++statistics.reduction_frames;
  }
  end_piece(slot,
            {.piece = slot.piece,
             .payload = frame.payload,
             .op = word.opcode(),
             .rc = static_cast<wire::ResultCode>(word.rc),
             .m = word.m,
             .overflow_id = word.overflow_id,
             .count = word.count,
             .frames = 1,
             .largest_frame = word.count},
            word.resno, now);
  // If it is not newer the root has asked meanwhile, and the switch answers with a newer one.
  follow(slot, is_newer(word.seqno, slot.sequence) ? word.seqno : slot.sequence, now);
  leave_further(now);
}

/// The root or the switch has opened the sequence, and nothing has arrived for it.
void Root::follow(Slot& slot, SequenceNumber sequence, TimeNs now) const {
  slot.sequence = sequence;
  slot.armed_at = now;
  slot.gathered = {};
  slot.own_counted = false;
  slot.calls_roll = false;
}

void Root::refuse(ReductionId id, Slot& slot, SequenceNumber resno, TimeNs now) {
  slot.refused_result = resno;
  ++slot.refused;
  ++channel_.statistics.refused;
  release_kept(id, resno);
  if (slot.refused > immediate_retries) {
    return; // left to the retry timer
  }
  ask_after_refusal(id, slot, now);
}

void Root::release_kept(ReductionId id, SequenceNumber resno) {
  channel_.send_on_all(
      id, {.seqno = pre_arm_sequence, .arm = true, .resno = resno, .pad = wire::pad_retry},
      wire::Payload{});
}

} // namespace tributary::collective
