// The checks of frames that only trees with wide frames have: wide ones, and those of 84 bytes with
// an id above 7. The second half of decide.hpp, which includes it.
//
// In this order:
//
//   1  no such tree, or not on it      as for any multicast
//   2  a tree without reductions       copied, or refused, as any multicast
//   3  a tree of eight ids             ignores the upper bits of the id
//   4  shape, length, id               bad_length, bad_form, bad_reduction_id, ... (`refusal_on`)
//   5  84 bytes                        as with any other id
//   6  from the parent                 as for 84 bytes: arms, disarms, copied whatever it carries
//   7  from a child                    the checks of engine.hpp, with a vector as the operand:
//
//        no data is held               start; the slot is the tree's own
//        opcode, form and length are   added; or, if it fills the count, combined in the frame,
//        those of the held data        which leaves with its own length
//        otherwise                     a report, 84 bytes long when it leaves
//
// A wide frame cannot carry a report itself. One whose code is that of a report counts as a
// mismatch, even if it is the first.
//
// Members of `Effects` for it:
//
//   finish(operand, entry)    the last vector: the payload becomes the result's
//   emit(operand)             the same, when there is nothing to add
#pragma once

#include "dataplane/core/decide.hpp"
#include "dataplane/core/wide_engine.hpp"

namespace tributary::core {

/// The operand of a wide frame that is valid on its tree.
class Vector : public Fields {
public:
  Vector(const FrameView& frame, ReductionKey key)
      : Fields(frame, key), shape_(WideShape::of(portals())) {}

  [[nodiscard]] WideShape shape() const { return shape_; }
  [[nodiscard]] bool is_known() const { return core::is_known(word().op, shape_.form()); }
  /// Requires that it is known.
  [[nodiscard]] bool fits(const Tables& tables) const {
    return core::fits(word().opcode(), shape_, tables.slot_place(key().tree()));
  }
  /// One more vector that does not fill the count. Shape and length were valid with the first one.
  [[nodiscard]] bool continues(const Descriptor& d, const MulticastEntry& entry) const {
    return d.match == carried().wide() && adds_to(d) && count() != 0 &&
           !entry.is_full(d.accumulator.contributions + count());
  }
  /// The first vector needs a slot: `take`.
  [[nodiscard]] static bool begins(const Descriptor& /*d*/) { return false; }
  template <typename Effects>
  [[gnu::always_inline]] ContributionCount combine(Effects effects,
                                                   const MulticastEntry& entry) const {
    return effects.combine(*this, entry);
  }
  template <typename Effects>
  static ContributionCount start(Effects /*effects*/, const MulticastEntry& /*entry*/) {
    return 0;
  }

  /// The first vector, the last one, and one that makes a report.
  template <typename Effects>
  PackedDecision take(Effects effects, const MulticastEntry& entry) const {
    const Descriptor& d = descriptor(effects);
    const bool first = !d.match.has_data();
    const bool matches = first ? !reports() : adds_to(d);
    if (!matches) {
      return absorbed_or_completed(effects, frame(), key(), entry, effects.mismatch(*this, entry));
    }
    const ContributionCount total = d.accumulator.contributions + count();
    const bool full = entry.is_full(total);
    if (full && entry.in_switch && lacks_root(effects, key(), entry)) [[unlikely]] {
      return drop_full(effects, key(), entry, total, false);
    }
    if (first) {
      effects.start(*this, entry);
    } else {
      effects.finish(*this, entry);
    }
    if (!full) {
      return absorbed();
    }
    if (first) {
      effects.emit(*this);
    }
    return complete<true>(effects, frame(), key(), entry, total, shape_.frame_bytes());
  }

private:
  /// Its code is that of a report, which a vector cannot be.
  [[nodiscard]] bool reports() const { return code() >= wire::ResultCode::op_mismatch; }
  [[nodiscard]] bool adds_to(const Descriptor& d) const {
    return !reports() && can_be_added(d, shape_, word().op);
  }

  WideShape shape_;
};

/// A frame of either form, on a tree with reductions on which it is valid.
template <typename Effects>
PackedDecision reduce_apart(Effects effects, PortNumber in, const FrameView& frame,
                            ReductionKey key, const MulticastEntry& entry, bool guarded,
                            TimeNs now) {
  const bool upwards = entry.children.contains(in);
  effects.on_reduction(key, entry, upwards ? Direction::up : Direction::down);
  if (!upwards) {
    return downward(effects, frame, key, entry, now);
  }
  const bool one_endpoint = entry.has_one_endpoint(guarded);
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  return wire::total_length_of(p) == wire::reduction_packet_bytes
             ? contribution<FourWords>(effects, in, frame, key, entry, one_endpoint)
             : contribution<Vector>(effects, in, frame, key, entry, one_endpoint);
}

/// `key` as in the frame.
template <typename Effects>
[[gnu::noinline]] PackedDecision decide_wide(Effects effects, PortNumber in, const FrameView& frame,
                                             ReductionKey key, bool guarded, TimeNs now) {
  const TreeNumber tree = key.tree();
  const MulticastEntry& entry = effects.tables().tree(tree);
  if (entry.parent != in && !entry.children.contains(in)) { // also if the tree does not exist
    return refuse_multicast(effects, in, frame, key);
  }
  if (entry.wait_count == 0) {
    if (entry.parent != in) {
      return refuse_multicast(effects, in, frame, key);
    }
    return copied(effects, frame, key, entry);
  }
  key = entry.key_of(key);
  if (refusal_on(entry, frame, effects.tables().slot_place(tree))) {
    return refuse_multicast(effects, in, frame, key);
  }
  return reduce_apart(effects, in, frame, key, entry, guarded, now);
}

} // namespace tributary::core

#include "dataplane/core/in_switch_decide.hpp" // trees with in-switch results
