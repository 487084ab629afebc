// Counters of one switch core. One instance per core, on cache lines of its own; written by its
// worker, read by any thread.
//
// A switch with several workers has several cores; its figures are the sums over them. Every object
// has its counters as a template of the value: `Counter` where they are counted, a plain number in
// sums and reports. Its `rows` say what they are called (docs/develop/add-a-counter.md).
#pragma once

#include "dataplane/core/counter.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "lib/statistics/counter_info.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace tributary::core {

/// Received and refused frames by ingress port (drops at output are counted for the output port).
template <typename Value> struct PortFigures {
  Value rx_frames{};
  Value rx_bytes{};
  Value tx_frames{};
  Value tx_bytes{};
  std::array<Value, drop_reason_count> drops{};
  Value foreign_frames{};

  static constexpr statistics::CounterRow<PortFigures, Value PortFigures::*> rows[] = {
      {&PortFigures::rx_frames,
       {"rx_frames", "Frames received.", "port_received_frames", {"RX FRAMES"}}},
      {&PortFigures::rx_bytes,
       {"rx_bytes", "Bytes received, without FCS.", "port_received_bytes", {"RX BYTES", 3}}},
      {&PortFigures::tx_frames, {"tx_frames", "Frames sent.", "port_sent_frames", {"TX FRAMES"}}},
      {&PortFigures::tx_bytes,
       {"tx_bytes", "Bytes sent, without FCS.", "port_sent_bytes", {"TX BYTES", 4}}},
      {&PortFigures::foreign_frames,
       {"foreign_frames", "Frames of others, passed on to the port joined with it.",
        "port_foreign_frames"}},
  };
};

/// Outcomes of one tree's reductions in this switch.
template <typename Value> struct TreeFigures {
  Value full{};
  Value partial{};
  Value passed_through{};
  Value late{};
  Value stale{};

  bool operator==(const TreeFigures&) const = default;

  static constexpr statistics::CounterRow<TreeFigures, Value TreeFigures::*> rows[] = {
      {&TreeFigures::full, {"full", "Reductions completed and sent.", {}, {"FULL"}}},
      {&TreeFigures::partial,
       {"partial",
        "Reductions sent incomplete, by a timer or because the tree was removed.",
        {},
        {"PARTIAL", 1, statistics::Mark::warning}}},
      {&TreeFigures::passed_through,
       {"passed_through",
        "Contributions forwarded unreduced: not armed, foreign, newer, or reserved.",
        {},
        {"PASSED", 6}}},
      {&TreeFigures::late,
       {"late",
        "Contributions forwarded because their reduction had ended before.",
        {},
        {"LATE", 2, statistics::Mark::warning}}},
      {&TreeFigures::stale,
       {"stale",
        "Contributions dropped as older than the armed sequence.",
        {},
        {"STALE", 5, statistics::Mark::warning}}},
  };
};

/// Counters of one engine. The engine of a port serves all trees whose parent port it is.
template <typename Value> struct EngineFigures {
  Value arms{};
  Value rearms{};
  Value arm_failures{};
  Value disarms{};
  Value contributions{};
  Value full{};
  Value partial{};
  Value expired_empty{};
  Value op_mismatches{};
  Value overflows{};
  Value discarded{};
  Value emission_delayed{};
  Value in_switch{}; ///< included in `full`
  Value replayed{};  ///< included in `in_switch`

  static constexpr statistics::CounterRow<EngineFigures, Value EngineFigures::*> rows[] = {
      {&EngineFigures::arms, {"arms", "Reductions armed.", "engine_arms", {"ARMS", 5}}},
      {&EngineFigures::rearms,
       {"rearms",
        "Descriptors moved to a new sequence before their reduction ended.",
        "engine_rearms",
        {"REARMS", 6}}},
      {&EngineFigures::arm_failures,
       {"arm_failures",
        "Arms that found no free descriptor.",
        "engine_arm_failures",
        {"ARM FAILURES", 3, statistics::Mark::warning}}},
      {&EngineFigures::disarms, {"disarms", "Reductions disarmed.", {}, {"DISARMS", 7}}},
      {&EngineFigures::contributions,
       {"contributions", "Contributions combined.", "engine_contributions", {"CONTRIBUTIONS"}}},
      {&EngineFigures::full, {"full", "Reductions completed.", "engine_full", {"FULL"}}},
      {&EngineFigures::partial,
       {"partial",
        "Reductions sent incomplete.",
        "engine_partial",
        {"PARTIAL", 0, statistics::Mark::warning}}},
      {&EngineFigures::expired_empty,
       {"expired_empty",
        "Reductions that timed out without a contribution.",
        "engine_expired_empty",
        {"EMPTY", 4, statistics::Mark::warning}}},
      {&EngineFigures::op_mismatches,
       {"op_mismatches",
        "Contributions whose operator, form or length differs from the first one's.",
        "engine_op_mismatches",
        {"MISMATCHES", 2, statistics::Mark::bad}}},
      {&EngineFigures::overflows,
       {"overflows",
        "Reductions that counted more than the wait count.",
        "engine_overflows",
        {"OVERFLOWS", 1, statistics::Mark::bad}}},
      {&EngineFigures::discarded,
       {"discarded",
        "Held contributions dropped by a re-arm, a disarm, or a timer of a tree with in-switch "
        "results.",
        "engine_discarded"}},
      {&EngineFigures::emission_delayed,
       {"emission_delayed", "Emissions by a timer that waited because no buffer was free."}},
      {&EngineFigures::in_switch,
       {"in_switch",
        "In-switch results, sent to all members from here.",
        "engine_in_switch",
        {"IN SWITCH", 8}}},
      {&EngineFigures::replayed,
       {"replayed", "In-switch results sent again because the root had missed them.",
        "engine_replayed"}},
  };
};

using PortCounters = PortFigures<Counter>;
using TreeCounters = TreeFigures<Counter>;
using EngineCounters = EngineFigures<Counter>;
using PortCounts = PortFigures<std::uint64_t>;
using TreeCounts = TreeFigures<std::uint64_t>;
using EngineCounts = EngineFigures<std::uint64_t>;

static_assert(sizeof(PortCounts) ==
              (std::size(PortCounts::rows) + drop_reason_count) * sizeof(std::uint64_t));
static_assert(statistics::all_have_rows<TreeCounts>);
static_assert(statistics::all_have_rows<EngineCounts>);

struct alignas(64) Counters {
  std::array<PortCounters, max_ports> ports;
  std::array<EngineCounters, max_ports> engines; ///< by parent port
  std::vector<TreeCounters> trees = std::vector<TreeCounters>(max_trees);

  void drop(PortNumber port, DropReason reason) {
    ports[port.value].drops[static_cast<std::size_t>(reason)].add();
  }
};

/// Adds an object's counters, as one worker counts them, to its sums. Any thread.
template <template <typename> typename Figures>
void add(Figures<std::uint64_t>& sum, const Figures<Counter>& part) {
  for (std::size_t i = 0; i < std::size(Figures<Counter>::rows); ++i) {
    sum.*Figures<std::uint64_t>::rows[i].access += (part.*Figures<Counter>::rows[i].access).read();
  }
  if constexpr (requires { part.drops; }) {
    for (std::size_t reason = 0; reason < part.drops.size(); ++reason) {
      sum.drops[reason] += part.drops[reason].read();
    }
  }
}

/// The values of an object's counters. Any thread.
template <template <typename> typename Figures>
Figures<std::uint64_t> read(const Figures<Counter>& counters) {
  Figures<std::uint64_t> counts;
  add(counts, counters);
  return counts;
}

/// Sums over the workers of a switch. `of(counters)` is the object among one worker's counters.
template <typename Of> auto sum(std::span<const Counters* const> workers, Of of) {
  const auto total = []<template <typename> typename Figures>(const Figures<Counter>&) {
    return Figures<std::uint64_t>();
  };
  decltype(total(of(std::declval<const Counters&>()))) all;
  for (const Counters* counters : workers) {
    add(all, of(*counters));
  }
  return all;
}

} // namespace tributary::core
