// The root: what each reduction waits for, and which members.
#include "endpoint/collective/root.hpp"

namespace tributary::collective {

Status Root::status() const {
  Status status(channel_.parameters.slots);
  for (std::size_t i = 0; i < status.size(); ++i) {
    const Slot& slot = slots_[i];
    ReductionStatus& entry = status[i];
    entry.id = channel_.id_at(i);
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
    } else if (channel_.completions.holds(i)) {
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
      (all_members_.expected(slot.piece, slot.mark) - gathered.signatures) & wire::signature_mask;
  for (std::uint32_t rank = 0; rank < group.size; ++rank) {
    const std::uint64_t own = signature_of_piece(signature_base(group.cookie, rank), slot.piece);
    if (own == missing || ((own + slot.mark) & wire::signature_mask) == missing) {
      return rank;
    }
  }
  return std::nullopt;
}

} // namespace tributary::collective
