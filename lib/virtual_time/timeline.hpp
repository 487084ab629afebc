// Virtual time: a clock that stands still between events, and the events to come. Simulations run
// on it: the virtual fabric, RDMA nodes on a simulated network, allreduces of the simulator.
//
//   Timeline<Arrival> timeline;
//   timeline.schedule(timeline.now() + latency_ns, arrival);
//   while (!timeline.empty()) {
//     handle(timeline.pop());           timeline.now() is the time of this event
//   }
//
// Events come in the order of their times, and those of equal time in the order in which they were
// scheduled. Nothing else determines the order, so a run depends on its inputs alone.
//
// The packet simulator has a wheel of its own (tools/simulator/engine/wheel.hpp), because its
// delays are bounded: docs/develop/virtual-fabric.md has the figures.
#pragma once

#include "tributary/types.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tributary::virtual_time {

/// `What`: an event, movable. `Time`: ordered; begins at its default value.
template <typename What, typename Time = TimeNs> class Timeline {
public:
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Requires an event.
  [[nodiscard]] Time next_time() const { return heap_.front().at; }

  /// An event of the past is the next one, and does not turn the clock back.
  void schedule(Time at, What what) {
    heap_.push_back({at, scheduled_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  /// Removes the next event and returns it; the clock shows its time. Requires an event.
  What pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    advance(heap_.back().at);
    What what = std::move(heap_.back().what);
    heap_.pop_back();
    return what;
  }
  /// Sets the clock without an event; it never goes back.
  void advance(Time to) { now_ = std::max(now_, to); }

private:
  struct Scheduled {
    Time at{};
    std::uint64_t order = 0; ///< breaks ties
    What what{};
  };
  static bool later(const Scheduled& a, const Scheduled& b) {
    return a.at != b.at ? b.at < a.at : b.order < a.order;
  }

  std::vector<Scheduled> heap_;
  std::uint64_t scheduled_ = 0;
  Time now_{};
};

} // namespace tributary::virtual_time
