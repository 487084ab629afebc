// Figures of one queue of a port, as `tributaryctl show queues` prints them.
#pragma once

#include "dataplane/egress/drop_reason.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "tributary/traffic_class.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

namespace tributary::egress {

struct QueueSnapshot {
  TrafficClass traffic_class{};
  std::uint64_t frames = 0; ///< sent
  std::uint64_t bytes = 0;  ///< sent
  Depth waiting;
  Depth highest; ///< the highest amounts that waited at any time, each on its own
  Depth limit;
  std::array<std::uint64_t, queue_drop_reasons.size()> drops{}; ///< as queue_drop_reasons

  std::uint64_t trimmed = 0;         ///< frames that were trimmed here instead of being dropped
  std::uint64_t trimmed_bytes = 0;   ///< removed by trimming
  std::uint32_t trimmed_waiting = 0; ///< frames, trimmed here or before, beside `waiting`
  std::uint32_t trimmed_limit = 0;   ///< of `trimmed_waiting`; 0: the class does not trim

  // Pauses received from the neighbour.
  std::uint64_t pauses_received = 0;
  std::uint64_t pauses_ignored = 0;
  std::uint64_t paused_ns = 0;
  std::uint64_t given_up_times = 0; ///< by the watchdog
  // Pauses sent to the neighbour; PauseSender counts them, not the queues.
  std::uint64_t pauses_sent = 0;
  std::uint64_t resumes_sent = 0;
  bool paused = false;
  bool given_up = false;

  /// Whether any figure is worth reporting.
  [[nodiscard]] bool used() const {
    return frames != 0 || trimmed_waiting != 0 || highest.frames != 0 || pauses_received != 0 ||
           pauses_ignored != 0 || pauses_sent != 0 ||
           std::ranges::any_of(drops, [](std::uint64_t n) { return n != 0; });
  }
  /// Adds another queue of the same port and class, which no neighbour pauses.
  void add(const QueueSnapshot& other) {
    frames += other.frames;
    bytes += other.bytes;
    waiting = waiting + other.waiting;
    highest = highest + other.highest;
    limit = limit + other.limit;
    std::ranges::transform(drops, other.drops, drops.begin(), std::plus{});
    trimmed += other.trimmed;
    trimmed_bytes += other.trimmed_bytes;
    trimmed_waiting += other.trimmed_waiting;
    trimmed_limit += other.trimmed_limit;
  }
  [[nodiscard]] std::uint64_t dropped(DropReason reason) const {
    return drops[queue_drop_index(reason)];
  }
};

} // namespace tributary::egress
