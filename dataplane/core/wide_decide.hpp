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
//   start_wide(key, entry, carried, frame, packed, shape, place)   the first contribution
//   add_wide(key, entry, frame, packed)
//   finish_wide(key, entry, frame, packed)           the payload becomes the result's
//   emit_wide(key, frame)                            the same, when there is nothing to add
//   mismatch_wide(key, entry, carried, frame, packed)
//   complete_wide(key, entry, too_many, frame)       the rest of the result
//   taken_wide(key, entry, packed)                   how many contributions there will be
#pragma once

#include "dataplane/core/decide.hpp"
#include "dataplane/core/wide_engine.hpp"

namespace tributary::core {

/// The operand of a wide frame that is valid on its tree.
struct Vector {
  WideShape shape;
  const SlotPlace& place;

  [[nodiscard]] bool is_known(std::uint8_t op) const { return core::is_known(op, shape.form()); }
  [[nodiscard]] bool fits(std::uint8_t known_op) const {
    return core::fits(static_cast<wire::Opcode>(known_op), shape, place);
  }

  template <typename Effects>
  PackedDecision take(Effects effects, const FrameView& frame, ReductionKey key,
                      const MulticastEntry& entry, MatchWord carried, std::uint64_t packed) const {
    const Descriptor& d = effects.engines().descriptor(key);
    const wire::ReductionWord word = wire::unpack(packed);
    const bool first = !d.match.has_data();
    const bool reports = word.rc >= static_cast<std::uint8_t>(wire::ResultCode::op_mismatch);
    const bool matches = !reports && (first || can_be_added(d, shape, word.op));
    const ContributionCount total = effects.taken_wide(key, entry, packed);
    const bool full = total >= entry.wait_count;
    if (!matches) {
      effects.mismatch_wide(key, entry, carried, frame, packed);
      return full ? complete(effects, frame, key, entry, total) : absorbed();
    }
    if (full && entry.in_switch && lacks_root(effects, key, entry)) [[unlikely]] {
      return drop_full(effects, key, entry, total, false);
    }
    if (first) {
      effects.start_wide(key, entry, carried, frame, packed, shape, place);
    } else if (full) {
      effects.finish_wide(key, entry, frame, packed);
    } else {
      effects.add_wide(key, entry, frame, packed);
    }
    if (!full) {
      return absorbed();
    }
    if (first) {
      effects.emit_wide(key, frame);
    }
    if (entry.in_switch) [[unlikely]] {
      return complete_in_switch(effects, frame, key, entry, total, shape.frame_bytes());
    }
    effects.complete_wide(key, entry, total > entry.wait_count, frame.data);
    if (!effects.up().contains(entry.parent)) [[unlikely]] {
      return drop(effects, entry.parent, DropReason::port_down);
    }
    return emitted(entry.parent, Event::completed_full,
                   static_cast<std::uint16_t>(shape.frame_bytes()), frame.traffic_class);
  }
};

/// A frame of either form, on a tree with reductions on which it is valid.
template <typename Effects>
PackedDecision reduce_apart(Effects effects, PortNumber in, const FrameView& frame,
                            ReductionKey key, const MulticastEntry& entry, bool guarded,
                            PortSet from, TimeNs now) {
  const bool upwards = entry.children.contains(in);
  effects.on_reduction(key, entry, upwards ? Direction::up : Direction::down);
  if (!upwards) {
    return downward(effects, frame, key, entry, now);
  }
  const bool one_endpoint = guarded | entry.one_behind_each;
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  if (wire::total_length_of(p) != wire::reduction_packet_bytes) {
    return upward(effects, Vector{WideShape::of(p), effects.tables().slot_place(key.tree())}, in,
                  frame, key, entry, one_endpoint);
  }
  PackedDecision decision;
  return combined(effects, frame, key, entry, one_endpoint, from, decision)
             ? decision
             : upward(effects, FourWords(), in, frame, key, entry, one_endpoint);
}

/// The common case, as `combined` for the other form: one more vector that does not fill the count.
/// Shape and length were valid with the first one, so they are not checked again.
template <typename Effects>
[[gnu::always_inline]] inline bool added(Effects effects, PortNumber in, const FrameView& frame,
                                         ReductionKey key, const MulticastEntry& entry,
                                         bool guarded) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  const Descriptor& d = effects.engines().descriptor(key);
  if (d.match != match_word_of(p, packed).wide() || !can_be_added(d, WideShape::of(p), word.op) ||
      word.count == 0 || word.rc >= static_cast<std::uint8_t>(wire::ResultCode::op_mismatch) ||
      word.arm || d.accumulator.contributions + word.count >= entry.wait_count) {
    return false;
  }
  const bool one_endpoint = guarded | entry.one_behind_each;
  PortSet counted = effects.engines().counted(key).ports;
  if (one_endpoint && (word.count != 1 || counted.contains(in))) {
    return false;
  }
  effects.on_reduction(key, entry, Direction::up);
  if (one_endpoint) {
    effects.on_one_endpoint();
    counted.insert(in);
    effects.count_port(key, counted);
  }
  static_cast<void>(effects.taken_wide(key, entry, packed));
  effects.add_wide(key, entry, frame, packed);
  return true;
}

/// Requires the tree's own entry. `key` as in the frame.
template <typename Effects>
[[gnu::noinline]] PackedDecision decide_wide_on(Effects effects, PortNumber in,
                                                const FrameView& frame, ReductionKey key,
                                                const MulticastEntry& entry, bool guarded,
                                                PortSet from, TimeNs now) {
  const TreeNumber tree = key.tree();
  if (entry.parent != in && !entry.children.contains(in)) { // also if the tree does not exist
    return refuse_multicast(effects, in, frame, key);
  }
  if (entry.wait_count == 0) {
    if (entry.parent != in) {
      return refuse_multicast(effects, in, frame, key);
    }
    effects.on_tree(key, entry);
    effects.on_direction(Direction::down);
    return replicate(effects, frame, entry.children, Event::multicast);
  }
  key = entry.key_of(key);
  if (refusal_on(entry, frame, effects.tables().slot_place(tree))) {
    return refuse_multicast(effects, in, frame, key);
  }
  return reduce_apart(effects, in, frame, key, entry, guarded, from, now);
}

template <typename Effects>
[[gnu::noinline]] PackedDecision decide_wide(Effects effects, PortNumber in, const FrameView& frame,
                                             Classified what, bool guarded, PortSet from,
                                             TimeNs now) {
  const MulticastEntry& entry = effects.tables().tree(what.key().tree());
  if (entry.has_place() && entry.children.contains(in) &&
      added(effects, in, frame, entry.key_of(what.key()), entry, guarded)) {
    return absorbed();
  }
  return decide_wide_on(effects, in, frame, what.key(), entry, guarded, from, now);
}

} // namespace tributary::core

#include "dataplane/core/in_switch_decide.hpp" // trees with in-switch results
