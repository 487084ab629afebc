// What a frame is checked for, and what becomes of it: written once, for the core and for
// `explain`.
//
//     decide(effects, tables, in, frame, what, guarded, from, counts, now)   a PackedDecision
//
// Deciding and doing are separated by `Effects`, a small value that knows the core:
//
//   SwitchCore's own (applied.hpp)         carries out what follows from the answers; the
//                                          notifications are empty functions there, and
//                                          generate no instruction
//   DryRun (explain.cpp)                   changes nothing, and makes a sentence of each step
//
// So there is only one decision tree, and a mistake in it shows in both. Members of `Effects`:
//
//   queries          up(), stuck(class), any_stuck(), carrying(), settings(), engines(), tables():
//                    the current state
//   actions          count_drop(port, reason), count_left_out(ports), count_foreign(port)
//                    count(tree, a counter of TreeCounters)
//                    arm(key, entry, carried, now), disarm(key, entry, carried): the Event
//                    count_port(key, ports), count_passing(key, carried, in)
//                    spray(): another number for each frame
//                    combine, combine_mismatched, start: how many contributions there are then
//                    complete(key, entry, too_many, frame)
//                    the same for vectors: wide_decide.hpp; for trees with in-switch results:
//                    in_switch_decide.hpp
//   notifications    on_tree, on_direction, on_reduction, on_one_endpoint, on_port_down, on_place,
//                    on_routed, on_foreign_vc, on_uncarried
//
// It is passed by value: as a pointer to the core it then travels in a register, and functions
// outside the core cost the same as its members. Rare cases are in such functions, out of the way
// of the contribution that finds its descriptor armed.
//
// Included by applied.hpp, its users, and explain.cpp only.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "dataplane/core/unicast.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::core {

enum class Direction : std::uint8_t { up, down };

inline std::uint64_t packed_word_of(const std::byte* portals) {
  return wire::load_be<std::uint64_t>(portals + wire::reduction_offset::word);
}
inline MatchWord match_word_of(const std::byte* portals, std::uint64_t packed) {
  return {wire::cookie_of(portals), wire::vni_of(portals), packed};
}

/// `at`: the ingress port; with `port_down`, the port it would have left by.
template <typename Effects> PackedDecision drop(Effects effects, PortNumber at, DropReason reason) {
  effects.count_drop(at, reason);
  return dropped(reason);
}

template <typename Effects>
[[gnu::always_inline]] inline PackedDecision forward(Effects effects, const FrameView& frame,
                                                     PortNumber port, Event event) {
  if (!effects.up().contains(port)) [[unlikely]] {
    effects.on_port_down(port, event);
    return drop(effects, port, DropReason::port_down);
  }
  return forwarded(port, event, frame.traffic_class);
}

template <typename Effects>
[[gnu::cold]] PortSet without_those_down(Effects effects, PortSet ports) {
  effects.count_left_out(PortSet(ports.bits() & ~effects.up().bits()));
  return PortSet(ports.bits() & effects.up().bits());
}

/// Out of those ports that are up, possibly none.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision replicate(Effects effects, const FrameView& frame,
                                                       PortSet ports, Event event) {
  if ((ports.bits() & ~effects.up().bits()) != 0) [[unlikely]] {
    ports = without_those_down(effects, ports);
  }
  return replicated(ports, event, frame.traffic_class);
}

template <typename Effects> // in_switch_decide.hpp
PackedDecision complete_in_switch(Effects effects, const FrameView& frame, ReductionKey key,
                                  const MulticastEntry& entry, ContributionCount total,
                                  std::size_t bytes);
template <typename Effects>
bool lacks_root(Effects effects, ReductionKey key, const MulticastEntry& entry);
template <typename Effects>
PackedDecision drop_full(Effects effects, ReductionKey key, const MulticastEntry& entry,
                         ContributionCount total, bool taken);
template <typename Effects>
PackedDecision downward_in_switch(Effects effects, const FrameView& frame, ReductionKey key,
                                  const MulticastEntry& entry, TimeNs now);

/// The frame with the last contribution carries the result. Inlined with all that it calls: with
/// short reductions it is one frame of three.
template <typename Effects>
[[gnu::noinline, gnu::flatten]] PackedDecision
complete(Effects effects, const FrameView& frame, ReductionKey key, const MulticastEntry& entry,
         ContributionCount total) {
  if (entry.in_switch) [[unlikely]] {
    return lacks_root(effects, key, entry)
               ? drop_full(effects, key, entry, total, true)
               : complete_in_switch(effects, frame, key, entry, total, wire::reduction_frame_bytes);
  }
  effects.complete(key, entry, total > entry.wait_count, frame.data);
  if (!effects.up().contains(entry.parent)) [[unlikely]] {
    return drop(effects, entry.parent, DropReason::port_down);
  }
  return emitted(entry.parent, Event::completed_full, wire::reduction_frame_bytes,
                 frame.traffic_class);
}

/// The common case only: a contribution to a reduction that already holds data, of the same opcode.
/// All other cases make the match word differ: a tree without reductions is never armed, and an arm
/// carries its bit. `one_endpoint`: whether exactly one endpoint is behind the port, the only one
/// in `from`. `upward` handles the rest; nothing has changed by then.
template <typename Effects, typename Counts>
[[gnu::always_inline]] inline bool
combined(Effects effects, const FrameView& frame, ReductionKey key, const MulticastEntry& entry,
         bool one_endpoint, PortSet from, Counts& counts, PackedDecision& decision) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  const Descriptor& d = effects.engines().descriptor(key);
  if (d.match != match_word_of(p, packed) || d.accumulator.op != word.opcode() || word.count == 0)
      [[unlikely]] {
    return false;
  }
  if (one_endpoint) {
    const PortSet counted = effects.engines().counted(key).ports;
    if (word.count != 1 || (counted.bits() & from.bits()) != 0) [[unlikely]] {
      return false;
    }
    effects.on_one_endpoint();
    effects.count_port(key, PortSet(counted.bits() | from.bits()));
  }
  decision = absorbed();
  const ContributionCount total = effects.combine(key, entry, p, packed, counts);
  if (total >= entry.wait_count) [[unlikely]] {
    decision = complete(effects, frame, key, entry, total);
  }
  return true;
}

/// Contributions that do not belong to the armed reduction.
template <typename Effects>
[[gnu::noinline]] PackedDecision pass(Effects effects, PortNumber in, const FrameView& frame,
                                      ReductionKey key, const MulticastEntry& entry,
                                      MatchResult match_result) {
  Event event = Event::passed_not_armed;
  switch (match_result) {
  case MatchResult::older:
    effects.count(key.tree(), &TreeCounters::stale);
    return drop(effects, in, DropReason::stale_sequence);
  case MatchResult::late:
    effects.count(key.tree(), &TreeCounters::late);
    return forward(effects, frame, entry.parent, Event::passed_late);
  case MatchResult::foreign:
    if (effects.settings().drop_foreign) {
      return drop(effects, in, DropReason::foreign_cookie);
    }
    event = Event::passed_foreign;
    break;
  case MatchResult::newer: event = Event::passed_newer; break;
  case MatchResult::match:
  case MatchResult::not_armed: break;
  }
  effects.count(key.tree(), &TreeCounters::passed_through);
  return forward(effects, frame, entry.parent, event);
}

/// The operand of a frame of 84 bytes; wide_decide.hpp has that of a wide one.
struct FourWords {
  /// Whether the operation exists. Other frames are not contributions, and pass through.
  [[nodiscard]] static bool is_known(std::uint8_t op) { return wire::is_supported(op); }
  /// Whether this switch can reduce it. Otherwise it passes through.
  [[nodiscard]] static bool fits(std::uint8_t /*known_op*/) { return true; }
  /// It belongs to the armed reduction.
  template <typename Effects>
  static PackedDecision take(Effects effects, const FrameView& frame, ReductionKey key,
                             const MulticastEntry& entry, MatchWord carried, std::uint64_t packed) {
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    const ContributionCount total =
        effects.engines().descriptor(key).match.has_data()
            ? effects.combine_mismatched(key, entry, p, packed) // otherwise it would not be here
            : effects.start(key, entry, carried, frame, packed);
    return total >= entry.wait_count ? complete(effects, frame, key, entry, total) : absorbed();
  }
};

/// All frames from a child port that `combined` and `begun` do not handle. `one_endpoint`: whether
/// exactly one endpoint is behind it.
template <typename Effects, typename Operand>
[[gnu::noinline]] PackedDecision upward(Effects effects, Operand operand, PortNumber in,
                                        const FrameView& frame, ReductionKey key,
                                        const MulticastEntry& entry, bool one_endpoint) {
  if (entry.wait_count == 0) {
    return drop(effects, in, DropReason::not_from_parent);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  if (word.arm) {
    return drop(effects, in, DropReason::arm_from_child);
  }
  if (word.count == 0) {
    return word.retry() ? forward(effects, frame, entry.parent, Event::passed_empty)
                        : drop(effects, in, DropReason::result_from_child);
  }
  if (one_endpoint) {
    effects.on_one_endpoint();
  }
  if (one_endpoint && word.count > 1) {
    return drop(effects, in, DropReason::counts_others);
  }
  const MatchWord carried = match_word_of(p, packed);
  // A reserved opcode is not a contribution, so it is not counted. A contribution that only this
  // switch cannot reduce is counted: it counts at the root.
  const bool counts_once = one_endpoint && operand.is_known(word.op);
  if (counts_once && effects.engines().has_counted(key, carried, in)) {
    return drop(effects, in, DropReason::counted_twice);
  }
  const Descriptor& d = effects.engines().descriptor(key);
  if (d.match != carried.waiting()) {
    MatchResult match_result = effects.engines().match_result(key, carried);
    if (match_result != MatchResult::match) {
      if (counts_once && match_result != MatchResult::foreign) {
        switch (effects.engines().match_with_opened(key, carried)) {
        case MatchResult::older: match_result = MatchResult::older; break;
        case MatchResult::newer:
        case MatchResult::foreign: return drop(effects, in, DropReason::not_opened);
        default: break;
        }
      }
      const PackedDecision decision = pass(effects, in, frame, key, entry, match_result);
      if (counts_once && decision.action() == Action::forward) {
        effects.count_passing(key, carried, in);
      }
      return decision;
    }
  }
  const bool known = operand.is_known(word.op);
  if (!known || !operand.fits(word.op)) {
    effects.count(key.tree(), &TreeCounters::passed_through);
    const PackedDecision decision = forward(effects, frame, entry.parent, Event::passed_reserved);
    if (counts_once && decision.action() == Action::forward) {
      effects.count_passing(key, carried, in);
    }
    return decision;
  }
  if (one_endpoint) {
    PortSet counted = effects.engines().counted(key).ports;
    counted.insert(in);
    effects.count_port(key, counted);
  }
  return operand.take(effects, frame, key, entry, carried, packed);
}

/// The common case of what `combined` does not handle: the first contribution to an armed
/// reduction. It checks only that, so that it needs few registers; `upward` handles the rest. An
/// arm must be checked for, as its bit is not in what a waiting descriptor is compared with.
template <typename Effects>
[[gnu::noinline]] PackedDecision begun(Effects effects, PortNumber in, const FrameView& frame,
                                       ReductionKey key, const MulticastEntry& entry,
                                       bool one_endpoint) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  const MatchWord carried = match_word_of(p, packed);
  if (effects.engines().descriptor(key).match != carried.waiting() || word.arm || word.count == 0 ||
      !wire::is_supported(word.op)) {
    return upward(effects, FourWords(), in, frame, key, entry, one_endpoint);
  }
  if (one_endpoint) {
    PortSet counted = effects.engines().counted(key).ports;
    if (word.count != 1 || counted.contains(in)) [[unlikely]] {
      return upward(effects, FourWords(), in, frame, key, entry, one_endpoint);
    }
    effects.on_one_endpoint();
    counted.insert(in);
    effects.count_port(key, counted);
  }
  const ContributionCount total = effects.start(key, entry, carried, frame, packed);
  if (total >= entry.wait_count) {
    return complete(effects, frame, key, entry, total);
  }
  return absorbed();
}

/// A frame from the parent, on a tree with reductions.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision
armed_or_disarmed(Effects effects, const FrameView& frame, ReductionKey key,
                  const MulticastEntry& entry, TimeNs now) {
  if (entry.in_switch) [[unlikely]] {
    return downward_in_switch(effects, frame, key, entry, now);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const MatchWord carried = match_word_of(p, packed);
  return replicate(effects, frame, entry.children,
                   wire::unpack(packed).arm ? effects.arm(key, entry, carried, now)
                                            : effects.disarm(key, entry, carried));
}
template <typename Effects>
[[gnu::noinline]] PackedDecision downward(Effects effects, const FrameView& frame, ReductionKey key,
                                          const MulticastEntry& entry, TimeNs now) {
  return armed_or_disarmed(effects, frame, key, entry, now);
}

/// Out of one of this switch's candidate ports.
template <typename Effects>
[[gnu::noinline]] PackedDecision refuse_unicast(Effects effects, PortNumber in, PortNumber out) {
  if (out == no_port) {
    return drop(effects, in, DropReason::no_route);
  }
  if (out == in) {
    return drop(effects, in, DropReason::route_to_ingress);
  }
  effects.on_port_down(out, Event::unicast);
  return drop(effects, out, DropReason::port_down);
}

template <typename Effects>
[[gnu::always_inline]] inline PackedDecision unicast(Effects effects, const Tables& tables,
                                                     PortNumber in, const FrameView& frame,
                                                     Nid destination) {
  const Place place = tables.place(destination);
  effects.on_place(place);
  if (place.is_switch()) {
    return routed(effects, in, frame, place.destination());
  }
  const PortNumber out = place.port();
  // `no_port` is never up.
  if (out == in || !effects.up().contains(out)) [[unlikely]] {
    return refuse_unicast(effects, in, out);
  }
  return forwarded(out, Event::unicast, frame.traffic_class);
}

/// A multicast frame that travels neither up nor down.
template <typename Effects>
PackedDecision refuse_multicast(Effects effects, PortNumber in, const FrameView& frame,
                                ReductionKey key) {
  const MulticastEntry& entry = effects.tables().tree(key.tree());
  if (!entry.valid) {
    return drop(effects, in, DropReason::unknown_tree);
  }
  effects.on_tree(key, entry);
  const bool from_child = entry.children.contains(in);
  if (entry.parent != in && !from_child) {
    return drop(effects, in, DropReason::not_on_tree);
  }
  effects.on_direction(from_child ? Direction::up : Direction::down);
  const SlotPlace& place = effects.tables().slot_place(key.tree());
  return drop(effects, in, refusal_on(entry, frame, place).value_or(DropReason::not_from_parent));
}

/// A frame with another EtherType than the fabric's, between two joined ports.
template <typename Effects>
PackedDecision foreign(Effects effects, PortNumber in, const FrameView& frame, PortNumber to) {
  if (effects.up().contains(to)) {
    effects.count_foreign(in);
  }
  return forward(effects, frame, to, Event::foreign);
}

template <typename Effects> // shared.hpp
PackedDecision shared(Effects effects, PortNumber in, const FrameView& frame, ReductionKey key);

/// What involves no engine, besides the multicasts of roots and unicast.
template <typename Effects>
[[gnu::noinline]] PackedDecision decide_apart(Effects effects, PortNumber in,
                                              const FrameView& frame, Classified what) {
  switch (what.kind()) {
  case FrameKind::refused: return drop(effects, in, what.reason());
  case FrameKind::hello: return delivered(Event::hello);
  case FrameKind::lldp: return delivered(Event::lldp);
  case FrameKind::foreign: return foreign(effects, in, frame, what.foreign_to());
  case FrameKind::shared: return shared(effects, in, frame, what.key());
  case FrameKind::unicast:
  case FrameKind::multicast:
  case FrameKind::wide:
  case FrameKind::reduction: break;
  }
  return refuse_multicast(effects, in, frame, what.key());
}

/// A frame that is not a reduction's: multicast copies, and unicast.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision decide_plain(Effects effects, const Tables& tables,
                                                          PortNumber in, const FrameView& frame,
                                                          Classified what) {
  if (what.kind() == FrameKind::unicast) {
    return unicast(effects, tables, in, frame, what.destination());
  }
  if (what.kind() == FrameKind::multicast) [[likely]] {
    const MulticastEntry& entry = tables.tree_of_low_id(what.key());
    if (entry.parent == in && entry.wait_count == 0 && has_its_length(frame)) [[likely]] {
      effects.on_tree(what.key(), entry);
      effects.on_direction(Direction::down);
      return replicate(effects, frame, entry.children, Event::multicast);
    }
  }
  return decide_apart(effects, in, frame, what);
}

template <typename Effects, typename Counts>
[[gnu::noinline]] PackedDecision decide_wide(Effects effects, PortNumber in, const FrameView& frame,
                                             Classified what, bool guarded, PortSet from,
                                             Counts& counts, TimeNs now);

/// `guarded`: whether the port has a source guard. `from`: a set of that port alone. `counts`: what
/// `combine` adds to for the whole burst. These and the tables are the same for a burst.
template <typename Effects, typename Counts>
[[gnu::always_inline]] inline PackedDecision
decide(Effects effects, const Tables& tables, PortNumber in, const FrameView& frame,
       Classified what, bool guarded, PortSet from, Counts& counts, TimeNs now) {
  if (what.kind() == FrameKind::reduction) [[likely]] {
    const ReductionKey key = what.key();
    const MulticastEntry& entry = tables.tree_of_low_id(key);
    if ((entry.children.bits() & from.bits()) != 0) {
      effects.on_reduction(key, entry, Direction::up);
      const bool one_endpoint = guarded | entry.one_behind_each;
      PackedDecision decision;
      return combined(effects, frame, key, entry, one_endpoint, from, counts, decision)
                 ? decision
                 : begun(effects, in, frame, key, entry, one_endpoint);
    }
    if (entry.parent == in) {
      effects.on_reduction(key, entry, Direction::down);
      return entry.wait_count == 0 ? replicate(effects, frame, entry.children, Event::multicast)
                                   : downward(effects, frame, key, entry, now);
    }
    return decide_apart(effects, in, frame, what);
  }
  if (what.kind() == FrameKind::wide) [[unlikely]] {
    return decide_wide(effects, in, frame, what, guarded, from, counts, now);
  }
  return decide_plain(effects, tables, in, frame, what);
}

} // namespace tributary::core

#include "dataplane/core/shared.hpp"
#include "dataplane/core/wide_decide.hpp" // the rest of `decide`
