// What a frame is checked for, and what becomes of it: written once, for the core and for
// `explain`.
//
//     decide(effects, tables, in, frame, what, guarded, now)   a PackedDecision
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
//   queries          up(), stuck(class), any_stuck(), carrying(), settings(), engines(), tables(),
//                    owners(): the current state, and which frames are this worker's
//   actions          count_drop(port, reason), count_left_out(ports), count_foreign(port)
//                    count(tree, a counter of TreeCounters)
//                    arm(key, entry, carried, now), disarm(key, entry, carried): the Event
//                    count_port(key, ports), count_passing(key, carried, in)
//                    spray(): another number for each frame
//                    start(operand, entry): the first contribution
//                    combine(operand, entry): one more
//                    mismatch(operand, entry): one of another opcode, form or length than the data
//                    held; each returns how many contributions there are then
//                    complete<wide>(key, entry, too_many, frame)
//                    more for vectors: wide_decide.hpp; for trees with in-switch results:
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
inline reduce::Contribution contribution_of(const std::byte* portals, std::uint64_t packed) {
  const wire::ReductionWord word = wire::unpack(packed);
  return {.payload = wire::load_payload(portals),
          .op = word.opcode(),
          .rc = static_cast<wire::ResultCode>(word.rc),
          .m = word.m,
          .overflow_id = word.overflow_id,
          .source = wire::sfa_of(portals)};
}

/// The signature; the byte above it is undefined.
inline std::uint64_t signature_and_more(const std::byte* portals) {
  return wire::load_be<std::uint64_t>(portals + wire::portals_offset::remote_offset - 1);
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

/// The frame with the last contribution carries the result. Inlined with all that it calls: with
/// short reductions it is one frame of three. `wide`: its payload is the result's already, with
/// which it is `wide_bytes` long.
template <bool wide = false, typename Effects>
[[gnu::noinline, gnu::flatten]] PackedDecision
complete(Effects effects, const FrameView& frame, ReductionKey key, const MulticastEntry& entry,
         ContributionCount total, std::size_t wide_bytes = 0) {
  const std::size_t bytes = wide ? wide_bytes : wire::reduction_frame_bytes;
  if (entry.in_switch) [[unlikely]] {
    return lacks_root(effects, key, entry)
               ? drop_full(effects, key, entry, total, true)
               : complete_in_switch(effects, frame, key, entry, total, bytes);
  }
  effects.template complete<wide>(key, entry, total > entry.wait_count, frame.data);
  if (!effects.up().contains(entry.parent)) [[unlikely]] {
    return drop(effects, entry.parent, DropReason::port_down);
  }
  return emitted(entry.parent, Event::completed_full, static_cast<std::uint16_t>(bytes),
                 frame.traffic_class);
}

/// After a contribution, the `total`-th.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision
absorbed_or_completed(Effects effects, const FrameView& frame, ReductionKey key,
                      const MulticastEntry& entry, ContributionCount total) {
  return entry.is_full(total) ? complete(effects, frame, key, entry, total) : absorbed();
}

/// A contribution joins the armed reduction if it belongs to it, and is like the data held or the
/// first one: nearly all do. Returns how many there are then; 0: it does not, and nothing has
/// changed.
///
/// An operand is a frame as far as it has been read: FourWords and Vector field by field, the one
/// of process_burst.cpp with most of it known beforehand. Members that are used here:
///
///   key(), count()               its reduction, and what it counts
///   descriptor(effects)          that of its reduction
///   continues(d, entry)          the descriptor holds data of its reduction, operation and form
///   begins(d)                    the descriptor waits for it
///   combine(effects, entry), start(effects, entry)   how many contributions there are then
///
/// One endpoint counts one, once. The set of counted ports is the armed reduction's, as every arm
/// begins it.
template <typename Effects, typename Operand>
[[gnu::always_inline]] inline ContributionCount joined(Effects effects, const Operand& operand,
                                                       const MulticastEntry& entry,
                                                       bool one_endpoint, PortSet from) {
  const Descriptor& d = operand.descriptor(effects);
  const bool continues = operand.continues(d, entry);
  if (!continues && !operand.begins(d)) [[unlikely]] {
    return 0;
  }
  if (one_endpoint) {
    const PortSet counted = effects.engines().counted(operand.key()).ports;
    if (operand.count() != 1 || (counted.bits() & from.bits()) != 0) [[unlikely]] {
      return 0;
    }
    effects.on_one_endpoint();
    effects.count_port(operand.key(), PortSet(counted.bits() | from.bits()));
  }
  ContributionCount total = 0;
  if (continues) [[likely]] {
    total = operand.combine(effects, entry);
  } else {
    total = operand.start(effects, entry);
  }
  if (total == 0) {
    __builtin_unreachable(); // it counts
  }
  return total;
}

/// The fields of a frame for a reduction.
class Fields {
public:
  Fields(const FrameView& frame, ReductionKey key)
      : frame_(frame), key_(key), packed_(packed_word_of(portals())), word_(wire::unpack(packed_)),
        carried_(match_word_of(portals(), packed_)) {}

  [[nodiscard]] const FrameView& frame() const { return frame_; }
  [[nodiscard]] const std::byte* portals() const {
    return frame_.data + wire::ethernet_header_bytes;
  }
  [[nodiscard]] ReductionKey key() const { return key_; }
  [[nodiscard]] std::uint64_t packed() const { return packed_; }
  [[nodiscard]] const wire::ReductionWord& word() const { return word_; }
  [[nodiscard]] ContributionCount count() const { return word_.count; }
  [[nodiscard]] wire::ResultCode code() const { return static_cast<wire::ResultCode>(word_.rc); }
  [[nodiscard]] MatchWord carried() const { return carried_; }
  template <typename Effects> [[nodiscard]] const Descriptor& descriptor(Effects effects) const {
    return effects.engines().descriptor(key_);
  }

private:
  const FrameView& frame_;
  ReductionKey key_;
  std::uint64_t packed_;
  wire::ReductionWord word_;
  MatchWord carried_;
};

/// The operand of a frame of 84 bytes; wide_decide.hpp has that of a wide one.
struct FourWords : Fields {
  using Fields::Fields;
  /// Whether the operation exists. Other frames are not contributions, and pass through.
  [[nodiscard]] bool is_known() const { return wire::is_supported(word().op); }
  /// Whether this switch can reduce it. Otherwise it passes through.
  [[nodiscard]] static bool fits(const Tables& /*tables*/) { return true; }
  /// An arm never compares equal.
  [[nodiscard]] bool continues(const Descriptor& d, const MulticastEntry& /*entry*/) const {
    return d.match == carried() && d.accumulator.op == word().opcode() && word().count != 0;
  }
  [[nodiscard]] bool begins(const Descriptor& d) const {
    return d.match == carried().waiting() && word().contributes();
  }
  template <typename Effects>
  ContributionCount combine(Effects effects, const MulticastEntry& entry) const {
    return effects.combine(*this, entry);
  }
  template <typename Effects>
  ContributionCount start(Effects effects, const MulticastEntry& entry) const {
    return effects.start(*this, entry);
  }
  /// It belongs to the armed reduction and is not like the data held, or it would have joined it.
  template <typename Effects>
  PackedDecision take(Effects effects, const MulticastEntry& entry) const {
    return absorbed_or_completed(effects, frame(), key(), entry, effects.mismatch(*this, entry));
  }
};

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

/// A contribution to the armed reduction that nothing is against.
template <typename Effects, typename Operand>
PackedDecision take_counted(Effects effects, const Operand& operand, PortNumber in,
                            const MulticastEntry& entry, bool one_endpoint) {
  if (one_endpoint) {
    PortSet counted = effects.engines().counted(operand.key()).ports;
    counted.insert(in);
    effects.count_port(operand.key(), counted);
  }
  return operand.take(effects, entry);
}

template <typename Effects> // in_switch_decide.hpp
PackedDecision downward_in_switch(Effects effects, const Fields& fields,
                                  const MulticastEntry& entry, TimeNs now);
template <typename Operand, typename Effects>
PackedDecision upward_of_root(Effects effects, const Operand& operand, const MulticastEntry& entry);

/// A frame that has not joined the armed reduction, and what becomes of it.
template <typename Operand, typename Effects>
[[gnu::noinline]] PackedDecision upward(Effects effects, PortNumber in, const FrameView& frame,
                                        ReductionKey key, const MulticastEntry& entry,
                                        bool one_endpoint) {
  const Operand operand(frame, key);
  if (in == entry.parent) {
    return upward_of_root(effects, operand, entry);
  }
  if (entry.wait_count == 0) {
    return drop(effects, in, DropReason::not_from_parent);
  }
  const wire::ReductionWord& word = operand.word();
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
  const MatchWord carried = operand.carried();
  // A reserved opcode is not a contribution, so it is not counted. A contribution that only this
  // switch cannot reduce is counted: it counts at the root.
  const bool counts_once = one_endpoint && operand.is_known();
  if (counts_once && effects.engines().has_counted(key, carried, in)) {
    return drop(effects, in, DropReason::counted_twice);
  }
  const auto passing = [&](PackedDecision decision) {
    if (counts_once && decision.action() == Action::forward) {
      effects.count_passing(key, carried, in);
    }
    return decision;
  };
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
    return passing(pass(effects, in, frame, key, entry, match_result));
  }
  if (!operand.is_known() || !operand.fits(effects.tables())) {
    effects.count(key.tree(), &TreeCounters::passed_through);
    return passing(forward(effects, frame, entry.parent, Event::passed_reserved));
  }
  return take_counted(effects, operand, in, entry, one_endpoint);
}

/// A frame from a child port, or from the root to a switch that makes its results. `one_endpoint`:
/// whether exactly one endpoint is behind the port.
template <typename Operand, typename Effects>
[[gnu::noinline]] PackedDecision contribution(Effects effects, PortNumber in,
                                              const FrameView& frame, ReductionKey key,
                                              const MulticastEntry& entry, bool one_endpoint) {
  PortSet from;
  from.insert(in);
  const ContributionCount total = joined(effects, Operand(frame, key), entry, one_endpoint, from);
  return total != 0 ? absorbed_or_completed(effects, frame, key, entry, total)
                    : upward<Operand>(effects, in, frame, key, entry, one_endpoint);
}

/// A frame from the parent, on a tree with reductions. `carried`, `arms`: from the frame.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision
armed_or_disarmed(Effects effects, const FrameView& frame, ReductionKey key,
                  const MulticastEntry& entry, MatchWord carried, bool arms, TimeNs now) {
  return replicate(effects, frame, entry.children,
                   arms ? effects.arm(key, entry, carried, now)
                        : effects.disarm(key, entry, carried));
}
template <typename Effects>
[[gnu::noinline]] PackedDecision downward(Effects effects, const FrameView& frame, ReductionKey key,
                                          const MulticastEntry& entry, TimeNs now) {
  const Fields fields(frame, key);
  return entry.in_switch ? downward_in_switch(effects, fields, entry, now)
                         : armed_or_disarmed(effects, frame, key, entry, fields.carried(),
                                             fields.word().arm, now);
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

/// Whether a frame leaves by the port of its place. `free`: the ports that are up, without that it
/// came in by.
[[gnu::always_inline]] inline bool leaves_by_port(Place place, PortSet free) {
  return !place.is_switch() && free.contains(place.port());
}

template <typename Effects>
[[gnu::always_inline]] inline PackedDecision unicast(Effects effects, const Tables& tables,
                                                     PortNumber in, const FrameView& frame,
                                                     Nid destination) {
  const Place place = tables.place(destination);
  effects.on_place(place);
  PortSet free = effects.up();
  free.erase(in);
  if (leaves_by_port(place, free)) {
    return forwarded(place.port(), Event::unicast, frame.traffic_class);
  }
  return place.is_switch() ? routed(effects, in, frame, place.destination())
                           : refuse_unicast(effects, in, place.port());
}

/// A frame from the parent, on a tree without reductions. Requires that it has its length.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision copied(Effects effects, const FrameView& frame,
                                                    ReductionKey key, const MulticastEntry& entry) {
  effects.on_tree(key, entry);
  effects.on_direction(Direction::down);
  return replicate(effects, frame, entry.children, Event::multicast);
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

/// Its tree's engines are at another worker.
template <typename Effects> PackedDecision handed_over(Effects effects, TreeNumber tree) {
  return handed_over(effects.owners().of(tree));
}

/// Rare cases that involve no engine.
template <typename Effects>
[[gnu::noinline]] PackedDecision decide_apart(Effects effects, PortNumber in,
                                              const FrameView& frame, Classified what) {
  switch (what.kind()) {
  case FrameKind::refused: return drop(effects, in, what.reason());
  case FrameKind::hello:
    return effects.owners().has(in) ? delivered(Event::hello)
                                    : handed_over(effects.owners().ports[in.value]);
  case FrameKind::lldp: return delivered(Event::lldp);
  case FrameKind::foreign: return foreign(effects, in, frame, what.foreign_to());
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
    if (!effects.owners().has(what.key().tree())) [[unlikely]] {
      return handed_over(effects, what.key().tree());
    }
    const MulticastEntry& entry = tables.tree_of_low_id(what.key());
    if (entry.parent == in && entry.wait_count == 0 && has_its_length(frame)) [[likely]] {
      return copied(effects, frame, what.key(), entry);
    }
  }
  return decide_apart(effects, in, frame, what);
}

template <typename Effects>
[[gnu::noinline]] PackedDecision decide_wide(Effects effects, PortNumber in, const FrameView& frame,
                                             ReductionKey key, bool guarded, TimeNs now);

/// `guarded`: whether the port has a source guard. It and the tables are the same for a burst.
template <typename Effects>
[[gnu::always_inline]] inline PackedDecision decide(Effects effects, const Tables& tables,
                                                    PortNumber in, const FrameView& frame,
                                                    Classified what, bool guarded, TimeNs now) {
  if (what.kind() == FrameKind::reduction) [[likely]] {
    const ReductionKey key = what.key();
    if (!effects.owners().has(key.tree())) [[unlikely]] {
      return handed_over(effects, key.tree());
    }
    const MulticastEntry& entry = tables.tree_of_low_id(key);
    if (entry.children.contains(in)) {
      effects.on_reduction(key, entry, Direction::up);
      return contribution<FourWords>(effects, in, frame, key, entry,
                                     entry.has_one_endpoint(guarded));
    }
    if (entry.parent == in) {
      if (entry.wait_count == 0) {
        return copied(effects, frame, key, entry);
      }
      effects.on_reduction(key, entry, Direction::down);
      return downward(effects, frame, key, entry, now);
    }
    return decide_apart(effects, in, frame, what);
  }
  if (what.kind() == FrameKind::wide) [[unlikely]] {
    if (!effects.owners().has(what.key().tree())) {
      return handed_over(effects, what.key().tree());
    }
    return decide_wide(effects, in, frame, what.key(), guarded, now);
  }
  return decide_plain(effects, tables, in, frame, what);
}

} // namespace tributary::core

#include "dataplane/core/wide_decide.hpp" // the rest of `decide`
