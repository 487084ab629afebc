// Counters of one worker. Written by the worker, read by any thread.
#pragma once

#include "dataplane/core/counter.hpp"
#include "lib/statistics/counter_info.hpp"

#include <cstdint>

namespace tributary::worker {

template <typename Value> struct WorkerFigures {
  Value iterations{};
  Value busy_iterations{};
  Value busy_cycles{};
  Value frames{};
  Value sleeps{};
  Value slept_ns{};
  Value handed_over{};
  Value subtotals{};
  Value added_up{};

  // In the order of the columns of `tributaryctl show workers`.
  static constexpr statistics::CounterRow<WorkerFigures, Value WorkerFigures::*> rows[] = {
      {&WorkerFigures::busy_cycles,
       {"busy_cycles", "Ticks in which the worker had something to do.", "worker_busy_cycles"}},
      {&WorkerFigures::frames,
       {"frames",
        "Frames received by the worker, or handed over to it.",
        "worker_frames",
        {"FRAMES"}}},
      {&WorkerFigures::iterations,
       {"iterations", "Iterations of the poll loop.", {}, {"ITERATIONS", 4}}},
      {&WorkerFigures::busy_iterations,
       {"busy_iterations", "Iterations of the poll loop with something to do."}},
      {&WorkerFigures::sleeps,
       {"sleeps", "Times that the idle worker slept.", "worker_sleeps", {"SLEEPS", 3}}},
      {&WorkerFigures::slept_ns,
       {"slept_us",
        "Time for which the worker slept.",
        {},
        {"SLEPT", 2},
        statistics::MetricType::counter,
        statistics::Unit::nanoseconds}},
      {&WorkerFigures::handed_over,
       {"handed_over",
        "Frames handed over to other workers.",
        "worker_handed_over_frames",
        {"HANDED OVER", 1}}},
      {&WorkerFigures::subtotals,
       {"subtotals", "Partial aggregates of contributions handed over to other workers.",
        "worker_subtotals"}},
      {&WorkerFigures::added_up,
       {"added_up", "Frames in the partial aggregates handed over.", "worker_added_up_frames"}},
  };
};

using WorkerStatistics = WorkerFigures<core::Counter>;
using WorkerCounts = WorkerFigures<std::uint64_t>;
static_assert(statistics::all_have_rows<WorkerCounts>);

} // namespace tributary::worker
