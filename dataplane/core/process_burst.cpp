// The way of a frame through the core: classify, look up, decide.
//
// A burst is walked twice in runs of `run_length`. The first walk classifies by the frame's own
// bytes and asks for the cache lines its destination address leads to: the tree's entry and the
// descriptor. The second one decides. So the misses of up to a run of trees overlap, and since all
// state changes in the second walk, in order, a burst is the same as its frames one by one.
//
// What happens seldom stands in functions of its own, out of the way of the contribution that finds
// its descriptor armed.

#include "dataplane/core/switch_core.hpp"

#include "tributary/reduce/reducer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tributary::core {
namespace {

constexpr std::size_t run_length = 32;
/// How far ahead of the first walk the frames' own bytes are fetched.
constexpr std::size_t frame_lookahead = 6;
constexpr std::size_t line_bytes = 64;

/// The two lines a reduction frame mostly lies in. By address, as a shorter frame may end before
/// the second one.
void prefetch(const FrameView& frame) {
  const auto address = reinterpret_cast<std::uintptr_t>(frame.data);
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  __builtin_prefetch(reinterpret_cast<const void*>(address + line_bytes));
}

std::uint64_t packed_word_of(const std::byte* portals) {
  return wire::load_be<std::uint64_t>(portals + wire::reduction_offset::word);
}
MatchWord match_word_of(const std::byte* portals, std::uint64_t packed) {
  return {wire::cookie_of(portals), wire::vni_of(portals), packed};
}

reduce::Contribution contribution_of(const std::byte* portals, std::uint64_t packed) {
  const wire::ReductionWord word = wire::unpack(packed);
  return {.payload = wire::load_payload(portals),
          .op = word.opcode(),
          .rc = static_cast<wire::ResultCode>(word.rc),
          .m = word.m,
          .overflow_id = word.overflow_id,
          .source = wire::sfa_of(portals)};
}

/// A contribution that is not the first, of a known opcode: one function with just that part of the
/// kernel in it, so that the operand goes from the frame to the lanes without a stop in memory.
template <wire::Opcode op>
[[gnu::flatten]] void combine_as(reduce::Accumulator& accumulator, const std::byte* portals,
                                 std::uint64_t packed, reduce::NanMode mode) {
  reduce::Contribution contribution = contribution_of(portals, packed);
  contribution.op = op;
  reduce::combine(accumulator, contribution, mode);
}

using Combine = void (*)(reduce::Accumulator&, const std::byte*, std::uint64_t, reduce::NanMode);

/// By opcode; null for reserved ones.
constexpr auto combine_by_opcode = []<std::size_t... i>(std::index_sequence<i...>) {
  std::array<Combine, wire::opcode_count> table{};
  ((table[static_cast<std::size_t>(wire::all_opcodes[i])] = combine_as<wire::all_opcodes[i]>), ...);
  return table;
}
(std::make_index_sequence<std::size(wire::all_opcodes)>());

} // namespace

/// What a burst adds to counters that nearly every frame of it touches: summed here while the
/// engine stays the same, added when it changes and at the end.
class SwitchCore::BurstCounts {
public:
  explicit BurstCounts(Counters& counters) : counters_(counters) {}
  BurstCounts(const BurstCounts&) = delete;
  BurstCounts& operator=(const BurstCounts&) = delete;
  ~BurstCounts() { flush(); }

  void contribution(PortNumber engine) {
    if (engine != engine_) {
      flush();
      engine_ = engine;
    }
    ++contributions_;
  }

private:
  void flush() {
    if (contributions_ != 0) {
      counters_.engines[engine_.value].contributions.add(contributions_);
      contributions_ = 0;
    }
  }

  Counters& counters_;
  PortNumber engine_ = no_port;
  std::uint64_t contributions_ = 0;
};

[[gnu::always_inline]] inline PackedDecision SwitchCore::forward(const FrameView& frame,
                                                                 PortNumber port, Event event) {
  if (!up_.contains(port)) [[unlikely]] {
    return drop(port, DropReason::port_down);
  }
  return forwarded(port, event, frame.traffic_class);
}

/// Out of those ports that are up; none may be left.
[[gnu::always_inline]] inline PackedDecision SwitchCore::replicate(const FrameView& frame,
                                                                   PortSet ports, Event event) {
  if ((ports.bits() & ~up_.bits()) != 0) [[unlikely]] {
    ports = without_those_down(ports);
  }
  return replicated(ports, event, frame.traffic_class);
}

/// The first walk. A function of its own, as the second is: together they have more to keep than
/// there are registers, and each frame then pays for what the other walk keeps.
[[gnu::noinline]] void SwitchCore::classify_run(const IngressCheck& check, const Tables& tables,
                                                std::span<const FrameView> run, Classified* what) {
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (i + frame_lookahead < run.size()) {
      prefetch(run[i + frame_lookahead]);
    }
    const Classified classified = check.classify(run[i]);
    __builtin_prefetch(&tables.tree(classified.key().tree()));
    if (classified.kind() == FrameKind::reduction) [[likely]] {
      // Of others never: what no frame has touched is not even mapped, and asking for it in vain
      // costs a walk of the page table each time.
      __builtin_prefetch(&engines_.descriptor(classified.key()), 1);
      __builtin_prefetch(&engines_.counted(classified.key()), 1);
    }
    what[i] = classified;
  }
}

/// The second walk.
[[gnu::noinline]] void SwitchCore::decide_run(PortNumber in, std::span<const FrameView> run,
                                              const Classified* what, TimeNs now,
                                              Decision* decisions) {
  const Tables& tables = *tables_;
  const bool guarded = tables.port(in).nid.has_value();
  PortSet from;
  from.insert(in);
  BurstCounts counts(*counters_);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const PackedDecision decision = decide(tables, in, run[i], what[i], guarded, from, counts, now);
    std::memcpy(static_cast<void*>(&decisions[i]), &decision, sizeof decision);
  }
}

void SwitchCore::process_burst(PortNumber in, std::span<const FrameView> frames, TimeNs now,
                               std::span<Decision> decisions) {
  const IngressCheck check(tables_->port(in));
  std::array<Classified, run_length> what;
  for (std::size_t begin = 0; begin < frames.size(); begin += run_length) {
    const auto run = frames.subspan(begin, std::min(run_length, frames.size() - begin));
    classify_run(check, *tables_, run, what.data());
    decide_run(in, run, what.data(), now, decisions.data() + begin);
  }
}

[[gnu::always_inline]] inline PackedDecision
SwitchCore::decide(const Tables& tables, PortNumber in, const FrameView& frame, Classified what,
                   bool guarded, PortSet from, BurstCounts& counts, TimeNs now) {
  const MulticastEntry& entry = tables.tree(what.key().tree());
  if (what.kind() == FrameKind::reduction) [[likely]] {
    const ReductionKey key = what.key();
    if ((entry.children.bits() & from.bits()) != 0) {
      const bool one_endpoint = guarded | entry.one_behind_each;
      PackedDecision decision;
      return combined(frame, key, entry, one_endpoint, from, counts, decision)
                 ? decision
                 : upward(in, frame, key, entry, one_endpoint);
    }
    if (entry.parent == in) {
      return downward(frame, key, entry, now);
    }
  } else if (what.kind() == FrameKind::multicast && entry.parent == in && entry.wait_count == 0 &&
             has_its_length(frame)) [[likely]] {
    return replicate(frame, entry.children, Event::multicast);
  }
  return decide_apart(in, frame, what);
}

/// The common case, and nothing else: a contribution to a reduction that holds some already, of the
/// same opcode. Everything that sets a frame apart from that makes its match word differ: a tree
/// without reductions is never armed, and an arm carries its bit. `one_endpoint`: that is how many
/// lie behind the port, the only one in `from`.
[[gnu::always_inline]] inline bool SwitchCore::combined(const FrameView& frame, ReductionKey key,
                                                        const MulticastEntry& entry,
                                                        bool one_endpoint, PortSet from,
                                                        BurstCounts& counts,
                                                        PackedDecision& decision) {
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  Descriptor& d = engines_.descriptor(key);
  if (d.match != match_word_of(p, packed) || d.accumulator.op != word.opcode() || word.count == 0)
      [[unlikely]] {
    return false;
  }
  if (one_endpoint) {
    PortSet& counted = engines_.counted(key).ports;
    if (word.count != 1 || (counted.bits() & from.bits()) != 0) [[unlikely]] {
      return false;
    }
    counted = PortSet(counted.bits() | from.bits());
  }
  d.signature += wire::signature_of(p);
  d.accumulator.contributions += word.count;
  counts.contribution(entry.parent);
  decision = absorbed();
  combine_by_opcode[word.op](d.accumulator, p, packed, settings_.nan_mode);
  if (d.accumulator.contributions >= entry.wait_count) [[unlikely]] {
    decision = complete(frame, key, entry);
  }
  return true;
}

/// Frames that concern no engine.
PackedDecision SwitchCore::decide_apart(PortNumber in, const FrameView& frame, Classified what) {
  switch (what.kind()) {
  case FrameKind::refused: return drop(in, what.reason());
  case FrameKind::unicast: return unicast(in, frame, what.destination());
  case FrameKind::hello: return delivered();
  case FrameKind::multicast:
  case FrameKind::reduction: break;
  }
  return refuse_multicast(in, frame, tables_->tree(what.key().tree()));
}

/// A multicast frame that travels neither up nor down.
PackedDecision SwitchCore::refuse_multicast(PortNumber in, const FrameView& frame,
                                            const MulticastEntry& entry) {
  if (!entry.valid) {
    return drop(in, DropReason::unknown_tree);
  }
  if (entry.parent != in && !entry.children.contains(in)) {
    return drop(in, DropReason::not_on_tree);
  }
  return drop(in, refusal_on(entry, frame).value_or(DropReason::not_from_parent));
}

PackedDecision SwitchCore::downward(const FrameView& frame, ReductionKey key,
                                    const MulticastEntry& entry, TimeNs now) {
  if (entry.wait_count == 0) {
    return replicate(frame, entry.children, Event::multicast);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const MatchWord carried = match_word_of(p, packed);
  return replicate(frame, entry.children,
                   wire::unpack(packed).arm ? engines_.arm(key, entry, carried, now)
                                            : engines_.disarm(key, entry, carried));
}

/// All from a child port that `combined` leaves. `one_endpoint`: that is how many lie behind it.
PackedDecision SwitchCore::upward(PortNumber in, const FrameView& frame, ReductionKey key,
                                  const MulticastEntry& entry, bool one_endpoint) {
  if (entry.wait_count == 0) {
    return drop(in, DropReason::not_from_parent);
  }
  const std::byte* p = frame.data + wire::ethernet_header_bytes;
  const std::uint64_t packed = packed_word_of(p);
  const wire::ReductionWord word = wire::unpack(packed);
  if (word.arm) {
    return drop(in, DropReason::arm_from_child);
  }
  if (word.count == 0) {
    return forward(frame, entry.parent, Event::passed_empty);
  }
  if (one_endpoint && word.count > 1) {
    return drop(in, DropReason::counts_others);
  }
  const MatchWord carried = match_word_of(p, packed);
  // A reserved opcode is nobody's contribution, so it is not counted either.
  const bool counts_once = one_endpoint && wire::is_supported(word.op);
  if (counts_once && engines_.has_counted(key, carried, in)) {
    return drop(in, DropReason::counted_twice);
  }
  Descriptor& d = engines_.descriptor(key);
  if (d.match != carried.waiting()) {
    const Standing standing = engines_.standing(key, carried);
    if (standing != Standing::match) {
      const PackedDecision decision = pass(in, frame, key, entry, standing);
      if (counts_once && decision.action() == Action::forward) {
        engines_.count_passing(key, carried, in);
      }
      return decision;
    }
  }
  if (!wire::is_supported(word.op)) {
    counters_->trees[key.tree().value].passed_through.add();
    return forward(frame, entry.parent, Event::passed_reserved);
  }
  if (one_endpoint) {
    engines_.counted(key).ports.insert(in);
  }

  EngineCounters& counted = counters_->engines[entry.parent.value];
  counted.contributions.add();
  if (d.match.has_data()) { // of another opcode, or it would not be here
    counted.op_mismatches.add();
    reduce::combine(d.accumulator, contribution_of(p, packed), settings_.nan_mode);
    d.signature += wire::signature_of(p);
    d.accumulator.contributions += word.count;
  } else {
    reduce::start(d.accumulator, contribution_of(p, packed));
    std::memcpy(engines_.record(key).header.data(), frame.data, saved_frame_bytes);
    d.match = carried.holding();
    d.signature = wire::signature_of(p);
    d.accumulator.contributions = word.count;
  }
  if (d.accumulator.contributions >= entry.wait_count) {
    return complete(frame, key, entry);
  }
  return absorbed();
}

/// Contributions that do not belong to what is armed.
PackedDecision SwitchCore::pass(PortNumber in, const FrameView& frame, ReductionKey key,
                                const MulticastEntry& entry, Standing standing) {
  TreeCounters& counted = counters_->trees[key.tree().value];
  Event event = Event::passed_not_armed;
  switch (standing) {
  case Standing::older: counted.stale.add(); return drop(in, DropReason::stale_sequence);
  case Standing::late: counted.late.add(); return forward(frame, entry.parent, Event::passed_late);
  case Standing::foreign:
    if (settings_.drop_foreign) {
      return drop(in, DropReason::foreign_cookie);
    }
    event = Event::passed_foreign;
    break;
  case Standing::newer: event = Event::passed_newer; break;
  case Standing::match:
  case Standing::not_armed: break;
  }
  counted.passed_through.add();
  return forward(frame, entry.parent, event);
}

/// The frame that brought the last contribution carries the result.
PackedDecision SwitchCore::complete(const FrameView& frame, ReductionKey key,
                                    const MulticastEntry& entry) {
  engines_.write_result(key, entry.wait_count, frame.data);
  EngineCounters& counted = counters_->engines[entry.parent.value];
  counted.full.add();
  if (engines_.descriptor(key).accumulator.contributions > entry.wait_count) {
    counted.overflows.add();
  }
  counters_->trees[key.tree().value].full.add();
  engines_.end(key, entry.parent);
  if (!up_.contains(entry.parent)) [[unlikely]] {
    return drop(entry.parent, DropReason::port_down);
  }
  return emitted(entry.parent, Event::completed_full, wire::reduction_frame_bytes,
                 frame.traffic_class);
}

PackedDecision SwitchCore::unicast(PortNumber in, const FrameView& frame, Nid destination) {
  const PortNumber out = tables_->route(destination);
  if (out == no_port) {
    return drop(in, DropReason::no_route);
  }
  if (out == in) {
    return drop(in, DropReason::route_to_ingress);
  }
  return forward(frame, out, Event::unicast);
}

[[gnu::cold]] PortSet SwitchCore::without_those_down(PortSet ports) {
  PortSet(ports.bits() & ~up_.bits()).for_each([&](PortNumber port) {
    counters_->drop(port, DropReason::port_down);
  });
  return PortSet(ports.bits() & up_.bits());
}

/// `at`: the port it came in on; with `port_down`, the one it would have left by.
PackedDecision SwitchCore::drop(PortNumber at, DropReason reason) {
  counters_->drop(at, reason);
  return dropped(reason);
}

} // namespace tributary::core
