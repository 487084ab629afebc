// In-switch results: what the switch next to a root does for a tree whose `in_switch` is set. A
// part of decide.hpp, which includes it by wide_decide.hpp.
//
// Without them the top switch sends its partial aggregate to the root, the root adds its own
// contribution, and sends the result back by the same link. Here the root sends its contribution
// like any other host, the switch adds it, and multicasts the result to all members: two passes of
// a link and one wake-up of a host less. The root still arms, asks again, answers and ends; it only
// does not add. The wait count is the size of the group.
//
// FROM A CHILD nothing differs, except that the frame which fills the count becomes this:
//
//   bytes   content
//   0-49    those of the last arm: the root's addresses and rank; total length, request length,
//           form and checksum are the result's, and the remote offset is the sum of the signatures
//   50-53   cookie
//   54-61   word: next sequence, arm 1, opcode, count, result of = the sequence, code, M, id, pad 0
//   62-     operands
//
// That is the frame which a root would have sent, but for the signatures, by which every member
// verifies that the result includes all contributions. It leaves by all child ports and by the
// parent port, in the class of the last arm, and arms the descriptor of this switch as well: for
// the next sequence, s + 1 modulo 1022. The result is kept until the id's next one.
//
// A full count without the root's own contribution is wrong: some host was counted twice. All of it
// is dropped (`discarded`), and the descriptor stays armed. So the kept result is only replaced by
// a result that the root has contributed to, which it does when it has the previous one.
//
// FROM THE PARENT, in this order:
//
//   1  arm 0, count > 0, resno = seqno     the root's contribution. It is never copied down.
//        more than one                     dropped                            counts_others
//        the root has contributed          dropped                            counted_twice
//        older than the armed one          dropped                            stale_sequence
//        not armed, another group, newer,  dropped: those from children pass  not_in_switch
//        or a reserved opcode              up, and the root adds them itself
//        otherwise                         reduced                            contributed,
//                                                                             completed_in_switch
//   2  arm 1, seqno 1022                   the root refuses the result named  kept_released
//                                          by resno, or does not know it:
//                                          it is released. The frame ends
//                                          here
//   3  seqno 1022                          a notice: as on other trees
//   4  of the group of the kept result,    the root has missed it. The frame  replayed
//      and its resno is older, or 1023     ends here, and the kept result
//                                          goes to all again, retry set
//   5  otherwise                           as on other trees; where resno is  armed, ...
//                                          newer than the kept result the
//                                          root has made one itself, and
//                                          nothing is kept any more
//
// A replay opens a new sequence, one after the newer of the armed one and the root's: the leaves
// may have contributed to the one that the result opened at first, and engines that are armed twice
// for one sequence drop their data. It replaces the frame that asked for it if that is long enough,
// and otherwise leaves at the next timer check (`replay` returns which).
//
// TIMERS. The descriptor's timer continues when a result arms it; when it expires it is restarted
// instead, if such a result came since it was started. So it ends between one and two periods after
// the last arm. Data held then is dropped and counted (`discarded`), and also when the tree is
// removed: it may include the root's own contribution, which no host could detect.
//
// Members of `Effects` for it:
//
//   in_switch()                                    the records
//   counted_now(key)                               the ports counted, including that of this frame
//   drop_full(key, entry, total, taken)            drops a full count without the root
//   make_in_switch_result(key, entry, too_many, frame, bytes)   the frame becomes the result
//   keep_arm(key, frame), forget_kept(key)
//   replay(key, entry, frame, opens, now)          true: the frame is the kept result now
#pragma once

#include "dataplane/core/decide.hpp"

namespace tributary::core {

/// By all ports of the tree that are up.
template <typename Effects>
PackedDecision to_all_members(Effects effects, ReductionKey key, const MulticastEntry& entry,
                              Event event, std::size_t bytes) {
  PortSet ports = entry.children;
  ports.insert(entry.parent);
  if ((ports.bits() & ~effects.up().bits()) != 0) {
    ports = without_those_down(effects, ports);
  }
  return result_replicated(ports, entry.parent, event, static_cast<std::uint16_t>(bytes),
                           effects.in_switch()[key].arm_class.value);
}

/// Whether the root has not contributed: a full count is then wrong.
template <typename Effects>
bool lacks_root(Effects effects, ReductionKey key, const MulticastEntry& entry) {
  return !effects.counted_now(key).contains(entry.parent);
}

/// Drops a full count that is wrong. `taken`: the frame that filled it has been combined.
template <typename Effects>
[[gnu::noinline]] PackedDecision drop_full(Effects effects, ReductionKey key,
                                           const MulticastEntry& entry, ContributionCount total,
                                           bool taken) {
  effects.drop_full(key, entry, total, taken);
  return absorbed();
}

/// The frame with the last contribution becomes the result, of `bytes` bytes; for a vector, its
/// payload is there already.
template <typename Effects>
[[gnu::noinline]] PackedDecision complete_in_switch(Effects effects, const FrameView& frame,
                                                    ReductionKey key, const MulticastEntry& entry,
                                                    ContributionCount total, std::size_t bytes) {
  effects.make_in_switch_result(key, entry, total > entry.wait_count, frame.data, bytes);
  return to_all_members(effects, key, entry, Event::completed_in_switch, bytes);
}

/// A contribution of the root, the only host behind the parent port, that has not joined.
template <typename Operand, typename Effects>
PackedDecision upward_of_root(Effects effects, const Operand& operand,
                              const MulticastEntry& entry) {
  const PortNumber in = entry.parent;
  const ReductionKey key = operand.key();
  effects.on_one_endpoint();
  if (operand.count() > 1) {
    return drop(effects, in, DropReason::counts_others);
  }
  if (effects.engines().has_counted(key, operand.carried(), in)) {
    return drop(effects, in, DropReason::counted_twice);
  }
  const MatchResult match_result = effects.engines().match_result(key, operand.carried());
  if (match_result == MatchResult::older) {
    effects.count(key.tree(), &TreeCounters::stale);
    return drop(effects, in, DropReason::stale_sequence);
  }
  if (match_result != MatchResult::match || !operand.is_known() ||
      !operand.fits(effects.tables())) {
    return drop(effects, in, DropReason::not_in_switch);
  }
  return take_counted(effects, operand, in, entry, true);
}

/// The kept result for a root that missed it.
template <typename Effects>
PackedDecision replay_kept(Effects effects, const FrameView& frame, ReductionKey key,
                           const MulticastEntry& entry, MatchWord carried, TimeNs now) {
  SequenceNumber newest = carried.sequence();
  const MatchWord armed = effects.engines().descriptor(key).match;
  if (armed.armed() && armed.same_group(carried) && armed.sequence().newer_than(newest)) {
    newest = armed.sequence();
  }
  const std::size_t bytes = effects.in_switch()[key].kept_bytes;
  return effects.replay(key, entry, frame, in_switch_successor(newest), now)
             ? to_all_members(effects, key, entry, Event::replayed, bytes)
             : taken(Event::replayed);
}

/// A frame from the parent.
template <typename Effects>
[[gnu::noinline]] PackedDecision downward_in_switch(Effects effects, const Fields& fields,
                                                    const MulticastEntry& entry, TimeNs now) {
  const FrameView& frame = fields.frame();
  const ReductionKey key = fields.key();
  const wire::ReductionWord& word = fields.word();
  const MatchWord carried = fields.carried();
  if (!word.arm && word.count > 0 && word.resno == word.seqno) {
    return wire::total_length_of(fields.portals()) == wire::reduction_packet_bytes
               ? contribution<FourWords>(effects, entry.parent, frame, key, entry, true)
               : contribution<Vector>(effects, entry.parent, frame, key, entry, true);
  }
  const InSwitchRecord& record = effects.in_switch()[key];
  const bool is_control = word.seqno == pre_arm_sequence;
  if (is_control && word.arm) {
    if (record.keeps_one_of(carried) && record.kept_result() == word.resno) {
      effects.forget_kept(key);
    }
    return taken(Event::kept_released);
  }
  if (!is_control && record.is_missed_by(carried, word.resno)) {
    return replay_kept(effects, frame, key, entry, carried, now);
  }
  if (!is_control && record.keeps_one_of(carried) && word.resno != record.kept_result()) {
    effects.forget_kept(key);
  }
  if (word.arm) {
    effects.keep_arm(key, frame);
  }
  return armed_or_disarmed(effects, frame, key, entry, carried, word.arm, now);
}

} // namespace tributary::core
