// The root: combines what arrives up a tree, and completes when every member was counted once.
#include "endpoint/collective/root.hpp"

#include "endpoint/collective/wide_kernel_table.hpp"
#include "tributary/reduce/reducer.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::collective {

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

/// Where the frame or the gathered result is a vector.
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
    held.rc = wire::worse(
        held.rc, kernel().begin(vectors_.gathered(channel_.place_of(id), tree), vector.payload));
  } else if (held.rc != wire::ResultCode::op_mismatch && vector.form == gathered.form &&
             vector.payload.size() == gathered.payload_bytes && operand.op == held.op) {
    held.rc =
        wire::worse(wire::worse(held.rc, operand.rc),
                    kernel().add(vectors_.gathered(channel_.place_of(id), tree), vector.payload));
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
  // Before the root's operand is in, nothing can be complete; a duplicate shows then.
  if (!slot.in_progress || slot.gathered[tree].count < channel_.parameters.size) {
    return;
  }
  if (counts_all_once(slot.gathered[tree], slot)) {
    finish(id, slot, tree, now);
    return;
  }
  ++slot.refused;
  ++channel_.statistics.double_counted;
  if (slot.refused > immediate_retries || is_any_tree_short(slot)) {
    return;
  }
  ask_after_refusal(id, slot, now);
}

bool Root::counts_all_once(const Gathered& gathered, const Slot& slot) const {
  const GroupParameters& group = channel_.parameters;
  if (gathered.count != group.size) {
    return false;
  }
  return !group.checks() ||
         all_members_.includes_all(gathered.signatures, slot.piece, slot.mark, group.size - 1);
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
  slot.bare = false;
  slot.last_result = {};
  slot.last_result.op = static_cast<std::uint8_t>(completion.op);
  slot.last_result.count = completion.count;
  slot.last_result.resno = resno;
  slot.last_result.rc = static_cast<std::uint8_t>(completion.rc);
  slot.last_result.m = completion.m;
  slot.last_result.overflow_id = completion.overflow_id;
  slot.last_payload = completion.payload;
  slot.in_progress = false;
  // Only with in-switch results does a frame of the root point to its owner's memory.
  channel_.end(slot.piece, is_in_switch() ? slot.vector : WideOperand{}, now);
  if (roll_call_.is_about(slot.piece)) {
    roll_call_.end();
  }
  if (phase_ == Phase::active) {
    channel_.complete(completion);
  }
}

void Root::forget_in_flight(TimeNs now) {
  for (Slot& slot : slots_) {
    if (slot.in_progress && is_in_switch()) {
      channel_.end(slot.piece, slot.vector, now);
    }
    slot.in_progress = false;
  }
}

wire::ResultCode Root::keep_vector(ReductionId id, Slot& slot, TreeIndex winner) {
  const Gathered& complete = slot.gathered[winner];
  const reduce::Accumulator& held = complete.accumulator;
  std::byte* const result = vectors_.result(channel_.place_of(id));
  channel_.outbox.drop(id, result); // frames of the last result, which every member has
  const wire::ResultCode rc =
      wide_kernel(held.op, complete.form, channel_.parameters.nan_mode)
          .emit(vectors_.gathered(channel_.place_of(id), winner), {result, complete.payload_bytes});
  // Others may have called with another length: then the signatures would have shown it.
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

} // namespace tributary::collective
