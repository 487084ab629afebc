// What one queue of a port did and holds, as `tributaryctl show queues` tells it.
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
  Depth highest; ///< the most that waited at any time, each side for itself
  Depth limit;
  std::array<std::uint64_t, queue_drop_reasons.size()> drops{}; ///< in their order

  std::uint64_t trimmed = 0;         ///< frames that were cut here instead of being dropped
  std::uint64_t trimmed_bytes = 0;   ///< that were cut off
  std::uint32_t trimmed_waiting = 0; ///< frames, cut here or on their way, beside `waiting`
  std::uint32_t trimmed_limit = 0;   ///< of those; 0: the class does not trim

  // What the neighbour asked for.
  std::uint64_t pauses_received = 0;
  std::uint64_t pauses_ignored = 0;
  std::uint64_t paused_ns = 0;
  std::uint64_t given_up_times = 0; ///< by the watchdog
  // What the port asked its neighbour for; PauseSender counts it, and not the queues.
  std::uint64_t pauses_sent = 0;
  std::uint64_t resumes_sent = 0;
  bool paused = false;
  bool given_up = false;

  /// Whether there is anything to tell.
  [[nodiscard]] bool used() const {
    return frames != 0 || trimmed_waiting != 0 || highest.frames != 0 || pauses_received != 0 ||
           pauses_ignored != 0 || pauses_sent != 0 ||
           std::ranges::any_of(drops, [](std::uint64_t n) { return n != 0; });
  }
  /// Adds what is told of another queue of the same port and class, which no neighbour pauses.
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
